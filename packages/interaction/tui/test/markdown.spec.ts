import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { markdownLines, partsOf, piecesOf, type PieceCache } from '../src/markdown.ts'
import { clean, plain as bare, visibleWidth } from '../src/text.ts'
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

describe('a long piece that grows', () => {
  const sentence = 'The **reader** drops the last `line` of it. '
  const LONG: readonly (readonly [string, string])[] = [
    ['lines', `${sentence}\n`.repeat(500)],
    ['a list', `- ${sentence}\n`.repeat(500)],
    ['a loose list', `- ${sentence}\n\n  And more.\n\n`.repeat(300)],
    ['a nested list', `- ${sentence}\n  - ${sentence}\n    more\n`.repeat(200)],
    ['a numbered list', Array.from({ length: 500 }, (_, item) => `${item + 1}. ${sentence}\n`).join('')],
    ['a list with fences', `- ${sentence}\n  \`\`\`\n  a\n  \`\`\`\n`.repeat(300)],
    ['quoted lines', `> ${sentence}\n`.repeat(500)],
  ]

  it.each(LONG)('looks like the whole: %s', (_name, text) => {
    expect(partsOf(text).length).toBeGreaterThan(2)
    expect(markdownLines(text.trim(), 80, plain, new Map()).map(bare)).toEqual(markdownLines(text.trim(), 80, plain).map(bare))
  })

  it.each<readonly [string, string]>([...LONG, ['words without an end', sentence.repeat(600)], ['no words', '请小心'.repeat(9_000)]])('is laid out in parts that stay: %s', (_name, text) => {
    const whole = partsOf(text)
    expect(whole.map(part => part.trimEnd()).join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
    for (const part of whole) expect(part.length).toBeLessThan(8_500)
    for (let length = 0; length < text.length; length += 977) {
      const [, ...ended] = partsOf(text.slice(0, length)).reverse()
      expect(ended.reverse()).toEqual(whole.slice(0, ended.length))
    }
  })

  it.each([['a fence', `\`\`\`\n${'const a = 1\n'.repeat(2_000)}`], ['a table', `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(2_000)}`]])('stays whole as %s', (_name, text) => {
    expect(partsOf(text)).toEqual([text])
  })
})
