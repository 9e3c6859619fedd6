import { expect, it } from 'vitest'
import { Session, turnFold, type SessionEvent, type SurfaceChange } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'

const header = { id: 's', createdAt: 0 }
const message = { content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } } as const

it('is asked of every event with what it would do to the surface, before anybody has it', () => {
  const asked: { readonly event: SessionEvent; readonly change: SurfaceChange | null }[] = []
  const taken: SessionEvent[] = []
  const session: Session = new Session({
    header,
    sink: { append: event => void taken.push(event), flush: async () => {} },
    guard: (event, change, judged) => {
      expect(judged).toBe(session)
      expect([event.seq, judged.log.length, taken.length]).toEqual([event.seq, event.seq, event.seq])
      asked.push({ event, change })
    },
  })
  session.append('user/message', message, { surfaceOp: 'append' })
  session.append('turn/start', { turn: 1 })
  session.append('user/message', message, { surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] })
  expect(asked.map(({ event }) => event)).toEqual([...session.log.from(0)])
  expect(asked.map(({ change }) => change)).toEqual([{ at: 0, removed: [] }, null, { at: 0, removed: [0] }])
})

it('leaves no trace of what it refuses, and the next event takes its number', () => {
  const refusal = new Error('no')
  const taken: string[] = []
  const told: string[] = []
  let refuses = false
  const session = new Session({
    header,
    sink: { append: ({ type }) => void taken.push(type), flush: async () => {} },
    observer: { event: ({ type }) => void told.push(type), flushed() {} },
    guard: () => {
      if (refuses) throw refusal
    },
  })
  session.append('user/message', message, { surfaceOp: 'append' })
  const before = JSON.stringify([[...session.log.from(0)], session.surface.entries, session.deriveMessages(), session.read(turnFold), taken, told])
  refuses = true
  expect(() => session.append('turn/start', { turn: 1 })).toThrow(refusal)
  expect(() => session.append('user/message', message, { surfaceOp: 'append' })).toThrow(refusal)
  expect(() => session.append('user/message', message, { surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] })).toThrow(refusal)
  const after = JSON.stringify([[...session.log.from(0)], session.surface.entries, session.deriveMessages(), session.read(turnFold), taken, told])
  expect(after).toBe(before)
  refuses = false
  expect(session.append('turn/start', { turn: 1 }).seq).toBe(1)
  expectReplays(session)
})

it('is not asked of what a session inherits', () => {
  const seed = [...new Session({ header, seed: [] }).log.from(0)]
  const session = new Session({ header, seed, guard: () => { throw new Error('no') } })
  expect(session.log.length).toBe(2)
  expect(() => session.append('turn/start', { turn: 1 })).toThrow('no')
})
