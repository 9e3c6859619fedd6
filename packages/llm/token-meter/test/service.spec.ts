import { Context } from '@deepseek-ai/cordis'
import { expect, it } from 'vitest'
import TokenMeterService from '../src/index.ts'
import { Story } from './notation.ts'

it('is there while its plugin is, and asks the folds of any session', async () => {
  const ctx = new Context()
  const fiber = await ctx.plugin(TokenMeterService)
  const meter = ctx.get('tokenMeter')!
  const story = new Story().user(20) // a past it has not seen
  expect(meter.measure(story.session)).toMatchObject({ surfaceTokens: meter.tokensAt(story.session, 0), basis: 'estimate' })
  expect(meter.entryTokens(story.user(30).session)).toHaveLength(2)
  expect(meter.estimateEnvelope()).toBe(0)
  await fiber.dispose()
  expect(ctx.get('tokenMeter')).toBeUndefined()
})

it('takes one density for all text', async () => {
  const ctx = new Context()
  await ctx.plugin(TokenMeterService, { charsPerToken: 3.5 })
  expect(ctx.get('tokenMeter')!.estimateMessage({ role: 'user', content: [{ type: 'text', text: '1234567' }] })).toBe(6)
})

it.each([[{ charsPerToken: 0 }, 'charsPerToken'], [{ charsPerTokn: 4 }, 'charsPerTokn'], [{ charsPerToken: '4' }, 'charsPerToken']])(
  'fails to load on %o, naming the key',
  async (config, key) => {
    const ctx = new Context()
    await expect(async () => ctx.plugin(TokenMeterService, config as never)).rejects.toThrow(key)
  },
)
