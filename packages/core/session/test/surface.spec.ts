import { describe, expect, it } from 'vitest'
import { InvalidEventError, type Seq, Session, type SessionEvent, type SurfacePlacement } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { sessionOf, TIME } from './notation.ts'

/** The surface of a drawing, in the notation of its second half: seqs in surface order. */
const surfaceOf = (drawing: string): string => sessionOf(drawing).surface.entries.join(' ')

describe('a replace', () => {
  it.each([
    ['puts one entry in the place of a span', 'u u u u u[1..2]', '0 4 3'],
    ['reaches the head', 'u u u u[0..1]', '3 2'],
    ['reaches the tail', 'u u u u[1..2]', '0 3'],
    ['takes the whole surface', 'u u u u[0..2]', '3'],
    ['rewrites one entry in place', 'u u u u[1..1]', '0 3 2'],
    ['replaces what replaced', 'u u u u[0..1] u[3..2]', '4'],
    ['starts at a larger seq than it ends at', 'u u u u[0..0] u[3..1]', '4 2'],
    ['shadows what was rewritten, wherever that stands', 'u u u u[1..1] u[0..3]', '4 2'],
    ['is followed by appends at the end', 'u u u[0..0] u', '2 1 3'],
    ['may be any surface type', 'u a(x) x= a[0..1] x=[2..2]', '3 4'],
    ['counts entries, not events', 'T1 u S1 H a s1 u[1..1] t1', '6 4'],
  ])('%s', (_name, drawing, entries) => {
    const session = sessionOf(drawing)
    expect(session.surface.entries.join(' ')).toBe(entries)
    expect(session.surface.replaceGeneration).toBe(drawing.split('[').length - 1)
    expectReplays(session)
  })

  it('leaves every event in the log, as it was', () => {
    const before = [...sessionOf('u u u').log.from(0)]
    const after = sessionOf('u u u u[0..2]')
    expect([...after.log.from(0)].slice(0, 3)).toEqual(before)
    expect(after.surface.positionOf(1)).toBeUndefined()
  })
})

it('an event that the model does not see leaves the surface alone', () => {
  expect(surfaceOf('T1 S1 H x! s1 t1 E')).toBe('')
  expect(surfaceOf('u T1 S1 a H s1 t1 E')).toBe('0 3')
})

describe('on every surface that seven appends and replaces can make', () => {
  it('entries, positions and generation are what plain arrays say', () => {
    let checked = 0
    for (const { drawing, entries, generation } of everySurface(7)) {
      const { surface } = sessionOf(drawing)
      expect(surface.entries).toEqual(entries)
      expect(surface.replaceGeneration).toBe(generation)
      for (let seq = 0; seq < 8; seq++) {
        const position = entries.indexOf(seq)
        expect(surface.positionOf(seq)).toBe(position < 0 ? undefined : position)
      }
      checked += 1
    }
    expect(checked).toBeGreaterThan(3_000)
  })

  it('a span is accepted exactly if both ends are entries and start is not behind end', () => {
    let accepted = 0
    let refused = 0
    for (const { drawing, entries } of everySurface(5)) {
      const last = drawing.split(' ').length
      for (let start = -1; start <= last; start++) {
        for (let end = -1; end <= last; end++) {
          const session = sessionOf(drawing)
          const [from, to] = [entries.indexOf(start), entries.indexOf(end)]
          const replace = () => say(session, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [...entries] })
          if (from >= 0 && to >= from) {
            replace()
            expect(session.surface.entries).toEqual(entries.toSpliced(from, to - from + 1, last))
            accepted += 1
          } else {
            expect(replace).toThrow(InvalidEventError)
            expect(session.surface.entries).toEqual(entries)
            refused += 1
          }
        }
      }
    }
    expect(accepted).toBeGreaterThan(200)
    expect(refused).toBeGreaterThan(1_000)
  })
})

