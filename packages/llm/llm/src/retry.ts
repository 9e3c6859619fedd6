/**
 * Retry: whether a failed request is worth sending again as it was, and after which wait.
 *
 * Pure. Here and not with the plugin that waits between turns, because direct calls (a summarizer's) decide by the same rule
 * and should not have to know of agents.
 *
 *     failure ── wait ── failure ── wait ── failure ── …        attempt counts from 0, elapsed from the first failure
 *             attempt 0          attempt 1
 */
import type { LlmFailure, LlmFailureCode } from './errors.ts'

export interface RetryPolicy {
  /** Tries beyond the first. */
  readonly maxRetries: number
  /** The last retry begins no later than so long after the start. */
  readonly maxElapsedMs: number
  /** Doubled with each retry. */
  readonly firstWaitMs: number
}

export interface RetryMoment {
  /** Retries so far. */
  readonly attempt: number
  readonly elapsedMs: number
  /** In [0, 1). */
  readonly random: number
}

/**
 * What another try may cure. The rest fails the same way each time (a refused request, a key, a quota), is cured by a smaller
 * request (an overflow), was wanted (an abort), or is nobody's to judge (`UNKNOWN`).
 */
const TRANSIENT: ReadonlySet<LlmFailureCode> = new Set(['RATE_LIMIT', 'SERVER', 'TIMEOUT', 'TRANSPORT', 'EMPTY_RESPONSE'])

export function isTransient({ code }: Pick<LlmFailure, 'code'>): boolean {
  return TRANSIENT.has(code)
}

/** Waits that the provider does not name stop growing here. */
const LONGEST_WAIT_MS = 30_000

/**
 * How long to wait before the next try, in whole milliseconds; null where there should be none.
 *
 * Between half and the whole of the doubled wait, so that those who failed together do not come back together. A wait that
 * the provider names is kept in full, with the first wait's jitter on top; one that does not end within the policy's time
 * is not begun, since a person would rather know now.
 */
export function retryWait(failure: LlmFailure, { attempt, elapsedMs, random }: RetryMoment, policy: RetryPolicy): { readonly waitMs: number } | null {
  if (!isTransient(failure) || attempt >= policy.maxRetries) return null
  const backoffMs = Math.min(LONGEST_WAIT_MS, policy.firstWaitMs * 2 ** attempt)
  const { retryAfterMs } = failure
  const wanted = retryAfterMs === undefined ? backoffMs * (0.5 + random / 2) : Math.max(backoffMs / 2, retryAfterMs) + policy.firstWaitMs * random
  const waitMs = Math.ceil(wanted)
  return elapsedMs + waitMs <= policy.maxElapsedMs ? { waitMs } : null
}
