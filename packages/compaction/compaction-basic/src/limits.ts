/**
 * Limits: what a window leaves, and how much of it one policy uses.
 *
 * Pure.
 *
 *     0            retain                        threshold      W − reserve        W
 *     ├──── tail kept ────┼───────────────────────────┼───────────────┼── output ──┤
 *                                                     ▲ pressure acts from here on
 */
import type { ModelInfo } from '@deepseek-ai/dsh-llm'
import { DEFAULT_SUMMARY_TOKENS, type CompactionPolicy } from './config.ts'

export interface Limits {
  readonly windowTokens: number
  /** Kept free for the answer. */
  readonly reserveTokens: number
  readonly thresholdTokens: number
  /** The retained budget. */
  readonly retainTokens: number
}

/**
 * @param maxTokens the routed request's own output limit, if it sets one.
 * @throws Error naming `retainTokens` when it leaves nothing to compact under this window's threshold.
 */
export function limitsOf(
  policy: CompactionPolicy,
  windowTokens: number,
  { outputInWindow = true }: Pick<ModelInfo, 'outputInWindow'>,
  maxTokens: number | undefined,
): Limits {
  const reserveTokens = outputInWindow ? Math.min(maxTokens ?? 0, Math.floor(windowTokens / 2)) : 0
  const wanted = Math.floor(windowTokens * policy.thresholdRatio)
  const thresholdTokens = Math.min(wanted, windowTokens - reserveTokens)
  const configured = 'tokens' in policy.retain ? policy.retain.tokens : Math.floor(windowTokens * policy.retain.ratio)
  if (configured >= wanted) {
    throw new Error(`retainTokens ${configured} must be less than the threshold, ${wanted} of ${windowTokens} tokens; lower retainTokens`)
  }
  const retainTokens = thresholdTokens < wanted ? Math.min(configured, Math.floor(thresholdTokens / 2)) : configured
  return { windowTokens, reserveTokens, thresholdTokens, retainTokens }
}

/**
 * How long a summary may be: the policy's own word; else an eighth of the summarizer's window, 8192 tokens at most and where
 * that window is unknown, and never more than `roomTokens` (null where unknown).
 */
export function summaryTokens(policy: CompactionPolicy, summarizerWindowTokens: number | undefined, roomTokens: number | null): number {
  if (policy.maxTokens !== null) return policy.maxTokens
  const share = summarizerWindowTokens === undefined ? DEFAULT_SUMMARY_TOKENS : Math.floor(summarizerWindowTokens / 8)
  return Math.max(1, Math.min(DEFAULT_SUMMARY_TOKENS, share, roomTokens ?? DEFAULT_SUMMARY_TOKENS))
}
