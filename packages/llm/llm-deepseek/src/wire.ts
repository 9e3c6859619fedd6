/**
 * Wire: what DeepSeek wants differently from other OpenAI-compatible endpoints.
 *
 * Pure.
 */
import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import type { GenerateOptions } from '@deepseek-ai/dsh-llm'

interface Body {
  readonly messages?: readonly { readonly role: string; readonly [field: string]: unknown }[]
  readonly reasoning_effort?: string
  readonly [field: string]: unknown
}

/** Three strengths are known there; `none` turns thinking off. */
const EFFORTS: { readonly [effort: string]: string } = { minimal: 'low', low: 'low', medium: 'high', high: 'high', xhigh: 'max', max: 'max' }

/**
 * Thinking models take the reasoning of all their answers back, in the turn that runs and in later ones; an answer without,
 * such as one of another model, says so by an empty one, or the request is refused. It is sent always, and not only where
 * it is read, so that what was sent once stays the beginning of every later request.
 */
export function deepseekBody({ reasoning_effort: effort, ...body }: Body): { [field: string]: unknown } {
  const thinking = effort === undefined ? {} : effort === 'none' ? { thinking: { type: 'disabled' } } : { thinking: { type: 'enabled' }, reasoning_effort: EFFORTS[effort] }
  if (body['model'] === 'deepseek-chat') return { ...body, ...thinking }
  const messages = body.messages?.map(message => (message.role === 'assistant' ? { ...message, reasoning_content: message['reasoning_content'] ?? '' } : message))
  return { ...body, ...thinking, messages }
}

/** Compaction is marked in a header, so that the body stays the one that the prefix cache knows. */
export function deepseekHeaders({ purpose }: Pick<GenerateOptions, 'purpose'>): { [name: string]: string } {
  return purpose === 'compaction' ? { 'x-deepseek-harness-compact': '1' } : {}
}

interface Usage {
  readonly prompt_tokens?: number | null | undefined
  readonly completion_tokens?: number | null | undefined
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null | undefined } | null | undefined
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null | undefined } | null | undefined
  readonly [field: string]: unknown
}

/** Hits of the cache have a field of their own there; they are a part of the prompt. */
export function deepseekUsage(usage: Usage | null | undefined): LanguageModelV4Usage {
  const hits = usage?.['prompt_cache_hit_tokens'] ?? usage?.prompt_tokens_details?.cached_tokens
  const total = usage?.prompt_tokens ?? undefined
  const cacheRead = typeof hits === 'number' ? hits : undefined
  return {
    inputTokens: { total, noCache: undefined, cacheRead, cacheWrite: undefined },
    outputTokens: { total: usage?.completion_tokens ?? undefined, text: undefined, reasoning: usage?.completion_tokens_details?.reasoning_tokens ?? undefined },
  }
}
