import { Context } from '@deepseek-ai/cordis'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { expect, it } from 'vitest'
import { configSchema } from '../src/config.ts'
import ToolResultPruner from '../src/index.ts'

it('has defaults', () => {
  expect(configSchema.parse(undefined)).toEqual({ thresholdChars: 8_192, headChars: 4_096, tailChars: 1_024 })
  expect(configSchema.parse({ headChars: 5_000 })).toMatchObject({ headChars: 5_000, tailChars: 1_024 })
})

it.each([
  ['thresholdChars', { thresholdChars: 0 }],
  ['thresholdChars', { thresholdChars: 5_120 }],
  ['thresholdChars', { headChars: 8_000, tailChars: 192 }],
  ['headChars', { headChars: 0 }],
  ['headChars', { headChars: 1.5 }],
  ['tailChars', { tailChars: -1 }],
  ['tailChars', { tailChars: '10' }],
  ['maxChars', { maxChars: 10 }],
])('refuses to load, naming %s: %j', async (key, config) => {
  const ctx = new Context()
  await ctx.plugin(TokenMeterService)
  await expect(Promise.resolve(ctx.plugin(ToolResultPruner, config as never))).rejects.toThrow(key)
  expect(ctx.get('toolResultPruner')).toBe(undefined)
})

it('is gone when unloaded', async () => {
  const ctx = new Context()
  await ctx.plugin(TokenMeterService)
  const fiber = await ctx.plugin(ToolResultPruner)
  expect(ctx.get('toolResultPruner')).toBeInstanceOf(ToolResultPruner)
  await fiber.dispose()
  expect(ctx.get('toolResultPruner')).toBe(undefined)
})
