/**
 * Usage: every provider's habit of counting becomes our disjoint buckets.
 *
 * Pure. Most providers count cached tokens inside the prompt, some beside it; most count reasoning inside the output, some
 * beside it. A part larger than its whole stands beside it.
 */
import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import type { TokenUsage } from '@deepseek-ai/dsh-llm'

/** Undefined when the provider reported nothing. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenUsage | undefined {
  const { total, cacheRead, cacheWrite } = inputTokens
  if (total === undefined && inputTokens.noCache === undefined && outputTokens.total === undefined) return undefined
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0)
  const prompt = total ?? (inputTokens.noCache ?? 0) + cached
  const output = outputTokens.total ?? (outputTokens.text ?? 0) + (outputTokens.reasoning ?? 0)
  const reasoning = outputTokens.reasoning ?? 0
  return {
    inputTokens: prompt >= cached ? prompt - cached : prompt,
    ...(cacheRead ? { cacheReadTokens: cacheRead } : {}),
    ...(cacheWrite ? { cacheWriteTokens: cacheWrite } : {}),
    outputTokens: output >= reasoning ? output : output + reasoning,
    ...(reasoning > 0 ? { reasoningTokens: reasoning } : {}),
  }
}
