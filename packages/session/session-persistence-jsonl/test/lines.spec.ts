import fc from 'fast-check'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { encodeEvent, encodeHeader, LogParser, type TornTail } from '../src/lines.ts'
import { event, events, header } from './folder.ts'

const HEADER = encodeHeader(header)
const log = (...lines: string[]): Buffer => Buffer.from(HEADER + lines.join(''))
const line = (seq: number): string => encodeEvent(event(seq))

function parse(bytes: Uint8Array, chunkBytes = bytes.length): { events: SessionEvent[]; torn: TornTail | null; goodBytes: number } {
  const parser = new LogParser('one.jsonl')
  const parsed: SessionEvent[] = []
  const reused = Buffer.alloc(chunkBytes) // as a reader does
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    const chunk = bytes.subarray(start, start + chunkBytes)
    reused.fill(0xff).set(chunk)
    parsed.push(...parser.push(reused.subarray(0, chunk.length)))
  }
  const torn = parser.end()
  expect(parser.header).toEqual(header)
  return { events: parsed, torn, goodBytes: parser.goodBytes }
}

describe('a log', () => {
  it('is the same however it is cut into chunks', () => {
    const bytes = log(...events(4).map(encodeEvent), encodeEvent(event(4, '中文 😀 \u2028 \n')), '{"seq":5')
    const whole = parse(bytes)
    expect(whole.events).toHaveLength(5)
    for (let chunkBytes = 1; chunkBytes < bytes.length; chunkBytes++) expect(parse(bytes, chunkBytes)).toEqual(whole)
  })

  it('comes back byte for byte, whatever its events hold', () => {
    const unknown = fc.record({ time: fc.integer(), type: fc.string({ minLength: 1 }), data: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), extra: fc.jsonValue() })
    fc.assert(fc.property(fc.array(unknown, { maxLength: 8 }), fc.integer({ min: 1, max: 64 }), (facts, chunkBytes) => {
      const bytes = log(...facts.map((fact, seq) => encodeEvent({ seq, ...fact } as unknown as SessionEvent)))
      const parsed = parse(bytes, chunkBytes)
      expect(parsed.torn).toBeNull()
      expect(log(...parsed.events.map(encodeEvent)).equals(bytes)).toBe(true)
    }), { seed: 1, numRuns: 500 })
  })

  it('costs at most 160 bytes an event beside its content', () => {
    const dear = { ...event(9_999_999), surfaceOp: { op: 'replace', start: 9_999_990, end: 9_999_998 } } as SessionEvent
    expect(encodeEvent(dear).length - JSON.stringify(dear.data).length).toBeLessThanOrEqual(160)
  })
})

describe('a torn end', () => {
  it('is found at every byte of the last line, and everything before it is kept', () => {
    const before = log(line(0), line(1))
    const last = Buffer.from(encodeEvent(event(2, 'é 中 😀')))
    for (let cut = 0; cut < last.length; cut++) {
      const parsed = parse(Buffer.concat([before, last.subarray(0, cut)]))
      expect(parsed.events).toEqual(events(2))
      expect(parsed.goodBytes).toBe(before.length)
      expect(parsed.torn).toEqual(cut === 0 ? null : { offsetBytes: before.length, lengthBytes: cut, line: 4, reason: 'it has no end' })
    }
  })

  it.each([
    ['a last line that is no JSON', '{"seq":1,"ti#e":\n', 'it is not JSON'],
    ['a last line that is empty', '\n', 'it is not JSON'],
    ['NUL bytes', '\0\0\0\0', 'it is filled with NUL bytes'],
    ['a line and a half of NUL bytes', '\0\0\n\0\0', 'it is filled with NUL bytes'],
    ['a line that ends in NUL bytes', '{"seq":1,"tim\0\0\0', 'it has no end'],
    ['a broken line with NUL bytes behind it', '{"seq":1,"tim\n\0\0\n\0', 'it is not JSON'],
  ])('may be %s', (_name, tail, reason) => {
    const before = log(line(0))
    for (const chunkBytes of [1, 7, 1_000]) {
      const { torn, goodBytes, ...parsed } = parse(Buffer.concat([before, Buffer.from(tail)]), chunkBytes)
      expect(parsed.events).toEqual(events(1))
      expect(goodBytes).toBe(before.length)
      expect(torn).toEqual({ offsetBytes: before.length, lengthBytes: tail.length, line: 3, reason })
    }
  })
})

