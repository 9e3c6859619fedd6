import fc from 'fast-check'
import { expect, it } from 'vitest'
import { clean, ends, fit, hang, oneLine, pad, visibleWidth, wrap } from '../src/text.ts'
import { RUNS, widths, words } from './words.ts'

it.each([
  ['colours and titles are taken out whole', '\u001b[1;31mred\u001b[0m \u001b]0;mine\u0007\u001b]8;;http://x\u001b\\link', 'red link'],
  ['a sequence that was cut off leaves nothing to act on', 'a\u001b[3', 'a'],
  ['the eight-bit forms as well', '\u009b2Ja\u009d0;t\u009cb', 'ab'],
  ['a progress bar shows what was written last', '10%\r50%\r100%\ndone', '100%\ndone'],
  ['Windows line ends are line ends', 'a\r\nb\r\n', 'a\nb\n'],
  ['tabs go to the next stop', 'a\tb\n\tc', 'a   b\n    c'],
  ['other controls are seen, not acted on', 'a\u0000b\u0008c', 'a�b�c'],
  ['what turns the direction of text is taken out', 'a\u202eb\u2066c', 'abc'],
  ['emoji keep their joiners', '👩‍💻', '👩‍💻'],
  ['half a character is no character', 'a\ud800b', 'a�b'],
])('%s', (_title, text, expected) => {
  expect(clean(text)).toBe(expected)
})

it('cleaned text holds nothing that a terminal acts on, and cleaning it again changes nothing', () => {
  fc.assert(fc.property(words, text => {
    const cleaned = clean(text)
    // oxlint-disable-next-line no-control-regex
    expect(cleaned).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    expect(cleaned.isWellFormed()).toBe(true)
    expect(clean(cleaned)).toBe(cleaned)
  }), RUNS)
})

it('no line that was made to fit is wider than it may be', () => {
  fc.assert(fc.property(words, words, widths, (one, other, width) => {
    for (const line of wrap(clean(one), width)) expect(visibleWidth(line)).toBeLessThanOrEqual(width)
    expect(visibleWidth(fit(oneLine(one), width))).toBeLessThanOrEqual(width)
    expect(visibleWidth(pad(oneLine(one), width))).toBe(width)
    expect(visibleWidth(ends(oneLine(one), oneLine(other), width))).toBeLessThanOrEqual(width)
  }), RUNS)
})

it('wrapping loses no word', () => {
  fc.assert(fc.property(words, widths, (text, width) => {
    const letters = (lines: string): string => lines.replace(/\s+/g, '')
    expect(letters(wrap(clean(text), width).join(''))).toBe(letters(clean(text)))
  }), RUNS)
})

it('hanging lines stand below the first', () => {
  expect(hang('› ', ['one', 'two'])).toEqual(['› one', '  two'])
})
