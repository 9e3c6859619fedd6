/**
 * Providers: settings become an adapter.
 *
 * The package of a family is loaded by its first request: nobody waits for four of them who asks one.
 */
import type { ModelInfo } from '@deepseek-ai/dsh-llm'
import { AiSdkAdapter, type AiSdkInit } from './adapter.ts'
import { ANTHROPIC, GOOGLE, OPENAI, OPENAI_COMPATIBLE } from './dialect.ts'
import type { ProviderSettings } from './environment.ts'
import { ANTHROPIC_MODELS, GOOGLE_MODELS, OPENAI_MODELS, OPENROUTER_MODELS, type Models } from './models.ts'

export type Family = 'anthropic' | 'openai' | 'google' | 'openai-compatible'

/** The providers that need no more than a key. */
export const KNOWN_PROVIDERS: { readonly [provider: string]: { readonly family: Family; readonly baseURL: string } } = {
  anthropic: { family: 'anthropic', baseURL: 'https://api.anthropic.com/v1' },
  openai: { family: 'openai', baseURL: 'https://api.openai.com/v1' },
  google: { family: 'google', baseURL: 'https://generativelanguage.googleapis.com/v1beta' },
  openrouter: { family: 'openai-compatible', baseURL: 'https://openrouter.ai/api/v1' },
}

export interface AdapterSettings extends ProviderSettings {
  readonly provider: string
  readonly family: Family
  readonly baseURL: string
  /** Milliseconds without a byte after which a request is given up; default {@link DEFAULT_IDLE_MS}. */
  readonly idleMs?: number
  readonly notice?: (text: string) => void
}

/** A reasoning model may think for long before its first word. */
export const DEFAULT_IDLE_MS = 120_000

export function createAdapter(settings: AdapterSettings): AiSdkAdapter {
  return new AiSdkAdapter({ ...commonInit(settings), ...FAMILIES[settings.family](settings) })
}

/** A shorter one (`none`, `token`) is for a server that wants something in its place, and stands in words that are no secret. */
const MIN_KEY_CHARS = 6

/** What an adapter of any family is made with. */
export function commonInit({ provider, baseURL, apiKey = '', keyFrom, idleMs = DEFAULT_IDLE_MS, notice }: Omit<AdapterSettings, 'family' | 'models'>) {
  const { host, password } = new URL(baseURL)
  return {
    provider,
    idleMs,
    origin: `${host}, ${apiKey === '' ? 'without a key' : `key from ${keyFrom ?? 'the configuration'}`}`,
    secrets: [apiKey.length < MIN_KEY_CHARS ? '' : apiKey, password].filter(secret => secret !== ''),
    ...(notice === undefined ? {} : { notice }),
  }
}

const FAMILIES: { readonly [family in Family]: (settings: AdapterSettings) => Pick<AiSdkInit, 'dialect' | 'open' | 'models'> } = {
  anthropic: ({ baseURL, apiKey = '', models }) => ({
    dialect: ANTHROPIC,
    models: withConfigured(ANTHROPIC_MODELS, models),
    open: async (model, fetch) => (await import('@ai-sdk/anthropic')).createAnthropic({ baseURL, apiKey, fetch })(model),
  }),
  openai: ({ baseURL, apiKey = '', models }) => ({
    dialect: OPENAI,
    models: withConfigured(OPENAI_MODELS, models),
    open: async (model, fetch) => (await import('@ai-sdk/openai')).createOpenAI({ baseURL, apiKey, fetch }).responses(model),
  }),
  google: ({ baseURL, apiKey = '', models }) => ({
    dialect: GOOGLE,
    models: withConfigured(GOOGLE_MODELS, models),
    open: async (model, fetch) => (await import('@ai-sdk/google')).createGoogle({ baseURL, apiKey, fetch })(model),
  }),
  'openai-compatible': ({ provider, baseURL, apiKey, models }) => ({
    dialect: OPENAI_COMPATIBLE,
    models: withConfigured(provider === 'openrouter' ? OPENROUTER_MODELS : {}, models),
    open: async (model, fetch) => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({ name: provider, baseURL, fetch, includeUsage: true, ...(apiKey === undefined ? {} : { apiKey }) })(model)
    },
  }),
}

/** Configured models come first, so that the first of them is the default; what they leave open the table says. */
export function withConfigured(known: Models, configured: Models = {}): Models {
  const models: { [model: string]: ModelInfo } = {}
  for (const [model, info] of Object.entries(configured)) models[model] = { ...known[model], ...info }
  for (const [model, info] of Object.entries(known)) models[model] ??= info
  return models
}
