import { Context } from '@deepseek-ai/cordis'
import { LlmService } from '@deepseek-ai/dsh-llm'
import { TokenMeterService } from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { BasicCompactionEngine, resolveConfig, type BasicCompactionConfig } from '../src/index.ts'

/** The keys that a config is refused for, as `path: message`. */
function refusals(config: unknown): string[] {
  try {
    resolveConfig(config as BasicCompactionConfig)
    return []
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  }
}

it('fills in the defaults', () => {
  for (const config of [undefined, {}]) {
    const resolved = resolveConfig(config)
    expect(resolved.auto).toBe(true)
    expect(resolved.policyFor('p', 'm')).toEqual({
      thresholdRatio: 0.8, retain: { ratio: 0.16 }, summarizer: null, maxTokens: null, compactionRetries: 1, maxOverflowRetries: 1,
    })
  }
})

it('an empty string leaves a key unset, in a policy as well', () => {
  const pair = { summarizationProvider: '', summarizationModel: '' }
  expect(resolveConfig(pair).policyFor('p', 'm').summarizer).toBe(null)
  const shared = { summarizationProvider: 's', summarizationModel: 'small' }
  const resolved = resolveConfig({ ...shared, modelPolicies: [{ provider: 'p', model: 'm', ...pair }] })
  expect(resolved.policyFor('p', 'm').summarizer).toEqual({ provider: 's', model: 'small' })
})

describe('model policies', () => {
  const resolved = resolveConfig({
    thresholdRatio: 0.9,
    retainRatio: 0.3,
    compactionRetries: 4,
    summarizationProvider: 's',
    summarizationModel: 'small',
    modelPolicies: [
      { provider: 'p', model: 'one', thresholdRatio: 0.5, retainTokens: 700, maxTokens: 99 },
      { provider: 'p', model: 'two', retainRatio: 0.1, compactionRetries: 0, maxOverflowRetries: 3, summarizationProvider: 't', summarizationModel: 'big' },
    ],
  })

  it('override what they give and inherit the rest', () => {
    expect(resolved.policyFor('p', 'two')).toEqual({
      thresholdRatio: 0.9, retain: { ratio: 0.1 }, summarizer: { provider: 't', model: 'big' }, maxTokens: null, compactionRetries: 0, maxOverflowRetries: 3,
    })
  })

  it('replace the form of retention that they inherit', () => {
    expect(resolved.policyFor('p', 'one')).toEqual({
      thresholdRatio: 0.5, retain: { tokens: 700 }, summarizer: { provider: 's', model: 'small' }, maxTokens: 99, compactionRetries: 4, maxOverflowRetries: 1,
    })
  })

  it('hold for exactly their route', () => {
    const shared = resolved.policyFor('p', 'three')
    expect(shared).toMatchObject({ thresholdRatio: 0.9, retain: { ratio: 0.3 } })
    for (const [provider, model] of [['P', 'one'], ['p', 'one '], ['p\u0000one', ''], ['', 'one'], ['p', '']] as const) {
      expect(resolved.policyFor(provider, model)).toEqual(shared)
    }
  })
})

/** A config of shared keys, and what is said of it; the same holds of the keys in a policy. */
const WRONG: [title: string, config: Record<string, unknown>, key: string, message: RegExp][] = [
  ['an unknown key', { thresholdRatios: 0.5 }, '', /Unrecognized key: "thresholdRatios"/],
  ['a threshold of the whole window', { thresholdRatio: 1 }, 'thresholdRatio', /<1/],
  ['a threshold in percent', { thresholdRatio: 80 }, 'thresholdRatio', /<1/],
  ['a threshold in words', { thresholdRatio: '0.8' }, 'thresholdRatio', /expected number/],
  ['no number', { thresholdRatio: Number.NaN }, 'thresholdRatio', /expected number/],
  ['a negative retained share', { retainRatio: -0.1 }, 'retainRatio', />0/],
  ['retained tokens of nothing', { retainTokens: 0 }, 'retainTokens', />0/],
  ['half a token', { retainTokens: 100.5 }, 'retainTokens', /expected int/],
  ['endless tokens', { retainTokens: Number.POSITIVE_INFINITY }, 'retainTokens', /expected (number|int)/],
  ['a summary of nothing', { maxTokens: 0 }, 'maxTokens', />0/],
  ['half a summary', { maxTokens: 1.5 }, 'maxTokens', /expected int/],
  ['retries below none', { compactionRetries: -1 }, 'compactionRetries', />=0/],
  ['half a retry', { compactionRetries: 0.5 }, 'compactionRetries', /expected int/],
  ['overflow retries below none', { maxOverflowRetries: -1 }, 'maxOverflowRetries', />=0/],
  ['a number for a provider', { summarizationProvider: 7, summarizationModel: 'm' }, 'summarizationProvider', /expected string/],
  ['a provider without its model', { summarizationProvider: 's' }, 'summarizationModel', /go together/],
  ['a model without its provider', { summarizationModel: 'small' }, 'summarizationProvider', /go together/],
  ['a pair with one half empty', { summarizationProvider: 's', summarizationModel: '' }, 'summarizationModel', /go together/],
  ['both forms of retention', { retainRatio: 0.1, retainTokens: 100 }, 'retainTokens', /not both/],
  ['more retained than the threshold', { retainRatio: 0.8 }, 'retainRatio', /less than the threshold \(0.8\)/],
  ['a threshold below what is retained', { thresholdRatio: 0.1 }, 'thresholdRatio', /\(0.16 of the window\) must be less/],
]

