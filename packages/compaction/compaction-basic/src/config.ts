/**
 * Config: when to compact, how much to keep, who summarizes.
 *
 * Pure. Every key is optional; unknown keys, contradictions and impossible values are refused by name.
 */
import { z } from 'zod'
import { routeKey } from './history.ts'

const ratio = z.number().gt(0).lt(1)
const count = z.number().int().min(0)
/** An empty string is a key left unset, as an environment variable would be. */
const name = z.string().transform(text => (text === '' ? undefined : text))

const POLICY_KEYS = {
  /** Share of the window at which pressure acts. */
  thresholdRatio: ratio.optional(),
  /** Share of the window that stays verbatim; or {@link retainTokens}. */
  retainRatio: ratio.optional(),
  retainTokens: z.number().int().positive().optional(),
  /** The route that writes summaries, both keys or neither; the conversation's own by default. */
  summarizationProvider: name.optional(),
  summarizationModel: name.optional(),
  /** Output tokens of a summary, sent as given; by default what the windows leave, 8192 at most. */
  maxTokens: z.number().int().positive().optional(),
  /** Deeper rounds, and so further model calls, that one check may add to its first. */
  compactionRetries: count.optional(),
  /** Requests in a row that are tried again after an overflow; 0 turns recovery off. */
  maxOverflowRetries: count.optional(),
}

const policySchema = z.strictObject({ provider: z.string().min(1), model: z.string().min(1), ...POLICY_KEYS })

type PolicyKeys = z.output<z.ZodObject<typeof POLICY_KEYS>>

export const configSchema = z
  .strictObject({
    ...POLICY_KEYS,
    /** Whether pressure and overflow are acted on by themselves. */
    auto: z.boolean().optional(),
    /** Overrides for exact routes; one that gives either retention form replaces the inherited form. */
    modelPolicies: z.array(policySchema).optional(),
  })
  .prefault({})
  .superRefine((config, context) => {
    const check = (merged: PolicyKeys, given: PolicyKeys, path: readonly (string | number)[]): void => {
      for (const { key, message } of contradictions(merged, given)) context.addIssue({ code: 'custom', path: [...path, key], message })
    }
    check(config, config, [])
    const routes = new Set<string>()
    config.modelPolicies?.forEach((policy, index) => {
      check(merge(config, policy), policy, ['modelPolicies', index])
      const route = routeKey(policy)
      if (routes.has(route)) {
        context.addIssue({ code: 'custom', path: ['modelPolicies', index, 'model'], message: `${policy.provider}/${policy.model} has a policy already` })
      }
      routes.add(route)
    })
  })

export type BasicCompactionConfig = z.input<typeof configSchema>

/** What holds for one route, defaults filled in. */
export interface CompactionPolicy {
  readonly thresholdRatio: number
  readonly retain: { readonly ratio: number } | { readonly tokens: number }
  readonly summarizer: { readonly provider: string; readonly model: string } | null
  /** Null: what the windows leave, {@link DEFAULT_SUMMARY_TOKENS} at most. */
  readonly maxTokens: number | null
  readonly compactionRetries: number
  readonly maxOverflowRetries: number
}

export interface ResolvedCompactionConfig {
  readonly auto: boolean
  policyFor(provider: string, model: string): CompactionPolicy
}

const DEFAULT_THRESHOLD_RATIO = 0.8
const DEFAULT_RETAIN_RATIO = 0.16
/** The longest summary asked for where nothing else says. */
export const DEFAULT_SUMMARY_TOKENS = 8192

/** Fills in defaults. @throws ZodError naming every key that is unknown, impossible or contradicts another. */
export function resolveConfig(config?: BasicCompactionConfig): ResolvedCompactionConfig {
  const { auto, modelPolicies, ...shared } = configSchema.parse(config)
  const policies = new Map((modelPolicies ?? []).map(policy => [routeKey(policy), toPolicy(merge(shared, policy))]))
  const fallback = toPolicy(shared)
  return {
    auto: auto ?? true,
    policyFor: (provider, model) => policies.get(routeKey({ provider, model })) ?? fallback,
  }
}

function toPolicy(keys: PolicyKeys): CompactionPolicy {
  const { summarizationProvider: provider, summarizationModel: model } = keys
  return {
    thresholdRatio: keys.thresholdRatio ?? DEFAULT_THRESHOLD_RATIO,
    retain: keys.retainTokens === undefined ? { ratio: keys.retainRatio ?? DEFAULT_RETAIN_RATIO } : { tokens: keys.retainTokens },
    summarizer: provider === undefined || model === undefined ? null : { provider, model },
    maxTokens: keys.maxTokens ?? null,
    compactionRetries: keys.compactionRetries ?? 1,
    maxOverflowRetries: keys.maxOverflowRetries ?? 1,
  }
}

function merge(shared: PolicyKeys, policy: PolicyKeys): PolicyKeys {
  const { retainRatio, retainTokens, ...rest } = shared
  const given = Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined))
  const inherited = 'retainRatio' in given || 'retainTokens' in given ? {} : { retainRatio, retainTokens }
  return { ...rest, ...inherited, ...given }
}

/** What cannot hold together in `merged`, told of the keys that were `given`. */
function contradictions(merged: PolicyKeys, given: PolicyKeys): { key: keyof PolicyKeys; message: string }[] {
  const found: { key: keyof PolicyKeys; message: string }[] = []
  if (given.retainRatio !== undefined && given.retainTokens !== undefined) {
    found.push({ key: 'retainTokens', message: 'give retainTokens or retainRatio, not both' })
  }
  const threshold = merged.thresholdRatio ?? DEFAULT_THRESHOLD_RATIO
  const retain = merged.retainTokens === undefined ? (merged.retainRatio ?? DEFAULT_RETAIN_RATIO) : null
  if (retain !== null && retain >= threshold) {
    const key = given.retainRatio === undefined ? 'thresholdRatio' : 'retainRatio'
    found.push({ key, message: `what is retained (${retain} of the window) must be less than the threshold (${threshold})` })
  }
  if ((merged.summarizationProvider === undefined) !== (merged.summarizationModel === undefined)) {
    const key = merged.summarizationProvider === undefined ? 'summarizationProvider' : 'summarizationModel'
    found.push({ key, message: 'summarizationProvider and summarizationModel go together; give both or neither' })
  }
  return found
}
