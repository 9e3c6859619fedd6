import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BlockAssembler, uniqueCallId } from '../src/assemble.ts'
import { chunksOf, naturalFinish } from '../src/chunks.ts'
import type { ContentBlock, StreamChunk } from '../src/content.ts'
import { answers, anyStreamOf } from './answers.ts'
import { drawn, stream } from './notation.ts'

const fixed = { seed: 20_250_101, numRuns: 1_000 }

function assembled(chunks: Iterable<StreamChunk>, usedCallIds?: Iterable<string>): BlockAssembler {
  const assembler = new BlockAssembler(usedCallIds)
  for (const chunk of chunks) assembler.push(chunk)
  return assembler
}

describe('laws', () => {
  it('every stream of an answer assembles to that answer', () => {
    fc.assert(fc.property(
      answers.chain((content) => fc.tuple(fc.constant(content), anyStreamOf(content))),
      ([content, chunks]) => {
        expect(assembled([...chunks, { type: 'finish', reason: 'stop' }]).content()).toEqual(content)
      },
    ), fixed)
  })

  it('assembly undoes chunksOf, whatever the number of deltas', () => {
    fc.assert(fc.property(answers, fc.integer({ min: 1, max: 9 }), (content, deltas) => {
      const usage = { inputTokens: 3, outputTokens: 5 }
      const finish = naturalFinish(content)
      const assembler = assembled(chunksOf({ content, finish, usage }, deltas))
      expect(assembler.content()).toEqual(content)
      expect(assembler.usage).toEqual(usage)
      expect(assembler.finish?.reason).toBe(finish)
    }), fixed)
  })

  it('no delta of chunksOf parts a surrogate pair', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 9 }), (text, deltas) => {
      for (const chunk of chunksOf({ content: [{ type: 'text', text }], finish: 'stop' }, deltas)) {
        if (chunk.type === 'text-delta') expect(chunk.text.isWellFormed()).toBe(true)
      }
    }), fixed)
  })

  it('call ids end up unique and unused, the same every time, and a fresh id is never touched', () => {
    const ids = fc.array(fc.constantFrom('', 'a', 'b', 'a_2', 'call', 'call_1'), { maxLength: 8 })
    fc.assert(fc.property(ids, fc.uniqueArray(fc.constantFrom<string>('a', 'a_2', 'call_1', 'z')), (asked, used) => {
      const content = asked.map((id): ContentBlock => ({ type: 'tool-call', id, name: 't', arguments: '{}' }))
      const assembler = assembled(chunksOf({ content, finish: 'tool-calls' }), used)
      const given = assembler.content().map((block) => (block.type === 'tool-call' ? block.id : ''))
      expect(new Set([...given, ...used]).size).toBe(given.length + used.length)
      expect(given).not.toContain('')
      expect(drawn(assembler.content())).toBe(drawn(assembler.content()))
      for (const [at, id] of asked.entries()) {
        const fresh = id !== '' && !used.includes(id) && !given.slice(0, at).includes(id)
        if (fresh) expect(given[at]).toBe(id)
      }
    }), fixed)
  })

  it('an interruption after any chunk leaves exactly the text that had come', () => {
    fc.assert(fc.property(
      answers.chain((content) => fc.tuple(fc.constant(content), anyStreamOf(content))), fc.nat(),
      ([content, chunks], nat) => {
        const seen = chunks.slice(0, nat % (chunks.length + 1))
        const cameOf = (index: number) => seen.map((chunk) => (chunk.type === 'text-delta' && chunk.index === index ? chunk.text : '')).join('')
        const came = content.flatMap((block, index) => (block.type === 'text' ? [cameOf(index)] : [])).filter((text) => text !== '')
        expect(assembled(seen).interrupted().map((block) => (block.type === 'text' ? block.text : block.type))).toEqual(came)
      },
    ), fixed)
  })
})

