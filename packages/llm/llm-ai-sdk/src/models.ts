/**
 * Models: the capacities and prices of well-known models, as their providers give them (autumn 2026).
 *
 * Pure. A model that is not listed is unknown, never guessed; a configuration may add it. Prices are those of prompts below the
 * length from which some providers charge more.
 */
import type { ModelInfo, TokenPrices } from '@deepseek-ai/dsh-llm'

export type Models = { readonly [model: string]: ModelInfo }

/** What a figure of these tables says of itself. */
export const TABLE_SOURCE = 'the built-in table'

function reading(contextWindow: number, maxOutputTokens: number, prices: TokenPrices): ModelInfo {
  return { contextWindow, maxOutputTokens, images: true, prices, source: TABLE_SOURCE }
}

/** US dollars for a million tokens, as price lists of Anthropic put them: a cache is written at 1.25 of the input. */
function claude(contextWindow: number, maxOutputTokens: number, input: number, output: number, cacheRead = input / 10): ModelInfo {
  return reading(contextWindow, maxOutputTokens, { input, cacheRead, cacheWrite: input * 1.25, output })
}

export const ANTHROPIC_MODELS: Models = {
  'claude-sonnet-5': claude(1_000_000, 128_000, 2, 10),
  'claude-opus-5-5': claude(1_000_000, 128_000, 4, 20, 0.2),
  'claude-opus-5': claude(1_000_000, 128_000, 5, 25),
  'claude-opus-4-8': claude(1_000_000, 128_000, 5, 25),
  'claude-opus-4-7': claude(1_000_000, 128_000, 5, 25),
  'claude-opus-4-6': claude(1_000_000, 128_000, 5, 25),
  'claude-opus-4-5': claude(200_000, 64_000, 5, 25),
  'claude-sonnet-4-6': claude(1_000_000, 128_000, 3, 15),
  'claude-sonnet-4-5': claude(200_000, 64_000, 3, 15),
  'claude-haiku-4-5': claude(200_000, 64_000, 1, 5),
}

export const OPENAI_MODELS: Models = {
  'gpt-6-sol': reading(1_050_000, 128_000, { input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 }),
  'gpt-6-luna': reading(1_050_000, 128_000, { input: 0.1, cacheRead: 0.01, cacheWrite: 0.125, output: 0.5 }),
  'gpt-6-astra': reading(1_050_000, 128_000, { input: 10, cacheRead: 1, cacheWrite: 12.5, output: 50 }),
  'gpt-5.6': reading(1_050_000, 128_000, { input: 4, cacheRead: 0.4, cacheWrite: 5, output: 20 }),
  'gpt-5.5': reading(1_050_000, 128_000, { input: 5, cacheRead: 0.5, output: 30 }),
  'gpt-5.4': reading(1_050_000, 128_000, { input: 2.5, cacheRead: 0.25, output: 15 }),
  'gpt-5.4-mini': reading(400_000, 128_000, { input: 0.75, cacheRead: 0.075, output: 4.5 }),
  'gpt-5.2': reading(400_000, 128_000, { input: 1.75, cacheRead: 0.175, output: 14 }),
  'gpt-5.1': reading(400_000, 128_000, { input: 1.25, cacheRead: 0.125, output: 10 }),
  'gpt-5': reading(400_000, 128_000, { input: 1.25, cacheRead: 0.125, output: 10 }),
  'gpt-5-mini': reading(400_000, 128_000, { input: 0.25, cacheRead: 0.025, output: 2 }),
  'gpt-4.1': reading(1_047_576, 32_768, { input: 2, cacheRead: 0.5, output: 8 }),
}

export const GOOGLE_MODELS: Models = {
  'gemini-3.8-flash': reading(1_048_576, 65_536, { input: 0.75, cacheRead: 0.075, output: 3.75 }),
  'gemini-3.1-pro-preview': reading(1_048_576, 65_536, { input: 2, cacheRead: 0.2, output: 12 }),
  'gemini-3.5-flash-lite': reading(1_048_576, 65_536, { input: 0.3, cacheRead: 0.03, output: 2.5 }),
  'gemini-2.5-pro': reading(1_048_576, 65_536, { input: 1.25, cacheRead: 0.125, output: 10 }),
  'gemini-2.5-flash': reading(1_048_576, 65_536, { input: 0.3, cacheRead: 0.03, output: 2.5 }),
}

/** Hundreds of models; these are the ones to begin with. Its prices are those of whichever host answers. */
export const OPENROUTER_MODELS: Models = {
  'deepseek/deepseek-v4-pro': { contextWindow: 1_048_576, maxOutputTokens: 384_000, images: false, source: TABLE_SOURCE },
  'deepseek/deepseek-v4.1-flash': { contextWindow: 1_048_576, maxOutputTokens: 384_000, images: true, source: TABLE_SOURCE },
}
