import { textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { originalOf, textChars, viewOf } from '../src/view.ts'

const markerFor = (leftOut: number, seq: number) => `\n[… ${leftOut} characters left out here; event ${seq} of the session log holds the whole text …]\n`

/** Words, pairs, halves of pairs, and text that looks like a marker. */
const chars = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', ' ', '\n', '字') },
  fc.constantFrom('😀', '𝒳', '\ud83d', '\ude00', markerFor(3, 7)),
)
const text = fc.array(chars, { maxLength: 30 }).map(parts => parts.join(''))
const block = fc.oneof(
  { weight: 3, arbitrary: text.map((words): ContentBlock => ({ type: 'text', text: words })) },
  fc.constantFrom<ContentBlock>({ type: 'image', mediaType: 'image/png', data: 'AA==' }, { type: 'reasoning', text: 'a long thought' }, { type: 'audio' } as never),
)
const content = fc.array(block, { maxLength: 6 })
const size = fc.record({ headChars: fc.nat(20), tailChars: fc.nat(20) })
const others = (blocks: readonly ContentBlock[]) => blocks.filter(({ type }) => type !== 'text')

describe('a view', () => {
  it('keeps so many code points of either end, and says what is missing between them (5,000 random contents)', () => {
    fc.assert(fc.property(content, size, fc.nat(99), (blocks, { headChars, tailChars }, seq) => {
      const points = Array.from(blocks.map(part => (part.type === 'text' ? Array.from(part.text) : [])).flat())
      const view = viewOf(blocks, { headChars, tailChars }, seq)
      expect(textChars(blocks)).toBe(points.length)
      const leftOut = points.length - headChars - tailChars
      const expected = points.slice(0, headChars).join('') + markerFor(leftOut, seq) + points.slice(headChars + leftOut).join('')
      expect(view === null ? null : textOf(view)).toBe(leftOut <= 0 ? null : expected)
    }), { seed: 1, numRuns: 5_000 })
  })

  it('leaves every other block as it is, in order, between the text that stood around it', () => {
    fc.assert(fc.property(content, size, (blocks, bounds) => {
      const view = viewOf(blocks, bounds, 1)
      if (view === null) return
      expect(others(view)).toEqual(others(blocks))
      let at = 0
      for (const part of view) {
        const before = blocks.slice(at)
        const place = part.type === 'text' ? before.findIndex(old => old.type === 'text') : before.findIndex(old => old === part)
        expect(place).toBeGreaterThanOrEqual(0)
        at += part.type === 'text' ? 0 : place + 1
      }
    }), { seed: 2, numRuns: 2_000 })
  })

  it('keeps an image at its place in the middle of what is left out', () => {
    const image: ContentBlock = { type: 'image', mediaType: 'image/png', data: 'AA==' }
    const blocks: ContentBlock[] = [{ type: 'text', text: 'abcdef' }, image, { type: 'text', text: 'ghi' }, { type: 'text', text: 'jkl' }]
    expect(viewOf(blocks, { headChars: 2, tailChars: 1 }, 4)).toEqual([{ type: 'text', text: `ab${markerFor(9, 4)}` }, image, { type: 'text', text: 'l' }])
  })
})

describe('the original of an entry', () => {
  const rewrite = (session: Session, seq: number, blocks: readonly ContentBlock[]) => {
    const event = session.log.at(seq) as SessionEvent<'tool/result'>
    return session.append('tool/result', { ...event.data, content: blocks }, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] })
  }
  const withResult = (blocks: readonly ContentBlock[]) => {
    const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => 0 })
    return { session, result: session.append('tool/result', { turn: 1, step: 1, callId: 'a', content: blocks }, { surfaceOp: 'append' }) }
  }

  it('is what was appended, through views of it, in whatever order of sizes (2,000 random contents)', () => {
    fc.assert(fc.property(content, size, size, (blocks, first, second) => {
      const { session, result } = withResult(blocks)
      for (const bounds of [first, second]) {
        const view = viewOf(blocks, bounds, result.seq)
        if (view !== null) rewrite(session, session.surface.entries[0]!, view)
      }
      expect(originalOf(session.log, session.log.at(session.surface.entries[0]!) as typeof result)).toBe(session.log.at(result.seq))
    }), { seed: 3, numRuns: 2_000 })
  })

  it('is a rewrite that says something else: what somebody took out is not brought back', () => {
    const { session, result } = withResult([{ type: 'text', text: `${'x'.repeat(20)} password=1234 ${'y'.repeat(20)}` }])
    const redacted = rewrite(session, result.seq, [{ type: 'text', text: `${'x'.repeat(20)} password=**** ${'y'.repeat(20)}` }])
    expect(originalOf(session.log, redacted)).toBe(redacted)
    const view = rewrite(session, redacted.seq, viewOf(redacted.data.content, { headChars: 3, tailChars: 3 }, redacted.seq)!)
    expect(originalOf(session.log, view)).toBe(redacted)
  })

  it('is not what a forged marker claims', () => {
    const { session, result } = withResult([{ type: 'text', text: 'abcdefghij' }])
    const forged = rewrite(session, result.seq, [{ type: 'text', text: `zz${markerFor(6, result.seq)}ij` }])
    expect(originalOf(session.log, forged)).toBe(forged)
  })
})
