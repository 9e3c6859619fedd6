import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LlmFailure, LlmFailureCode } from '../src/errors.ts'
import { retryWait, type RetryPolicy } from '../src/retry.ts'

const POLICY: RetryPolicy = { maxRetries: 5, maxElapsedMs: 300_000, firstWaitMs: 1_000 }

const TRANSIENT: Readonly<Record<LlmFailureCode, boolean>> = {
  RATE_LIMIT: true, SERVER: true, TIMEOUT: true, TRANSPORT: true, EMPTY_RESPONSE: true,
  CONTEXT_WINDOW_EXCEEDED: false, REQUEST_TOO_LARGE: false, QUOTA: false, AUTH: false, INVALID_REQUEST: false, OUTPUT_LIMIT: false,
  CONTENT_FILTER: false, ABORTED: false, NO_ADAPTER: false, UNKNOWN: false,
}

const failed = (code: LlmFailureCode, retryAfterMs?: number): LlmFailure => ({ code, message: code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })
const waitOf = (failure: LlmFailure, attempt: number, random = 0, elapsedMs = 0, policy = POLICY): number | null =>
  retryWait(failure, { attempt, elapsedMs, random }, policy)?.waitMs ?? null

describe('whether a request is sent again', () => {
  it.each(Object.entries(TRANSIENT))('after %s: %s', (code, again) => {
    expect(waitOf(failed(code as LlmFailureCode, 1), 0) !== null).toBe(again)
  })

  it('as often as the policy says', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map(attempt => waitOf(failed('SERVER'), attempt) !== null)).toEqual([true, true, true, true, true, false, false])
    expect(waitOf(failed('SERVER'), 0, 0, 0, { ...POLICY, maxRetries: 0 })).toBeNull()
  })

  it('while its time lasts, the wait included', () => {
    expect(waitOf(failed('SERVER'), 0, 0, 299_500)).toBe(500)
    expect(waitOf(failed('SERVER'), 0, 0, 299_501)).toBeNull()
  })

  it('not where the provider asks to wait longer than that', () => {
    expect(waitOf(failed('RATE_LIMIT', 300_000), 0)).toBe(300_000)
    expect(waitOf(failed('RATE_LIMIT', 300_001), 0)).toBeNull()
    expect(waitOf(failed('RATE_LIMIT', Infinity), 0)).toBeNull()
  })
})

describe('the wait', () => {
  it('doubles, up to half a minute', () => {
    const patient = { ...POLICY, maxRetries: 9 }
    expect([0, 1, 2, 3, 4, 5, 6].map(attempt => waitOf(failed('SERVER'), attempt, 0, 0, patient))).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
  })

  it('is as long as the provider asks at least, and never shorter than it would be without', () => {
    expect(waitOf(failed('RATE_LIMIT', 7_000), 0)).toBe(7_000)
    expect(waitOf(failed('RATE_LIMIT', 7_000), 0, 0.5)).toBe(7_500)
    expect(waitOf(failed('RATE_LIMIT', 0), 3)).toBe(4_000)
  })

  it('is whole, within its bounds, and never goes beyond the policy', () => {
    const millis = fc.integer({ min: 0, max: 400_000 })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 }), millis, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.option(millis, { nil: undefined }), (attempt, elapsedMs, random, retryAfterMs) => {
        const waitMs = waitOf(failed('SERVER', retryAfterMs), attempt, random, elapsedMs)
        if (waitMs === null) return
        expect(Number.isInteger(waitMs)).toBe(true)
        expect(waitMs).toBeGreaterThanOrEqual(retryAfterMs ?? 500 * 2 ** attempt)
        expect(elapsedMs + waitMs).toBeLessThanOrEqual(POLICY.maxElapsedMs)
        if (retryAfterMs === undefined) expect(waitMs).toBeLessThanOrEqual(1_000 * 2 ** attempt)
      }),
      { seed: 5, numRuns: 2_000 },
    )
  })
})
