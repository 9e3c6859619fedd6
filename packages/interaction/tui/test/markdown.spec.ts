import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { markdownLines, piecesOf, type PieceCache } from '../src/markdown.ts'
import { clean, visibleWidth } from '../src/text.ts'
import { theme } from '../src/theme.ts'
import { RUNS, widths, words } from './words.ts'

const plain = theme({ color: false })

describe('a piece', () => {
  it.each([
    ['ends at a blank line', 'one\n\ntwo', ['one', 'two']],
    ['never ends inside a fence', '```\na\n\nb\n```\n\nc', ['```\na\n\nb\n```', 'c']],
    ['takes a longer fence to end a longer one', '````\n```\n\n```\n````\n\nc', ['````\n```\n\n```\n````', 'c']],
    ['goes on with its list', '- a\n\n- b\n\n  more of b\n\nc', ['- a\n\n- b\n\n  more of b', 'c']],
    ['may be a fence that is still open', 'a\n\n```ts\nconst b', ['a', '```ts\nconst b']],
    ['holds something', '\n\n  \n', []],
  ])('%s', (_title, text, pieces) => {
    expect(piecesOf(text)).toEqual(pieces)
  })
})

it('an answer looks the same however it grew', () => {
  fc.assert(fc.property(fc.array(words, { minLength: 1, maxLength: 8 }), widths, (deltas, width) => {
    const cache: PieceCache = new Map()
    let text = ''
    for (const delta of deltas) {
      text += delta
      expect(markdownLines(clean(text), width, plain, cache)).toEqual(markdownLines(clean(text), width, plain))
    }
  }), { ...RUNS, numRuns: 60 })
})

it('no line is wider than the screen', () => {
  fc.assert(fc.property(words, widths, (text, width) => {
    for (const line of markdownLines(clean(text), width, theme({ color: true }))) expect(visibleWidth(line)).toBeLessThanOrEqual(width)
  }), RUNS)
})