describe('is refused, naming the key', () => {
  it.each(WRONG)('for %s', (_title, config, key, message) => {
    const found = refusals(config)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(new RegExp(`^${key}: .*${message.source}`))
  })

  it.each(WRONG)('for %s in a policy', (_title, config, key, message) => {
    const found = refusals({ modelPolicies: [{ provider: 'p', model: 'a' }, { provider: 'p', model: 'm', ...config }] })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(new RegExp(`^modelPolicies\\.1${key === '' ? '' : `.${key}`}: .*${message.source}`))
  })

  it('for a contradiction between a policy and what it inherits', () => {
    expect(refusals({ retainRatio: 0.5, modelPolicies: [{ provider: 'p', model: 'm', thresholdRatio: 0.4 }] }))
      .toEqual(['modelPolicies.0.thresholdRatio: what is retained (0.5 of the window) must be less than the threshold (0.4)'])
  })

  it.each([
    ['a policy without a model', { modelPolicies: [{ provider: 'p' }] }, /^modelPolicies\.0\.model: .*expected string/],
    ['a policy for an empty model', { modelPolicies: [{ provider: 'p', model: '' }] }, /^modelPolicies\.0\.model: /],
    ['a policy that would act by itself', { modelPolicies: [{ provider: 'p', model: 'm', auto: false }] }, /^modelPolicies\.0: Unrecognized key: "auto"/],
    ['two policies of one route', { modelPolicies: [{ provider: 'p', model: 'm' }, { provider: 'p', model: 'm' }] }, /^modelPolicies\.1\.model: p\/m has a policy already/],
    ['policies that are no list', { modelPolicies: {} }, /^modelPolicies: .*expected array/],
    ['a word for auto', { auto: 'false' }, /^auto: .*expected boolean/],
  ])('for %s', (_title, config, message) => {
    const found = refusals(config)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(message)
  })

  it('for everything that is wrong at once', () => {
    expect(refusals({ thresholdRatio: 2, maxTokens: 0, whatever: 1 })).toHaveLength(3)
    expect(refusals({ thresholdRatio: 0 })).toEqual([expect.stringMatching(/^thresholdRatio: .*>0/), expect.stringMatching(/^thresholdRatio: what is retained/)])
  })
})

describe('loaded as a plugin', () => {
  it.each([
    [{ thresholdRatio: 2 }, 'thresholdRatio'],
    [{ tresholdRatio: 0.5 }, 'tresholdRatio'],
    [{ retainRatio: 0.9 }, 'retainRatio'],
    [{ modelPolicies: [{ provider: 'p', model: 'm', summarizationModel: 'x' }] }, 'modelPolicies.0.summarizationProvider'],
  ])('%o fails the load and names %s', async (config, key) => {
    const ctx = new Context()
    await ctx.plugin(LlmService)
    await ctx.plugin(TokenMeterService)
    const failure: unknown = await ctx.plugin(BasicCompactionEngine, config as BasicCompactionConfig).then(() => null, (error: unknown) => error)
    expect(failure).toBeInstanceOf(Error)
    expect((failure as Error).message).toContain(key)
    expect(ctx.get('compaction')).toBeUndefined()
    await ctx.fiber.dispose()
  })

  it('a good config, and none, load', async () => {
    for (const config of [undefined, { thresholdRatio: 0.5, retainTokens: 100 }]) {
      const ctx = new Context()
      await ctx.plugin(LlmService)
      await ctx.plugin(TokenMeterService)
      await ctx.plugin(BasicCompactionEngine, config)
      expect(ctx.get('compaction')).toBeInstanceOf(BasicCompactionEngine)
      await ctx.fiber.dispose()
    }
  })
})