describe('what is refused names type, seq and value, and changes nothing', () => {
  const replace = (start: Seq, end: Seq, sourceEventSeqs?: readonly unknown[]): SurfacePlacement =>
    ({ surfaceOp: { op: 'replace', start, end }, ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs: sourceEventSeqs as Seq[] }) })

  it.each<[string, string, unknown, string]>([
    ['no placement', 'u', undefined, "surfaceOp must be 'append' or {op: 'replace', start, end}, not undefined"],
    ['an unknown word', 'u', { surfaceOp: 'prepend' }, 'not "prepend"'],
    ['null', 'u', { surfaceOp: null }, 'not null'],
    ['an unknown operation', 'u', { surfaceOp: { op: 'remove', start: 0, end: 0 } }, 'not {"op":"remove","start":0,"end":0}'],
    ['a start that was never there', 'u', replace(7, 0, [0]), 'start 7 is no current entry'],
    ['a start that was shadowed', 'u u[0..0]', replace(0, 1, [0, 1]), 'start 0 is no current entry'],
    ['a start the model never saw', 'u T1', replace(1, 0, [0]), 'start 1 is no current entry'],
    ['a start that is no seq', 'u', replace('0' as never, 0, [0]), 'start "0" is no current entry'],
    ['an end that was never there', 'u', replace(0, 9, [0]), 'end 9 is no current entry'],
    ['its own seq', 'u', replace(0, 1, [0]), 'end 1 is no current entry'],
    ['a start behind its end', 'u u', replace(1, 0, [0, 1]), 'start 1 at position 1 stands behind end 0 at position 0'],
    ['a start behind its end, the smaller number', 'u u u[0..0]', replace(1, 2, [1, 2]), 'start 1 at position 1 stands behind end 2 at position 0'],
    ['no sources', 'u', replace(0, 0), 'must list every shadowed seq, and 0 is missing'],
    ['a source too few', 'u u u', replace(0, 2, [0, 2]), 'must list every shadowed seq, and 1 is missing'],
    ['a source twice', 'u u', replace(0, 1, [0, 1, 1]), 'sourceEventSeqs holds 1 twice'],
    ['itself as a source', 'u', replace(0, 0, [0, 1]), 'sourceEventSeqs holds 1, which is no earlier seq'],
    ['a negative source', 'u', replace(0, 0, [-1, 0]), 'sourceEventSeqs holds -1, which is no earlier seq'],
    ['half a source', 'u', replace(0, 0, [0, 0.5]), 'sourceEventSeqs holds 0.5, which is no earlier seq'],
    ['a source that is a text', 'u', replace(0, 0, ['0']), 'sourceEventSeqs holds "0", which is no earlier seq'],
    ['sources that are no list', 'u', { surfaceOp: 'append', sourceEventSeqs: 3 }, 'must be a list of seqs, not 3'],
    ['sources that are null', 'u', { surfaceOp: 'append', sourceEventSeqs: null }, 'must be a list of seqs, not null'],
    ['a later source of an append', 'u', { surfaceOp: 'append', sourceEventSeqs: [4] }, 'sourceEventSeqs holds 4, which is no earlier seq'],
  ])('%s', (_name, drawing, placement, text) => {
    const session = sessionOf(drawing)
    const before = pictureOf(session)
    const seq = session.log.length
    expect(() => say(session, placement as SurfacePlacement)).toThrow(expect.objectContaining({ name: 'InvalidEventError', type: 'user/message', seq }))
    expect(() => say(session, placement as SurfacePlacement)).toThrow(`event ${seq} (user/message) is refused: `)
    expect(() => say(session, placement as SurfacePlacement)).toThrow(text)
    expect(pictureOf(session)).toEqual(before)
  })

  it.each<[string, object, string]>([
    ['surfaceOp', { surfaceOp: 'append' }, 'it carries surfaceOp "append", and only user/message, assistant/message and tool/result may'],
    ['sourceEventSeqs', { sourceEventSeqs: [0] }, 'it carries sourceEventSeqs [0], and only'],
  ])('%s of an event that the model does not see', (_name, placement, text) => {
    const session = sessionOf('u')
    const append = session.append.bind(session) as (type: string, data: object, surface: object) => SessionEvent
    expect(() => append('turn/start', { turn: 1 }, placement)).toThrow(`event 1 (turn/start) is refused: ${text}`)
    expect(session.log.length).toBe(1)
  })

  it('but earlier sources beyond the shadowed are welcome, of an append too', () => {
    const session = sessionOf('u T1 u')
    say(session, replace(2, 2, [1, 2, 0]))
    say(session, { surfaceOp: 'append', sourceEventSeqs: [1, 3] })
    expect(session.surface.entries).toEqual([0, 3, 4])
    expect(session.log.at(3).sourceEventSeqs).toEqual([1, 2, 0])
  })
})

