import { describe, expect, it } from 'vitest'
import { EventLog, latestHeader, Session, type EventLogInit, type Fold, type SessionEvent } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { followingFold } from './model.ts'
import { draw, TIME } from './notation.ts'

const header = { id: 'one', createdAt: TIME }

/** A session over stored lines that tells what is read back of them, and lets its log keep what it must. */
function storedSession(init: Omit<EventLogInit, 'source'> = {}): { session: Session; reads: (number | 'all')[]; lines: string[] } {
  const lines: string[] = []
  const reads: (number | 'all')[] = []
  const source = {
    at(seq: number) {
      reads.push(seq)
      return JSON.parse(lines[seq]!) as SessionEvent
    },
    * read(from = 0) {
      reads.push('all')
      for (const line of lines.slice(from)) yield JSON.parse(line) as SessionEvent
    },
  }
  const session = new Session({
    header,
    log: new EventLog({ source, recentEvents: 2, ...init }),
    now: () => TIME,
    sink: { append: event => void lines.push(JSON.stringify(event)), flush: async () => {} },
  })
  return { session, reads, lines }
}

const countFold = (): Fold<number> => ({ init: () => 0, apply: count => count + 1 })

describe('a log over a source', () => {
  it('keeps current entries and what is recent, and reads back the rest when asked', () => {
    const { session, reads } = storedSession()
    draw(session, 'T1 u S1 a(x) x! x= s1 t1 T2 u t2')
    for (const seq of session.surface.entries) session.log.at(seq)
    for (const seq of [9, 10]) session.log.at(seq)
    expect(reads).toEqual([])
    expect([0, 2, 4].map(seq => session.log.at(seq).type)).toEqual(['turn/start', 'step/start', 'tool/call'])
    expect(reads).toEqual([0, 2, 4])
    draw(session, 'u[1..5] T3 t3')
    expect(session.log.at(1)).toMatchObject({ seq: 1, type: 'user/message', data: { content: [{ type: 'text', text: 'u 1' }] } })
    expect(reads).toEqual([0, 2, 4, 1])
  })

  it('hands out the same frozen object for a current entry, and an equal one for what was read back', () => {
    const { session } = storedSession()
    draw(session, 'u T1 u t1 T2 t2 T3 t3')
    expect(session.log.at(0)).toBe(session.log.at(0))
    expect([...session.log.from(0)][0]).toBe(session.log.at(0))
    expect(session.log.at(1)).not.toBe(session.log.at(1))
    expect(session.log.at(1)).toEqual({ seq: 1, time: TIME, type: 'turn/start', data: { turn: 1 } })
    expect(Object.isFrozen(session.log.at(1).data)).toBe(true)
  })

  it('lets a fold that was read before see every event as it passes, and one read late in a single pass', () => {
    const [known, early, late] = [countFold(), countFold(), countFold()]
    const { session, reads } = storedSession()
    session.deriveMessages()
    expect(session.read(known)).toBe(0)
    draw(session, 'T1 u')
    expect(session.read(early)).toBe(2)
    draw(session, 'S1 a(x) x! x= s1 t1 T2 u t2 u[1..3] T3 u t3')
    for (const fold of [known, early]) expect(session.read(fold)).toBe(15)
    session.deriveMessages()
    expect(reads).toEqual([])
    expect(session.read(late)).toBe(15)
    expect(session.read(followingFold).entries).toEqual(session.surface.entries)
    expect(reads).toEqual(['all', 'all'])
    draw(session, 'T4 t4 T5 t5')
    for (const fold of [known, early, late]) expect(session.read(fold)).toBe(19)
    expect(reads).toEqual(['all', 'all'])
    expectReplays(session)
  })

  it('reads from any place to the end as it is then, in one pass', () => {
    const { session, reads } = storedSession()
    draw(session, 'T1 u t1 T2 u t2 T3 t3')
    for (let seq = 0; seq <= session.log.length; seq++) {
      expect([...session.log.from(seq)].map(event => event.seq)).toEqual([...Array(session.log.length - seq).keys()].map(index => seq + index))
    }
    expect(reads.filter(read => read !== 'all')).toEqual([])
    const seen: number[] = []
    for (const { seq } of session.log.from(0)) {
      seen.push(seq)
      if (seq === 3) draw(session, 'T4 t4 T5 t5')
    }
    expect(seen).toEqual([...Array(12).keys()])
  })

  it('names what it has not', () => {
    const { session } = storedSession()
    draw(session, 'T1 t1 T2 t2 T3 t3')
    for (const seq of [-1, 6, 0.5, Number.NaN]) expect(() => session.log.at(seq)).toThrow(new RangeError(`no event ${seq}: the log has 6 events, numbered from 0`))
    expect(() => [...session.log.from(-1)]).toThrow(RangeError)
  })

  it('tells of a fold that breaks its law whoever reads it, every time, and nobody who appends', () => {
    const { session } = storedSession()
    const broken: Fold<number> = {
      init: () => 0,
      apply(count, event) {
        if (event.seq === 3) throw new Error('a bug')
        return count + 1
      },
    }
    expect(session.read(broken)).toBe(0)
    draw(session, 'T1 t1 T2 t2 T3 t3 T4 t4')
    for (let attempt = 0; attempt < 2; attempt++) expect(() => session.read(broken)).toThrow('a bug')
    expect(session.log.length).toBe(8)
  })

  it('never goes back for what a live session asks at every step', () => {
    const { session, reads } = storedSession({ recentEvents: 256 })
    draw(session, 'T1 H')
    for (let step = 1; step <= 500; step++) {
      draw(session, `S${step}@1.${step} a(x)@1.${step} x!@1.${step} x=@1.${step} s${step}@1.${step}`)
      session.deriveMessages()
      latestHeader(session)
    }
    expect(session.log.length).toBe(2_502)
    expect(reads).toEqual([])
  })
})
