import { describe, expect, it } from 'vitest'
import { resolveConfig, type BasicCompactionConfig } from '../src/config.ts'
import { checkRetention, limitsOf, summaryTokens } from '../src/limits.ts'

const policy = (config: BasicCompactionConfig = {}) => resolveConfig(config).policyFor('p', 'm')

describe('limitsOf', () => {
  it.each([
    ['the threshold is a share of the window', {}, 10_000, {}, undefined, { requestTokens: 10_000, thresholdTokens: 8_000, retainTokens: 1_600 }],
    ['the answer is kept free inside the window', {}, 10_000, {}, 1_000, { requestTokens: 9_000, thresholdTokens: 8_000, retainTokens: 1_600 }],
    ['a large answer lowers the threshold', {}, 10_000, {}, 4_000, { requestTokens: 6_000, thresholdTokens: 6_000, retainTokens: 1_600 }],
    ['and at most half of the window is kept for it', {}, 10_000, {}, 9_000, { requestTokens: 5_000, thresholdTokens: 5_000, retainTokens: 1_600 }],
    ['an answer outside the window costs nothing of it', {}, 10_000, { outputInWindow: false }, 9_000, { requestTokens: 10_000, thresholdTokens: 8_000, retainTokens: 1_600 }],
    ['a lowered threshold caps what is retained at its half', { retainRatio: 0.7 }, 10_000, {}, 5_000, { requestTokens: 5_000, thresholdTokens: 5_000, retainTokens: 2_500 }],
    ['a threshold that was not lowered caps nothing', { retainRatio: 0.7 }, 10_000, {}, 1_000, { requestTokens: 9_000, thresholdTokens: 8_000, retainTokens: 7_000 }],
    ['tokens are retained as given', { retainTokens: 3_333 }, 10_000, {}, undefined, { requestTokens: 10_000, thresholdTokens: 8_000, retainTokens: 3_333 }],
    ['shares are rounded down', { thresholdRatio: 0.5, retainRatio: 0.1 }, 999, {}, undefined, { requestTokens: 999, thresholdTokens: 499, retainTokens: 99 }],
  ] as const)('%s', (_title, config, windowTokens, info, maxTokens, expected) => {
    const limits = limitsOf(policy(config), windowTokens, info, maxTokens)
    expect(limits).toEqual({ windowTokens, ...expected })
    expect(() => checkRetention(policy(config), limits)).not.toThrow()
  })

  it('what is retained must be less than the threshold of this window; the error names the key', () => {
    const check = (config: BasicCompactionConfig, windowTokens: number) =>
      () => checkRetention(policy(config), limitsOf(policy(config), windowTokens, {}, undefined))
    expect(check({ retainTokens: 8_000 }, 10_000)).toThrow('retainTokens keeps 8000 tokens, which must be less than the threshold of 8000')
    expect(check({ retainTokens: 7_999 }, 10_000)).not.toThrow()
    expect(check({}, 1)).toThrow('retainRatio keeps 0 tokens, which must be less than the threshold of 0')
  })
})

describe('summaryTokens', () => {
  it.each([
    ['an eighth of the window', {}, { contextWindow: 16_000 }, null, 2_000],
    ['8192 of a large one', {}, { contextWindow: 200_000 }, null, 8_192],
    ['8192 of an unknown one', {}, {}, null, 8_192],
    ['what the model can say at once', {}, { contextWindow: 200_000, maxOutputTokens: 4_096 }, null, 4_096],
    ['what the conversation leaves room for', {}, { contextWindow: 200_000 }, 3_000, 3_000],
    ['still a summary where it leaves no room', {}, { contextWindow: 200_000 }, -5_000, 256],
    ['less than that of a tiny window', {}, { contextWindow: 800 }, -5_000, 100],
    ['what was configured, whatever the model', { maxTokens: 20_000 }, { contextWindow: 16_000, maxOutputTokens: 4_096 }, 300, 20_000],
  ] as const)('%s', (_title, config, summarizer, roomTokens, expected) => {
    expect(summaryTokens(policy(config), summarizer, roomTokens)).toBe(expected)
  })
})
