import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { snapshot } from '../src/json.ts'

const deepFreeze = <T>(value: T): T => {
  if (value === null || typeof value !== 'object') return value
  Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}
const frozen = (value: unknown): boolean =>
  value === null || typeof value !== 'object' || (Object.isFrozen(value) && Object.values(value).every(frozen))

describe('a snapshot', () => {
  it('equals what its JSON text reads back as, frozen to the leaves, and shares nothing that can change', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
      const before = structuredClone(value)
      const taken = snapshot(value, 'data')
      expect(taken).toStrictEqual(JSON.parse(JSON.stringify(value)))
      expect(frozen(taken)).toBe(true)
      expect(value).toStrictEqual(before)
      expect(frozen(value) || typeof value !== 'object').toBe(value === null || typeof value !== 'object')
    }), { numRuns: 500, seed: 1 })
  })

  it('of deep-frozen data is that data', () => {
    fc.assert(fc.property(fc.jsonValue(), value => {
      const given = deepFreeze(JSON.parse(JSON.stringify(value)))
      expect(snapshot(given, 'data')).toBe(given)
    }), { numRuns: 200, seed: 1 })
  })

  it('shares the frozen parts of what it copies', () => {
    const block = deepFreeze({ type: 'text', text: 'logged before' })
    const taken = snapshot({ content: [block] }, 'data')
    expect(taken.content[0]).toBe(block)
    expect(snapshot(taken, 'data')).toBe(taken)
  })

  it('does not take a frozen shell for frozen data', () => {
    const inner = { text: 'can change' }
    const taken = snapshot(Object.freeze({ inner }), 'data')
    inner.text = 'changed'
    expect(taken).toEqual({ inner: { text: 'can change' } })
    expect(frozen(taken)).toBe(true)
  })

  it('of one part in two places is that part in two places', () => {
    const part = { n: 1 }
    expect(snapshot({ a: part, b: [part] }, 'data')).toEqual({ a: { n: 1 }, b: [{ n: 1 }] })
  })

  it('keeps a key named __proto__ as a key', () => {
    const text = '{"__proto__":{"polluted":true},"a":{"__proto__":1}}'
    const taken = snapshot(JSON.parse(text) as object, 'data')
    expect(JSON.stringify(taken)).toBe(text)
    expect(Object.getPrototypeOf(taken)).toBe(Object.prototype)
    expect('polluted' in taken).toBe(false)
  })

  it('has the prototype and the zero that JSON has, frozen or not', () => {
    const dictionary = (): object => Object.assign(Object.create(null) as object, { zero: -0, list: [-0] })
    for (const given of [dictionary(), deepFreeze(dictionary())]) {
      expect(snapshot(given, 'data')).toStrictEqual({ zero: 0, list: [0] })
    }
  })

  it('holds nesting of a thousand levels', () => {
    const nested = JSON.parse('['.repeat(1_000) + ']'.repeat(1_000)) as unknown
    expect(snapshot(nested, 'data')).toStrictEqual(nested)
  })
})

class Point {
  readonly x = 1
}
const self: Record<string, unknown> = {}
self['list'] = [1, self]
const mutual = { a: { b: {} as Record<string, unknown> } }
mutual.a.b['up'] = mutual.a

describe('what is not plain JSON is refused, naming where and what', () => {
  it.each<[unknown, string]>([
    [undefined, 'data is undefined; leave the key out or use null'],
    [{ a: { b: undefined } }, 'data.a.b is undefined; leave the key out or use null'],
    [{ list: Object.assign(Array.from({ length: 0 }), { 0: 1, 2: 2 }) }, 'data.list[1] is undefined'],
    [[() => 1], 'data[0] is a function'],
    [{ [Symbol.iterator.description!]: Symbol('s') }, 'data.Symbol.iterator is a symbol'],
    [{ n: 10n }, 'data.n is the bigint 10; use a number or a string'],
    [{ n: Number.NaN }, 'data.n is NaN; use a finite number'],
    [{ n: [-Infinity] }, 'data.n[0] is -Infinity; use a finite number'],
    [{ at: new Date(0) }, 'data.at is an instance of Date; use plain objects'],
    [{ p: new Point() }, 'data.p is an instance of Point; use plain objects'],
    [{ m: new Map() }, 'data.m is an instance of Map'],
    [{ e: new Error('text') }, 'data.e is an instance of Error'],
    [{ bytes: new Uint8Array(2) }, 'data.bytes is an instance of Uint8Array'],
    [{ toJSON: () => ({}) }, 'data.toJSON is a function'],
    [self, 'data.list[1] is cyclic: it is a part of itself'],
    [mutual, 'data.a.b.up is cyclic: it is a part of itself'],
  ])('%o', (value, text) => {
    expect(() => snapshot(value, 'data')).toThrow(TypeError)
    expect(() => snapshot(value, 'data')).toThrow(text)
  })

  it('nesting that no event needs, in a message that can be read', () => {
    const deep = JSON.parse('{"a":'.repeat(1_500) + '1' + '}'.repeat(1_500)) as unknown
    expect(() => snapshot(deep, 'data')).toThrow(/^data(\.a)+…? is nested deeper than 1000 levels$/)
    expect(() => snapshot(deep, 'data')).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/.{300}/) }))
  })
})
