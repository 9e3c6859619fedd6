import { Session, sessionInvariant, turnFold, type EventSink, type Invariant, type SessionEvent, type SessionGuard } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { guardOf, InvariantViolationError } from '../src/index.ts'

const never = (): never => expect.unreachable('nothing is reported')

function judged(guard: SessionGuard, init: { readonly sink?: EventSink; readonly seed?: Iterable<SessionEvent> } = {}): Session {
  return new Session({ header: { id: 's', createdAt: 0 }, guard, ...init })
}

const say = (session: Session, text: string) =>
  session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' })

/** Objects to messages after the second, by counting them. */
const twoMessages: Invariant<{ messages: number }> = {
  name: 'two-messages',
  init: () => ({ messages: 0 }),
  apply(state, { type }) {
    if (type === 'user/message') state.messages += 1
    return state
  },
  violations: ({ messages }, { type }) => (type === 'user/message' && messages >= 2 ? [`${messages} messages are enough`] : []),
}

describe('a veto', () => {
  it('throws what is wrong with which event, by which invariant', () => {
    const session = judged(guardOf([sessionInvariant, twoMessages], never))
    for (const text of ['one', 'two']) say(session, text)
    const error = (() => {
      try {
        return say(session, 'three')
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toBeInstanceOf(InvariantViolationError)
    expect(error).toMatchObject({
      message: 'event 2 (user/message) of session s violates an invariant: 2 messages are enough (two-messages)',
      violations: [{ seq: 2, invariant: 'two-messages', message: '2 messages are enough' }],
    })
  })

  it('names every objection of every invariant', () => {
    const session = judged(guardOf([sessionInvariant, { ...twoMessages, name: 'strict', violations: () => ['no', 'never'] }], never))
    expect(() => session.append('step/start', { turn: 1, step: 1 })).toThrow(
      'violates an invariant: step 1 starts outside any turn (session); no (strict); never (strict)',
    )
  })

  it('leaves no trace: log, surface, messages, folds, sink and observer are as they were', () => {
    const taken: string[] = []
    const told: string[] = []
    const session: Session = new Session({
      header: { id: 's', createdAt: 0 },
      guard: guardOf([sessionInvariant, twoMessages], never),
      sink: { append: ({ type }) => void taken.push(type), flush: async () => {} },
      observer: { event: ({ type }) => void told.push(type), flushed() {} },
    })
    for (const text of ['one', 'two']) say(session, text)
    const everything = () => JSON.stringify([
      [...session.log.from(0)], session.surface.entries, session.surface.replaceGeneration, session.deriveMessages(),
      [...session.folds()].map(fold => session.read(fold)), session.read(turnFold), taken, told,
    ])
    everything() // every fold has been read once
    const before = everything()
    expect(() => say(session, 'three')).toThrow(InvariantViolationError)
    expect(() => session.append('step/start', { turn: 1, step: 1 })).toThrow(InvariantViolationError)
    expect(() => session.append('user/message', { content: [], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs: [0, 1] })).toThrow(
      InvariantViolationError,
    )
    expect(everything()).toBe(before)
    expect(session.append('turn/start', { turn: 1 }).seq).toBe(2)
    expectReplays(session)
  })

  it('never meets an event that a log refuses anyway, or that is inherited', () => {
    const seen: string[] = []
    const guard = guardOf([{ ...twoMessages, violations: (_state, { type }) => (seen.push(type), []) }], never)
    const session = judged(guard)
    expect(() => session.append('user/message', { content: [], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: 4, end: 4 } })).toThrow('is refused')
    expect(seen).toEqual([])
    say(session, 'one')
    judged(guard, { seed: session.log.from(0) })
    expect(seen).toEqual(['user/message'])
  })
})

describe('what an invariant knows', () => {
  it('is the whole log, also what it was not there to see', () => {
    const invariants: Invariant<unknown>[] = []
    const session = judged(guardOf(invariants, never))
    for (const text of ['one', 'two']) say(session, text)
    invariants.push(twoMessages)
    expect(() => say(session, 'three')).toThrow('2 messages are enough')
    invariants.pop()
    say(session, 'three')
    invariants.push(twoMessages)
    expect(() => say(session, 'four')).toThrow('3 messages are enough')
  })

  it('includes what a session inherits', () => {
    const earlier = judged(() => {})
    for (const text of ['one', 'two']) say(earlier, text)
    expect(() => say(judged(guardOf([twoMessages], never), { seed: earlier.log.from(0) }), 'three')).toThrow('2 messages are enough')
  })

  it('is kept apart for each session', () => {
    const guard = guardOf([twoMessages], never)
    for (const session of [judged(guard), judged(guard)]) for (const text of ['one', 'two']) say(session, text)
  })
})

describe('what closes a step or a turn', () => {
  it('is reported, and goes through', () => {
    const reported: string[] = []
    const session = judged(guardOf([sessionInvariant], ({ message }) => void reported.push(message)))
    session.append('turn/start', { turn: 1 })
    session.append('step/end', { turn: 1, step: 1 })
    session.append('turn/end', { turn: 2, reason: 'completed' })
    expect(session.log.length).toBe(3)
    expect(reported).toEqual([
      'event 1 (step/end) of session s violates an invariant: step/end of step 1.1 stands outside any step (session)',
      'event 2 (turn/end) of session s violates an invariant: turn 2 where turn 1 is due (session)',
    ])
    expectReplays(session)
  })

  it('goes through also where the check itself fails', () => {
    const broken: Invariant<null> = { name: 'broken', init: () => null, apply: state => state, violations: () => { throw new Error('oops') } }
    const reported: string[] = []
    const session = judged(guardOf([broken], ({ message }) => void reported.push(message)))
    session.append('turn/end', { turn: 1, reason: 'completed' })
    expect(reported).toEqual(['event 0 (turn/end) of session s violates an invariant: the check itself failed: oops (broken)'])
    expect(() => session.append('turn/start', { turn: 1 })).toThrow('the check itself failed: oops (broken)')
    expect(session.log.length).toBe(1)
  })
})
