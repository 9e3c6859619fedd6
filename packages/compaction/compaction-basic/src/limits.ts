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
  /** W − reserve: what a request may hold so that its answer still has room. */
  readonly requestTokens: number
  readonly thresholdTokens: number
  /** The retained budget. */
  readonly retainTokens: number
}

/**
 * @param maxTokens the routed request's own output limit, if it sets one.
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
  const retainTokens = thresholdTokens < wanted ? Math.min(configured, Math.floor(thresholdTokens / 2)) : configured
  return { windowTokens, requestTokens: windowTokens - reserveTokens, thresholdTokens, retainTokens }
}

/** @throws Error naming the key when what is retained leaves nothing to compact under this window's threshold. */
export function checkRetention(policy: CompactionPolicy, { retainTokens, thresholdTokens }: Limits): void {
  if (retainTokens < thresholdTokens) return
  const key = 'tokens' in policy.retain ? 'retainTokens' : 'retainRatio'
  throw new Error(`${key} keeps ${retainTokens} tokens, which must be less than the threshold of ${thresholdTokens}; lower ${key}`)
}

/** No room is too small for a summary of this size: less would say nothing, and pay for a call that is refused. */
const SMALLEST_SUMMARY_TOKENS = 256

/**
 * How long a summary may be: the policy's own word; else an eighth of the summarizer's window, 8192 tokens at most and where
 * that window is unknown, never more than it can say at once (`maxOutputTokens`) or than `roomTokens` (null where unknown),
 * where that is room for a summary at all.
 */
export function summaryTokens(policy: CompactionPolicy, { contextWindow, maxOutputTokens }: SummarizerLimits, roomTokens: number | null): number {
  if (policy.maxTokens !== null) return policy.maxTokens
  const share = contextWindow === undefined ? DEFAULT_SUMMARY_TOKENS : Math.floor(contextWindow / 8)
  const room = roomTokens === null ? DEFAULT_SUMMARY_TOKENS : Math.max(SMALLEST_SUMMARY_TOKENS, roomTokens)
  return Math.max(1, Math.min(DEFAULT_SUMMARY_TOKENS, share, room, maxOutputTokens ?? Infinity))
}

type SummarizerLimits = Pick<ModelInfo, 'contextWindow' | 'maxOutputTokens'>
