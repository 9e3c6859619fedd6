/**
 * Configuration: what a person may write down, laid over what the environment says.
 *
 * Pure.
 */
import type { ModelInfo } from '@deepseek-ai/dsh-llm'
import { z } from 'zod'
import { providersOf, type Environment } from './environment.ts'
import { KNOWN_PROVIDERS, type AdapterSettings } from './providers.ts'

const tokens = z.number().int().positive()
const dollars = z.number().nonnegative()

export const modelSchema = z.strictObject({
  contextWindow: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  outputInWindow: z.boolean().optional(),
  images: z.boolean().optional(),
  prices: z.strictObject({ input: dollars, cacheRead: dollars.optional(), cacheWrite: dollars.optional(), output: dollars }).optional(),
})

/** What both plugins take for one provider. A key that is absent or empty is none, so that an expression may come up empty. */
export const endpointSchema = z.strictObject({
  apiKey: z.string().optional(),
  baseURL: z.url({ protocol: /^https?$/ }).optional(),
  /** The first becomes the provider's default model. */
  models: z.record(z.string(), modelSchema).optional(),
})

/** Milliseconds without a byte after which a request is given up. */
export const idleMsSchema = z.number().int().positive().optional()

export const configSchema = z.strictObject({
  idleMs: idleMsSchema,
  /** By provider id; an id of one's own needs a `family` and a `baseURL`. */
  providers: z.record(z.string().min(1), endpointSchema.extend({ family: z.enum(['anthropic', 'openai', 'google', 'openai-compatible']).optional() })).optional(),
}).prefault({})

type Endpoint = z.output<typeof endpointSchema>

/** Of every provider that can be asked; one that needs a key and has none is left out. */
export function settingsOf({ providers = {} }: Pick<z.output<typeof configSchema>, 'providers'>, env: Environment): AdapterSettings[] {
  const fromEnvironment = providersOf(env)
  const settings: AdapterSettings[] = []
  for (const provider of new Set([...Object.keys(fromEnvironment), ...Object.keys(providers)])) {
    const { family, ...endpoint } = providers[provider] ?? {}
    const known = KNOWN_PROVIDERS[provider]
    const merged = { ...known, ...fromEnvironment[provider], ...configured(endpoint), family: family ?? known?.family ?? 'openai-compatible' as const }
    const { baseURL, apiKey } = merged
    if (baseURL === undefined) throw new Error(`providers.${provider}.baseURL is missing`)
    if (apiKey !== undefined || (known === undefined && merged.family === 'openai-compatible')) settings.push({ ...merged, provider, baseURL })
  }
  return settings
}

/** What was written down, without what was left open. */
export function configured({ apiKey, baseURL, models }: Endpoint): Partial<Pick<AdapterSettings, 'apiKey' | 'keyFrom' | 'baseURL' | 'models'>> {
  const key = apiKey?.trim()
  return {
    ...(key ? { apiKey: key, keyFrom: 'the configuration' } : {}),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(models === undefined ? {} : { models: Object.fromEntries(Object.entries(models).map(([model, info]) => [model, { ...(info as ModelInfo), source: 'the configuration' }])) }),
  }
}
