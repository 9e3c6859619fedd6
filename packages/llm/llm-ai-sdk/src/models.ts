/**
 * Models: the capacities and prices of well-known models, as their providers' documentation gives them.
 *
 * Pure. A model that is not listed is unknown, never guessed; a configuration may add it. Prices are those of short prompts.
 */
import type { ModelInfo } from '@deepseek-ai/dsh-llm'

const SOURCE = 'the built-in table'

/** window, output; US dollars a million tokens: input, cache read, cache write, output. */
function model(contextWindow: number, maxOutputTokens: number, input: number, cacheRead: number, cacheWrite: number, output: number): ModelInfo {
  return { contextWindow, maxOutputTokens, images: true, prices: { input, cacheRead, cacheWrite, output }, source: SOURCE }
}

type Models = { readonly [model: string]: ModelInfo }

export const ANTHROPIC_MODELS: Models = {
  'claude-sonnet-4-6': model(1_000_000, 64_000, 3, 0.3, 3.75, 15),
  'claude-opus-4-7': model(1_000_000, 128_000, 5, 0.5, 6.25, 25),
  'claude-opus-4-6': model(1_000_000, 128_000, 5, 0.5, 6.25, 25),
  'claude-opus-4-5': model(200_000, 64_000, 5, 0.5, 6.25, 25),
  'claude-sonnet-4-5': model(200_000, 64_000, 3, 0.3, 3.75, 15),
  'claude-haiku-4-5': model(200_000, 64_000, 1, 0.1, 1.25, 5),
  'claude-opus-4-1': model(200_000, 32_000, 15, 1.5, 18.75, 75),
}

/** The window of the newest is the one whose prompts are not charged at the rate of long ones. */
export const OPENAI_MODELS: Models = {
  'gpt-5.5': model(272_000, 128_000, 5, 0.5, 5, 30),
  'gpt-5.4': model(272_000, 128_000, 2.5, 0.25, 2.5, 15),
  'gpt-5.4-mini': model(400_000, 128_000, 0.75, 0.075, 0.75, 4.5),
  'gpt-5.3-codex': model(400_000, 128_000, 1.75, 0.175, 1.75, 14),
  'gpt-5.2': model(400_000, 128_000, 1.75, 0.175, 1.75, 14),
  'gpt-5.1': model(400_000, 128_000, 1.25, 0.125, 1.25, 10),
  'gpt-5': model(400_000, 128_000, 1.25, 0.125, 1.25, 10),
  'gpt-5-mini': model(400_000, 128_000, 0.25, 0.025, 0.25, 2),
  'gpt-4.1': model(1_047_576, 32_768, 2, 0.5, 2, 8),
  'gpt-4.1-mini': model(1_047_576, 32_768, 0.4, 0.1, 0.4, 1.6),
}

export const GOOGLE_MODELS: Models = {
  'gemini-2.5-pro': model(1_048_576, 65_536, 1.25, 0.125, 1.25, 10),
  'gemini-2.5-flash': model(1_048_576, 65_536, 0.3, 0.03, 0.3, 2.5),
  'gemini-2.5-flash-lite': model(1_048_576, 65_536, 0.1, 0.025, 0.1, 0.4),
  'gemini-3.1-pro-preview': model(1_048_576, 65_536, 2, 0.2, 2, 12),
  'gemini-3-flash-preview': model(1_048_576, 65_536, 0.5, 0.05, 0.5, 3),
}