describe('a rewritten tool/result', () => {
  const meta = { exitCode: 1, files: { b: 2, a: 1 } }
  const data = { turn: 1, step: 1, callId: 'x', content: [{ type: 'text', text: 'long' }], isError: true, error: { name: 'E', code: 'C' }, meta } as const
  const rewrite = (changed: object, start = 2, end = 2): Session => {
    const session = sessionOf('u a(x)')
    session.append('tool/result', data, { surfaceOp: 'append' })
    session.append('tool/result', { ...data, ...changed }, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [0, 1, 2] })
    return session
  }

  it('may have other content, and its keys in another order', () => {
    const session = rewrite({ meta: { files: { a: 1, b: 2 }, exitCode: 1 }, content: [] })
    expect(session.surface.entries).toEqual([0, 1, 3])
    expectReplays(session)
  })

  it.each<[object, string]>([
    [{ callId: 'y' }, 'callId is "y", not "x"'],
    [{ turn: 2 }, 'turn is 2, not 1'],
    [{ step: 2 }, 'step is 2, not 1'],
    [{ error: { name: 'E', code: 'D' } }, 'error is {"name":"E","code":"D"}, not {"name":"E","code":"C"}'],
    [{ meta: { exitCode: 1, files: { a: 2, b: 2 } } }, 'meta is {"exitCode":1,"files":{"a":2,"b":2}}, not'],
    [{ note: 'added' }, 'note is "added", not undefined'],
  ])('keeps all else: %j', (changed, text) => {
    expect(() => rewrite(changed)).toThrow(`event 3 (tool/result) is refused: only the content of a rewritten tool/result may differ from 2: ${text}`)
  })

  it('may not lose a field', () => {
    const session = sessionOf('u a(x)')
    session.append('tool/result', data, { surfaceOp: 'append' })
    const { isError: _, ...others } = data
    expect(() => session.append('tool/result', others, { surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [2] }))
      .toThrow('isError is undefined, not true')
  })

  it('stands for one result only', () => {
    expect(() => rewrite({}, 1, 2)).toThrow('a tool/result may replace one tool/result only, not 2 entries')
    expect(() => rewrite({}, 1, 1)).toThrow('a tool/result may replace only a tool/result, and 1 is assistant/message')
  })
})

function say(session: Session, placement: SurfacePlacement): void {
  session.append('user/message', { content: [], source: { kind: 'user' } }, placement)
}

function pictureOf(session: Session): unknown {
  return structuredClone({ log: [...session.log.from(0)], entries: session.surface.entries, generation: session.surface.replaceGeneration, messages: session.deriveMessages() })
}

interface SmallSurface {
  readonly drawing: string
  readonly entries: readonly Seq[]
  readonly generation: number
}

/** Every drawing of up to `length` appends and replaces, with what plain arrays make of it. */
function* everySurface(length: number, { drawing, entries, generation }: SmallSurface = { drawing: '', entries: [], generation: 0 }): Generator<SmallSurface> {
  const words = drawing === '' ? [] : drawing.split(' ')
  if (words.length > 0) yield { drawing, entries, generation }
  if (words.length === length) return
  const seq = words.length
  yield* everySurface(length, { drawing: [...words, 'u'].join(' '), entries: [...entries, seq], generation })
  for (let from = 0; from < entries.length; from++) {
    for (let to = from; to < entries.length; to++) {
      yield* everySurface(length, {
        drawing: [...words, `u[${entries[from]}..${entries[to]}]`].join(' '),
        entries: entries.toSpliced(from, to - from + 1, seq),
        generation: generation + 1,
      })
    }
  }
}

it('positions stay right on long surfaces, whichever part is replaced', () => {
  const session = new Session({ header: { id: 'long', createdAt: TIME } })
  for (let count = 0; count < 1_000; count++) say(session, { surfaceOp: 'append' })
  let entries = [...session.surface.entries]
  for (const [from, to] of [[0, 899], [0, 0], [40, 60], [10, 10], [0, 5], [70, 71], [1, 60], [0, 3]] as const) {
    const [start, end] = [entries[from]!, entries[to]!]
    const seq = session.log.length
    say(session, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: entries.slice(from, to + 1) })
    entries = entries.toSpliced(from, to - from + 1, seq)
    expect(session.surface.entries).toEqual(entries)
    expect(entries.map(entry => session.surface.positionOf(entry))).toEqual([...entries.keys()])
  }
})