it.each([
  ['a block never ended is ended by the finish', '0:text 0+Hi =stop', 'text(Hi)'],
  ['deltas alone make a text', '0+Hi =stop', 'text(Hi)'],
  ['deltas alone make reasoning', '0~hm 1+Hi =stop', 'reasoning(hm) text(Hi)'],
  ['order is that of the indices', '3+b 1+a =stop', 'text(a) text(b)'],
  ['text that says nothing is left out', '0:text 0. 1:call#a 1+{} 1. =tool-calls', 'call#a({})'],
  ['invalid arguments are the model\'s own and stay', '0:call#a 0+{oops 0. =tool-calls', 'call#a({oops)'],
  ['a call without arguments is a call', '0:call#a 0. =tool-calls', 'call#a()'],
  ['the output limit cuts the call that never ended', '0:text 0+Hi 0. 1:call#a 1+{"x =max-tokens', 'text(Hi)'],
  ['the output limit cuts the last call although it was ended', '0:call#a 0+{} 0. 1:call#b 1+{"x 1. =max-tokens', 'call#a({})'],
  ['the output limit cuts a call right after its name', '0:call#a 0. =max-tokens', ''],
  ['the output limit spares a last call that is whole', '0:call#a 0+{"x":1} 0. =max-tokens', 'call#a({"x":1})'],
  ['the output limit spares an earlier call that was never valid', '0:call#a 0+{oops 0. 1+Then =max-tokens', 'call#a({oops) text(Then)'],
  ['the output limit keeps a text it cut', '0+Half =max-tokens', 'text(Half)'],
  ['a content filter cuts calls like an output limit', '0+Hi 1:call#a 1+{"x =content-filter', 'text(Hi)'],
  ['a cut call takes no id from another', '1:call#a 1+{} 1. 0:call#a 0+{"x =max-tokens', 'call#a({})'],
  ['an empty id becomes the first free one', '0:call 0. 1:call 1. 2:call#call_1 2. =tool-calls', 'call#call_1() call#call_2() call#call_1_2()'],
  ['a repeated id is numbered from two', '0:call#a 0. 1:call#a 1. 2:call#a 2. =tool-calls', 'call#a() call#a_2() call#a_3()'],
])('%s', (_name, picture, expected) => {
  expect(drawn(assembled(stream(picture)).content())).toBe(expected)
})

it.each([
  ['an end without a beginning', '0.', 'block 0 ends but never began'],
  ['a second beginning', '0:text 0:text', 'block 0 begins twice'],
  ['a delta of another kind', '0:text 0~hm', 'block 0 is text, but a chunk of it is reasoning'],
  ['a start of another kind than the deltas', '0+hi 0:call#a', 'block 0 is text, but a chunk of it is tool-call'],
  ['arguments of a call that never begins', '0-{} =stop', 'block 0 has the arguments of a call that never began'],
])('refuses %s', (_name, picture, message) => {
  expect(() => assembled(stream(picture)).content()).toThrow(message)
})

it('keeps a text without words that carries provider metadata', () => {
  const providerMetadata = { signature: 's' }
  const content = assembled([{ type: 'block-start', index: 0, block: { type: 'text' } }, { type: 'block-end', index: 0, providerMetadata }]).content()
  expect(content).toEqual([{ type: 'text', text: '', providerMetadata }])
})

it('believes the newest usage', () => {
  const usage = (outputTokens: number): StreamChunk => ({ type: 'usage', usage: { inputTokens: 1, outputTokens } })
  expect(assembled([usage(1), usage(7)]).usage).toEqual({ inputTokens: 1, outputTokens: 7 })
})

it('an id is unique against what is used, not against what looks alike', () => {
  expect(uniqueCallId('a', new Set(['A', 'b']))).toBe('a')
  expect(uniqueCallId('', new Set())).toBe('call_1')
  expect(uniqueCallId('a', new Set(['a', 'a_2']))).toBe('a_3')
})

it('refuses to stream a block that no model says', () => {
  const content: ContentBlock[] = [{ type: 'tool-result', toolCallId: 'a', content: [] }]
  expect(() => [...chunksOf({ content, finish: 'stop' })]).toThrow("a model's answer holds no tool-result block")
})
