import type { ContentBlock, Message, ToolSchema } from '@deepseek-ai/dsh-llm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { estimator, imageTokens, textTokens } from '../src/estimate.ts'

const seed = 20_251
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.string({ unit: fc.constantFrom('汉', '字', ' ', 'a', 'é', '\ud83d', '\ude00', '—') }))

describe('a text priced by script', () => {
  it('costs what its parts cost, within one token of rounding', () => {
    fc.assert(
      fc.property(anyText, anyText, (head, tail) => {
        // Halves of a surrogate pair that meet become one character.
        fc.pre(!(/[\ud800-\udbff]$/.test(head) && /^[\udc00-\udfff]/.test(tail)))
        const apart = textTokens(head) + textTokens(tail)
        const joined = textTokens(head + tail)
        expect(joined).toBeLessThanOrEqual(apart)
        expect(joined).toBeGreaterThanOrEqual(apart - 1)
      }),
      { seed, numRuns: 2_000 },
    )
  })

  it('is a non-negative integer, and zero for nothing only', () => {
    fc.assert(
      fc.property(anyText, text => {
        const tokens = textTokens(text)
        expect(Number.isInteger(tokens)).toBe(true)
        expect(tokens > 0).toBe(text.length > 0)
      }),
      { seed, numRuns: 2_000 },
    )
  })

  it.each([['a'], ['汉'], ['é'], ['😀'], ['{"k": 1}\n'], ['x汉😀']])('costs the same however long the text around it is: %s', unit => {
    const repeated = 50_000
    const hundred = textTokens(unit.repeat(100))
    const many = textTokens(unit.repeat(repeated))
    expect(many).toBeLessThanOrEqual((hundred * repeated) / 100)
    expect(many).toBeGreaterThanOrEqual(((hundred - 1) * repeated) / 100)
  })

  it('tells scripts apart: numbers are dearer than code, code than prose, ideographs than letters', () => {
    const density = (text: string) => textTokens(text.repeat(100)) / (text.length * 100)
    const prose = density('the quick brown fox jumps over the lazy dog and rests in the shade of a tree ')
    const code = density('if (this.items[i]?.id === undefined) { return }\n')
    const numbers = density('1733054 8821 40.117 2025')
    const chinese = density('敏捷的棕色狐狸跳过懒狗')
    expect(prose).toBeGreaterThan(0.2)
    expect(prose).toBeLessThan(code)
    expect(code).toBeLessThan(numbers)
    expect(numbers).toBeLessThan(chinese)
    expect(chinese).toBeCloseTo(0.9, 2)
  })
})

describe('blocks and messages', () => {
  const estimate = estimator()
  const text = (text: string): ContentBlock => ({ type: 'text', text })

  it('a message costs its blocks and its role', () => {
    const call: ContentBlock = { type: 'tool-call', id: 'c1', name: 'read', arguments: '{"path":"a.ts"}' }
    const message: Message = { role: 'assistant', content: [text('Let me look.'), call] }
    const role = estimate.message({ role: 'assistant', content: [] })
    expect(role).toBeGreaterThan(0)
    expect(estimate.message(message)).toBe(estimate.block(text('Let me look.')) + estimate.block(call) + role)
  })

  it('a result costs what it holds, however deep, and its frame', () => {
    const inner: ContentBlock = { type: 'tool-result', toolCallId: 'c1', content: [text('x'.repeat(400)), { type: 'image', mediaType: 'image/png' }] }
    const outer: ContentBlock = { type: 'tool-result', toolCallId: 'c2', content: [inner] }
    const frame = estimate.block({ type: 'tool-result', toolCallId: 'c0', content: [] })
    expect(estimate.block(inner)).toBe(estimate.block(text('x'.repeat(400))) + imageTokens({}) + frame)
    expect(estimate.block(outer)).toBe(estimate.block(inner) + frame)
  })

  it('an unknown block costs its JSON', () => {
    const audio = { type: 'audio', seconds: 12, transcript: 'hello there' }
    expect(estimate.block(audio as unknown as ContentBlock)).toBe(estimate.block(text(JSON.stringify(audio))))
  })

  it('an envelope costs its system prompt and every schema, and nothing when there is neither', () => {
    const read: ToolSchema = { name: 'read', description: 'Reads a file.', parameters: { type: 'object', properties: { path: { type: 'string' } } } }
    expect(estimate.envelope(undefined, undefined)).toBe(0)
    expect(estimate.envelope(undefined, [])).toBe(0)
    const one = estimate.envelope(undefined, [read])
    expect(one).toBeGreaterThan(textTokens(JSON.stringify(read)))
    expect(estimate.envelope(undefined, [read, read])).toBe(2 * one)
    expect(estimate.envelope('Be brief.', [read])).toBe(estimate.envelope('Be brief.', undefined) + one)
  })

  it('an image costs its size between a floor and a ceiling, never its bytes', () => {
    const block = (data: string): ContentBlock => ({ type: 'image', mediaType: 'image/png', data, width: 1_000, height: 750 })
    expect(estimate.block(block('AAAA'.repeat(100_000)))).toBe(estimate.block(block('AAAA')))
    expect(imageTokens({ width: 1_000, height: 750 })).toBe(1_000)
    expect(imageTokens({ width: 1, height: 1 })).toBe(imageTokens({ width: 16, height: 16 }))
    expect(imageTokens({ width: 100_000, height: 100_000 })).toBe(imageTokens({ width: 9_000, height: 9_000 }))
    expect(imageTokens({ width: 640 })).toBe(imageTokens({}))
    expect(imageTokens({ width: 0, height: 0 })).toBe(imageTokens({}))
  })
})

describe('a count from elsewhere', () => {
  const words = (text: string): number => text.split(' ').length
  const estimate = estimator({ textTokens: words })

  it('takes the place of the estimate for every text, and what wraps it stays', () => {
    const bare = estimator()
    for (const wrap of [(text: string): ContentBlock => ({ type: 'text', text }), (text: string): ContentBlock => ({ type: 'tool-result', toolCallId: 'c', content: [{ type: 'text', text }] })]) {
      expect(estimate.block(wrap('one two three')) - 3).toBe(bare.block(wrap('one two three')) - textTokens('one two three'))
    }
    expect(estimate.text('one two three')).toBe(3)
  })

  it('is no density', () => {
    expect(() => estimator({ textTokens: words, charsPerToken: 4 })).toThrow(TypeError)
  })
})

describe('one fixed density', () => {
  const estimate = estimator({ charsPerToken: 2.5 })

  it('prices text and reasoning at ceil(chars / density) + 4, whatever the script', () => {
    fc.assert(
      fc.property(anyText, text => {
        const tokens = Math.ceil(text.length / 2.5) + 4
        expect(estimate.message({ role: 'user', content: [{ type: 'text', text }] })).toBe(tokens)
        expect(estimate.message({ role: 'assistant', content: [{ type: 'reasoning', text }] })).toBe(tokens)
      }),
      { seed, numRuns: 200 },
    )
  })

  it('prices calls by name and arguments, and results by what they hold', () => {
    expect(estimate.block({ type: 'tool-call', id: 'a-long-id-that-costs-nothing', name: 'read', arguments: '{"p":1}' })).toBe(Math.ceil(11 / 2.5))
    expect(estimate.block({ type: 'tool-result', toolCallId: 'c', content: [{ type: 'text', text: '12345' }, { type: 'text', text: '' }] })).toBe(6 + 4)
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses %s', charsPerToken => {
    expect(() => estimator({ charsPerToken })).toThrow(RangeError)
  })
})
