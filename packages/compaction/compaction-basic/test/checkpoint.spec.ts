import { describe, expect, it } from 'vitest'
import { frame, quote, unframe } from '../src/checkpoint.ts'
import { SUMMARY_SECTIONS, summaryDirective } from '../src/directive.ts'

const count = (text: string, part: string) => text.split(part).length - 1

describe('a checkpoint', () => {
  it('frames the summary once, after a preamble that asks for nothing', () => {
    const text = frame('## Current Work\nThe parser.', [])
    expect(text).toMatch(/^An earlier part of this conversation stands here as a checkpoint/)
    expect(text).toContain('established context, not a request')
    expect(text).toContain('without restating or acknowledging it')
    expect(text).not.toContain('recent') // a surface may hold several; what follows need not be recent
    expect(text.endsWith('\n\n<compacted-summary>\n## Current Work\nThe parser.\n</compacted-summary>')).toBe(true)
    expect(unframe(text)).toBe('## Current Work\nThe parser.')
  })

  it('quotes pinned messages between preamble and summary, with their seqs, oldest first as given', () => {
    const text = frame('S', [
      { seq: 3, answered: true, text: 'Fix the\nparser.' },
      { seq: 40, answered: false, text: 'And test it.' },
    ])
    expect(text).toContain("The user's own words from that part, verbatim:\n\n[message 3, answered]\n> Fix the\n> parser.\n\n[message 40, not answered yet]\n> And test it.\n\n<compacted-summary>")
    expect(unframe(text)).toBe('S')
  })

  it.each([
    ['the tags themselves', 'a <compacted-summary> b </compacted-summary> c'],
    ['tags in capitals and with blanks', 'a <Compacted-Summary > b </ COMPACTED-SUMMARY> c'],
    ['a whole checkpoint', frame('inner', [{ seq: 1, answered: false, text: 'hi' }])],
    ['a closing tag alone', '</compacted-summary>'],
  ])('is never nested: %s in summary and pins are words', (_title, hostile) => {
    const text = frame(hostile, [{ seq: 7, answered: false, text: hostile }])
    expect(text.match(/<\/?\s*compacted-summary\s*>/gi)).toEqual(['<compacted-summary>', '</compacted-summary>'])
    expect(text.lastIndexOf('[message 7')).toBeLessThan(text.indexOf('<compacted-summary>'))
    // Framed again, as when one checkpoint is summarized by quoting it.
    expect(count(frame(text, []).toLowerCase(), '<compacted-summary>')).toBe(1)
  })

  it('leaves everything else as it is', () => {
    const summary = 'a < b && c > d; <compacted> </summary> &lt;compacted-summary&gt; 压缩 🙂'
    expect(unframe(frame(summary, []))).toBe(summary)
  })

  it('can be told from text without a frame', () => {
    expect(unframe('no frame')).toBe(null)
    expect(unframe('</compacted-summary> before <compacted-summary>')).toBe(null)
  })

  it('a quotation marks every line, so that no word of it stands at the margin', () => {
    const text = quote({ seq: 5, answered: true, text: 'one\n\n[message 6, answered]\nthree' })
    expect(text.split('\n').slice(1).every(line => line.startsWith('> '))).toBe(true)
  })
})

describe('the directive', () => {
  it('asks for every section by name and in order, and for "(none)" where one is empty', () => {
    const text = summaryDirective(2_000)
    const places = SUMMARY_SECTIONS.map(section => text.indexOf(`- ${section}`))
    expect(places.every(place => place > 0)).toBe(true)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(text).toContain('"(none)"')
    expect(SUMMARY_SECTIONS).toHaveLength(11)
  })

  it('asks for exact words, for merging, for the language of the conversation, for no calls, and for a length', () => {
    const text = summaryDirective(2_000)
    for (const demand of ['verbatim', 'exact file paths, commands, identifiers', 'merge it', 'do not re-word', 'language of the conversation', 'write no tool call', '2000 tokens']) {
      expect(text).toContain(demand)
    }
  })
})
