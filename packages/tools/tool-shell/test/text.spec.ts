import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedText } from '../src/bounded.ts'
import { PlainText } from '../src/plain.ts'

function plain(chunks: readonly string[]): string {
  const text = new PlainText()
  return chunks.map(chunk => text.push(chunk)).join('') + text.end()
}

/** `text` in pieces of the given lengths, over and over. */
function pieces(text: string, lengths: readonly number[]): string[] {
  const chunks: string[] = []
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length]!
    chunks.push(text.slice(at, at + length))
    at += length
  }
  return chunks
}

describe('plain text', () => {
  it.each([
    ['text as it is', 'a\tb\nc é 漢 👍\n', 'a\tb\nc é 漢 👍\n'],
    ['no colours', '\x1b[31mred\x1b[0m \x1b[38;5;12mblue\x1b[m\n', 'red blue\n'],
    ['no titles and links', '\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\\n', 'ab\n'],
    ['no cursor movement', 'a\x1b[2Kb\x1b[1A\x1b(Bc\x1b7\x1b8\n', 'abc\n'],
    ['the last state of a line', ' 10%\r 50%\r100%\ndone\n', '100%\ndone\n'],
    ['a line that ends in returns', 'a\r\nb\r\r\nc\r', 'a\nb\nc'],
    ['what backspaces left', 'abc\b\bd\n_\bu👍\b!\n', 'ad\nu!\n'],
    ['no other controls', 'a\x07b\x00c\x0cd\x7f\n', 'abcd\n'],
    ['no escape sequence that never ends', 'a\x1b[3', 'a'],
    ['what only looks like one', 'a\x1b\nb', 'a\nb'],
  ])('is %s', (_title, raw, expected) => {
    expect(plain([raw])).toBe(expected)
  })

  it('does not depend on where it is parted', () => {
    const part = fc.constantFrom('a', 'é', '👍', '\n', '\r', '\r\n', '\b', '\t', '\x1b', '\x1b[31m', '\x1b[0', 'm', '\x1b]0;t\x07', '\x1b(B', '\x07', ' ', '[', '0')
    fc.assert(fc.property(fc.array(part, { maxLength: 40 }), fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 }), (parts, lengths) => {
      const raw = parts.join('')
      expect(plain(pieces(raw, lengths))).toBe(plain([raw]))
    }), { seed: 3, numRuns: 3_000 })
  })

  it('passes on a line that is too long to wait for its end', () => {
    const text = new PlainText()
    const line = 'x'.repeat(50_000)
    expect(text.push(line)).toBe(line)
    expect(text.push('\ny') + text.end()).toBe('\ny')
  })
})

describe('bounded text', () => {
  const limits = fc.record({ headChars: fc.integer({ min: 1, max: 30 }), tailChars: fc.integer({ min: 1, max: 30 }) })
  const text = fc.array(fc.constantFrom('a', 'b', 'é', '漢', '👍', '\n'), { maxLength: 200, size: 'max' }).map(parts => parts.join(''))
  const lengths = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 })

  it('is head, what is omitted, and tail, and these are the whole', () => {
    let omitting = 0
    fc.assert(fc.property(limits, text, lengths, (bounds, whole, sizes) => {
      const bounded = new BoundedText(bounds)
      for (const chunk of pieces(whole, sizes)) bounded.push(chunk)
      const { head, tail, omitted } = bounded.parts()
      if (omitted === null) {
        expect(head + tail).toBe(whole)
        return
      }
      omitting += 1
      const middle = whole.slice(head.length, whole.length - tail.length)
      expect(head + middle + tail).toBe(whole)
      expect(omitted).toEqual({ chars: middle.length, lines: middle.split('\n').length - 1 })
      expect(head.length).toBeLessThanOrEqual(bounds.headChars)
      expect(tail.length).toBeLessThanOrEqual(bounds.tailChars)
      for (const part of [head, tail]) expect(part.isWellFormed()).toBe(true)
      expect(bounded.whole()).toBeNull()
    }), { seed: 4, numRuns: 3_000 })
    expect(omitting).toBeGreaterThan(500)
  })

  it('keeps whole lines where lines are short', () => {
    const bounded = new BoundedText({ headChars: 10, tailChars: 10 })
    for (let line = 1; line <= 9; line++) bounded.push(`line ${line}\n`)
    expect(bounded.parts()).toEqual({ head: 'line 1\n', tail: 'line 9\n', omitted: { chars: 49, lines: 7 } })
  })
})
