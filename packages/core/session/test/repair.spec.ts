import { describe, expect, it } from 'vitest'
import { checkLog, completeInterruptedTurn, interruptedTurnClosers, type LogView, Session, sessionInvariant, type SessionEvent } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { copied, eventsOf, sessionOf, TIME } from './notation.ts'

/** Closers drawn as text: `x?` was never begun, `x~` has an unknown outcome, `s1` and `t1` as in logs. */
const closersOf = (drawing: string): string => interruptedTurnClosers(sessionOf(drawing).log).map(({ type, data }) => {
  if (type === 'step/end') return `s${data.step}`
  if (type === 'turn/end') return `t${data.turn}`
  return `${data.callId}${data.error?.code === 'TOOL_NOT_STARTED' ? '?' : '~'}`
}).join(' ')

it.each([
  ['nothing of an empty log', '', ''],
  ['nothing of a complete turn', 'T1 u S1 a s1 t1', ''],
  ['nothing outside turns', 'T1 t1 u', ''],
  ['the turn', 'T1 u', 't1'],
  ['the step and the turn', 'T1 u S1', 's1 t1'],
  ['a step whose answer has no calls', 'T1 u S1 a', 's1 t1'],
  ['the turn between steps', 'T1 u S1 a s1', 't1'],
  ['a call that never began', 'T1 S1 a(x)', 'x? s1 t1'],
  ['a call whose outcome is unknown', 'T1 S1 a(x) x!', 'x~ s1 t1'],
  ['a step whose calls are answered', 'T1 S1 a(x) x! x=', 's1 t1'],
  ['parallel calls in the model\'s order', 'T1 S1 a(x,y,z) z! x!', 'x~ y? z~ s1 t1'],
  ['only what is left of them', 'T1 S1 a(x,y,z) x! y! z! y=', 'x~ z~ s1 t1'],
  ['calls of one id, each by what is known of it', 'T1 S1 a(x,x,x) x! x!', 'x~ x~ x? s1 t1'],
  ['the newest turn and step', 'T1 S1 a s1 t1 T2 S1 a(x) x! x= s1 S2 a(x)', 'x? s2 t2'],
  ['a turn interrupted before a seed that nobody closed', 'T1 S1 a(x) E', 'x? s1 t1'],
])('closes %s', (_name, drawing, expected) => {
  expect(closersOf(drawing)).toBe(expected)
})

it('reads the last turn only', () => {
  const { log } = sessionOf('T1 u S1 a(x) x= s1 t1 T2 u S1 a(x)')
  const lastTurn: LogView = {
    length: log.length,
    at: seq => seq < 7 ? expect.fail(`event ${seq} belongs to an earlier turn`) : log.at(seq),
    from: seq => log.from(seq < 7 ? expect.fail(`events from ${seq} belong to an earlier turn`) : seq),
  }
  expect(interruptedTurnClosers(lastTurn)).toEqual(interruptedTurnClosers(log))
})

it('answers as an error that says what is known, never as a success', () => {
  const [notStarted, unknown, step, turn] = interruptedTurnClosers(sessionOf('T3 S2 a(x,y) y!').log)
  expect(notStarted).toEqual({
    type: 'tool/result',
    data: {
      turn: 3, step: 2, callId: 'x', isError: true, error: { name: 'Interrupted', code: 'TOOL_NOT_STARTED' },
      content: [{ type: 'text', text: expect.stringContaining('before this call was run') }],
    },
  })
  expect(unknown).toMatchObject({ data: { callId: 'y', isError: true, error: { code: 'TOOL_OUTCOME_UNKNOWN' } } })
  expect(step).toEqual({ type: 'step/end', data: { turn: 3, step: 2 } })
  expect(turn).toEqual({ type: 'turn/end', data: { turn: 3, reason: 'interrupted' } })
})

describe('wherever a log is cut', () => {
  const whole = [
    'T1 u S1 H a(x,y) x! y! y= x= s1 u S2 a(z) z! z= s2 S3 a s3 t1',
    'T2 u S1 a(x) x! x= x=[25..25] s1 u[1..10] S2 a(v,w,x) v! v= w! x! x= w= s2 t2',
  ].join(' ')
  const events = eventsOf(whole)

  it('the cut ones are clean once resumed, and only what was open was added', () => {
    expect(check(events)).toEqual([])
    for (let length = 0; length <= events.length; length++) {
      const session = resumed(events.slice(0, length))
      const log = [...session.log.from(0)]
      expect(check(log), `cut at ${length}`).toEqual([])
      expect(log.slice(0, length)).toEqual(events.slice(0, length))
      expect(log[length]!.type).toBe('session/end-seed')
      expect(interruptedTurnClosers(session.log)).toEqual([])
      expect(unanswered(session)).toEqual([])
      expectReplays(session)
    }
  })

  it('a second crash among the closers is repaired by the next resume', () => {
    for (let length = 0; length <= events.length; length++) {
      const first = resumed(events.slice(0, length))
      const log = copied(first.log.from(0))
      for (let again = length; again <= log.length; again++) {
        const second = resumed(log.slice(0, again))
        expect(check(second.log.from(0)), `cut at ${length}, then at ${again}`).toEqual([])
        expect(unanswered(second)).toEqual([])
      }
    }
  })
})

function resumed(seed: readonly SessionEvent[]): Session {
  const session = new Session({ header: { id: 'cut', createdAt: TIME }, now: () => TIME, seed: copied(seed) })
  completeInterruptedTurn(session)
  return session
}

const check = (events: Iterable<SessionEvent>) => checkLog(copied(events), [sessionInvariant])

/** Ids of calls that no result follows in what the model is sent; every result there answers one. */
function unanswered(session: Session): string[] {
  const open: string[] = []
  for (const message of session.deriveMessages()) {
    for (const block of message.content) {
      if (block.type === 'tool-call') open.push(block.id)
      if (block.type === 'tool-result') {
        expect(open).toContain(block.toolCallId)
        open.splice(open.indexOf(block.toolCallId), 1)
      }
    }
  }
  return open
}