describe('damage', () => {
  it.each([
    ['a broken line before the last', 'SESSION_DAMAGED', log(line(0), '{"seq":1,\n', line(2)), 'line 3: it is not JSON'],
    ['NUL bytes before the last line', 'SESSION_DAMAGED', log(line(0), '\0\0\n', line(1)), 'line 3: it is filled with NUL bytes'],
    ['a broken line before a torn one', 'SESSION_DAMAGED', log(line(0), 'x\n', '{"seq"'), 'line 3: it is not JSON'],
    ['bytes that are no text', 'SESSION_DAMAGED', Buffer.concat([log(line(0)), Buffer.from('{"\xff":1}\n', 'latin1'), Buffer.from(line(1))]), 'line 3: it is not UTF-8'],
    ['a missing event', 'SESSION_DAMAGED', log(line(0), line(2)), 'line 3: event 2 follows event 0: event 1 is missing. Nothing was changed. Restore'],
    ['missing events', 'SESSION_DAMAGED', log(line(0), line(4)), 'line 3: event 4 follows event 0: events 1 to 3 are missing'],
    ['a missing first event', 'SESSION_DAMAGED', log(line(1)), 'line 2: event 1 follows no event: event 0 is missing'],
    ['a doubled event', 'SESSION_DAMAGED', log(line(0), line(0)), 'line 3: event 0 follows event 0: it is doubled or out of order'],
    ['events that changed places', 'SESSION_DAMAGED', log(line(0), line(1), line(2), line(1)), 'line 5: event 1 follows event 2: it is doubled or out of order'],
    ['an event without a number', 'SESSION_DAMAGED', log(line(0), '{"seq":"1","time":1,"type":"x","data":{}}\n'), 'line 3: an event numbered "1" follows event 0'],
    ['a value that is no event', 'SESSION_DAMAGED', log('[]\n'), 'line 2: it is not an event'],
    ['an event without a time', 'SESSION_DAMAGED', log('{"seq":0,"type":"x","data":{}}\n'), 'line 2: event 0 has no time'],
    ['an event without a type', 'SESSION_DAMAGED', log('{"seq":0,"time":1,"data":{}}\n'), 'line 2: event 0 has no type'],
    ['an event without data', 'SESSION_DAMAGED', log('{"seq":0,"time":1,"type":"x"}\n'), 'line 2: event 0 (x) has no data'],
    ['a surfaceOp that is none', 'SESSION_DAMAGED', log('{"seq":0,"time":1,"type":"x","data":{},"surfaceOp":{"op":"replace","start":-1,"end":0}}\n'), 'line 2: event 0 (x) has the surfaceOp {"op":"replace","start":-1,"end":0}'],
    ['sources that are no seqs', 'SESSION_DAMAGED', log('{"seq":0,"time":1,"type":"x","data":{},"sourceEventSeqs":["1"]}\n'), 'line 2: event 0 (x) has sourceEventSeqs that are no seqs'],
    ['an empty file', 'SESSION_DAMAGED', Buffer.alloc(0), 'line 1: the session header is missing or incomplete'],
    ['a header cut short', 'SESSION_DAMAGED', Buffer.from(HEADER.slice(0, 30)), 'line 1: the session header is missing or incomplete'],
    ['a header without an id', 'SESSION_DAMAGED', Buffer.from('{"type":"session","version":1,"createdAt":1}\n'), 'line 1: the session header has no id'],
    ['a newer format', 'SESSION_VERSION', Buffer.from(HEADER.replace('"version":1', '"version":2')), 'line 1: it is in format 2, and this version reads format 1. Nothing was changed. Update'],
    ['a session of another program', 'SESSION_FOREIGN', Buffer.from('{"type":"session","version":3,"id":"x","timestamp":"2025"}\n'), 'line 1: it does not begin with a session header'],
    ['a text', 'SESSION_FOREIGN', Buffer.from('# Notes\n'), 'line 1: it is not JSON'],
    ['one long line of JSON', 'SESSION_FOREIGN', Buffer.from(`{"messages":["${'x'.repeat(3_000_000)}`), 'line 1: its first line is too long'],
    ['one short line without an end', 'SESSION_FOREIGN', Buffer.from('{"messages":[]}'), 'line 1: it does not begin with a session header'],
  ])('is refused with its line: %s', (_name, code, bytes, message) => {
    for (const chunkBytes of [13, 1 << 20]) {
      expect(() => parse(bytes, chunkBytes)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(`one.jsonl: ${message}`) }))
    }
  })
})
