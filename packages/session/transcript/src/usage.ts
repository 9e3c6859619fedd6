/**
 * Usage: what providers report, in disjoint buckets.
 *
 * Pure.
 */
import type { TokenUsage } from '@deepseek-ai/dsh-llm'
import { numberAt, objectAt, type JsonObject } from './json.ts'

interface Buckets {
  /** Uncached. */
  readonly input: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly output?: number | undefined
  readonly reasoning?: number | undefined
}

/** Undefined where the prompt side is nothing: that is no measurement. */
export function tokenUsage(buckets: Buckets): TokenUsage | undefined {
  const { input, cacheRead, cacheWrite, output, reasoning } = buckets
  if (input + (cacheRead ?? 0) + (cacheWrite ?? 0) <= 0) return undefined
  return {
    inputTokens: input,
    ...(cacheRead === undefined ? {} : { cacheReadTokens: cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWriteTokens: cacheWrite }),
    outputTokens: output ?? 0,
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  }
}

/** The usage object of OpenAI-compatible chat completions, whose `prompt_tokens` include the cached ones. */
export function chatUsage(usage: JsonObject | undefined): TokenUsage | undefined {
  const prompt = usage && numberAt(usage, 'prompt_tokens')
  if (usage === undefined || prompt === undefined) return undefined
  const promptDetails = objectAt(usage, 'prompt_tokens_details') ?? {}
  const completionDetails = objectAt(usage, 'completion_tokens_details') ?? {}
  const cached = numberAt(usage, 'prompt_cache_hit_tokens') ?? numberAt(promptDetails, 'cached_tokens')
  return tokenUsage({
    input: Math.max(0, prompt - (cached ?? 0)),
    cacheRead: cached,
    output: numberAt(usage, 'completion_tokens'),
    reasoning: numberAt(completionDetails, 'reasoning_tokens'),
  })
}
