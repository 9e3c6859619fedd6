import { Context } from '@deepseek-ai/cordis'
import { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import ExactTokenMeterService, { counter } from '../src/index.ts'
import { countInSlices, RUN_UNITS } from '../src/slices.ts'

const seed = 20_255
const whole = (text: string): number => countTokens(text, { disallowedSpecial: new Set() })
const exact = counter('o200k_base')

/** As random as it gets without chance: the same on every machine. */
function scrambled(units: number, alphabet: string): string {
  const letters = [...alphabet]
  let state = 12_345
  return Array.from({ length: units }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return letters[(state >>> 8) % letters.length]!
  }).join('')
}
const BASE64 = scrambled(50_000, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const CHINESE = scrambled(50_000, '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然')

describe('slices', () => {
  it.each([
    ['base64', BASE64],
    ['Chinese', CHINESE],
    ['blanks', ' '.repeat(50_000)],
    ['a ruled line', '─'.repeat(50_000)],
    ['pairs of surrogates', '😀'.repeat(25_000)],
  ])('of 50,000 units of %s are the text again, none much longer than a run may be', (_name, text) => {
    const slices: string[] = []
    countInSlices(`Look: ${text} and so on.`, slice => slices.push(slice))
    expect(slices.join('')).toBe(`Look: ${text} and so on.`)
    expect(Math.max(...slices.map(slice => slice.length))).toBeLessThan(RUN_UNITS + 20)
    expect(slices.every(slice => !/^[\udc00-\udfff]/.test(slice))).toBe(true)
  })

  it('a text of words is one, however long', () => {
    const slices: string[] = []
    countInSlices('some words '.repeat(5_000), slice => slices.push(slice))
    expect(slices).toEqual(['some words '.repeat(5_000)])
  })
})

describe('a count', () => {
  it('is the tokenizer’s own for whatever holds no run too long', () => {
    const text = fc.oneof(fc.string({ maxLength: 400 }), fc.string({ unit: 'binary', maxLength: 200 }), fc.lorem({ maxCount: 200 }))
    fc.assert(fc.property(text, sample => void expect(exact(sample)).toBe(whole(sample))), { seed, numRuns: 500 })
  })

  it.each([['base64', BASE64.slice(0, 4_000)], ['Chinese', CHINESE.slice(0, 4_000)], ['letters', scrambled(4_000, 'abcdefghij')]])(
    'of an unbroken run of %s is off by about a token a cut',
    (_name, text) => {
      const cuts = Math.floor(text.length / RUN_UNITS)
      expect(Math.abs(exact(text) - whole(text))).toBeLessThanOrEqual(2 * cuts)
    },
  )

  it('is an integer, zero for nothing only, and takes names of control tokens for text', () => {
    expect(exact('')).toBe(0)
    expect(exact('Hello, world!')).toBe(4)
    expect(exact('<|endoftext|>')).toBeGreaterThan(1)
  })

  it('depends on the encoding', () => {
    const older = counter('cl100k_base')
    expect(older(CHINESE.slice(0, 500))).toBeGreaterThan(exact(CHINESE.slice(0, 500)))
  })
})

describe('the plugin', () => {
  const text = 'Exactly ten tokens of text, or so one says.'

  it('provides the meter that others ask for, and its folds replay', async () => {
    const ctx = new Context()
    const fiber = await ctx.plugin(ExactTokenMeterService)
    const meter = ctx.get('tokenMeter')!
    const session = new Session({ header: { id: 's', createdAt: 0 } })
    for (const words of [text, CHINESE]) session.append('user/message', { content: [{ type: 'text', text: words }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    const frame = meter.estimateMessage({ role: 'user', content: [] })
    expect(meter.entryTokens(session)).toEqual([exact(text) + frame, exact(CHINESE) + frame])
    expect(meter.measure(session)).toMatchObject({ totalTokens: exact(text) + exact(CHINESE) + 2 * frame, basis: 'estimate' })
    expectReplays(session)
    await fiber.dispose()
    expect(ctx.get('tokenMeter')).toBeUndefined()
  })

  it('counts by the configured encoding', async () => {
    const ctx = new Context()
    await ctx.plugin(ExactTokenMeterService, { encoding: 'cl100k_base' })
    const message = { role: 'user', content: [{ type: 'text', text: CHINESE }] } as const
    expect(ctx.get('tokenMeter')!.estimateMessage(message)).toBeGreaterThan(exact(CHINESE) * 1.04)
  })

  it.each([[{ encoding: 'p50k' }, 'encoding'], [{ charsPerToken: 4 }, 'charsPerToken']])('fails to load on %o, naming the key', async (config, key) => {
    await expect(async () => new Context().plugin(ExactTokenMeterService, config as never)).rejects.toThrow(key)
  })
})
