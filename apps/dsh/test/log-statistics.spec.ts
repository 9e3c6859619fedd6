import { Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { estimator } from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import { logStatistics } from '../src/log-statistics.ts'

const WINDOW_TOKENS = 1_000
const text = (words: string) => [{ type: 'text', text: words } as const]

/** One step whose only result has `words`, later rewritten to `rewritten`. */
function stepWith(words: string, rewritten: string | null): Session {
  const session = new Session({ header: { id: 'one', createdAt: 0 }, now: () => 0 })
  const at = { turn: 1, step: 1 }
  session.append('turn/start', { turn: 1 })
  session.append('user/message', { content: text('look'), source: { kind: 'user' } }, { surfaceOp: 'append' })
  session.append('step/start', at)
  const call = { type: 'tool-call', id: '1', name: 'look', arguments: '{}' } as const
  session.append('assistant/message', { ...at, content: [call], provider: 'p', model: 'm', finish: 'tool-calls' }, { surfaceOp: 'append' })
  session.append('tool/call', { ...at, callId: '1' })
  const { seq } = session.append('tool/result', { ...at, callId: '1', content: text(words) }, { surfaceOp: 'append' })
  if (rewritten !== null) {
    const surface = { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] } as const
    session.append('tool/result', { ...at, callId: '1', content: text(rewritten) }, surface)
  }
  return session
}

const statistics = (session: Session) => logStatistics(session.log, estimator(), WINDOW_TOKENS)

it('counts what was appended, not what was rewritten', () => {
  expect(statistics(stepWith('short', null))).toEqual({ messages: 3, steps: 1, toolCalls: 1, prunes: { results: 0, tokens: 0 }, oversized: [] })
  expect(statistics(stepWith('short', 'x'))).toMatchObject({ messages: 3, steps: 1, toolCalls: 1, prunes: { results: 1 } })
})

it('measures what a rewrite saved', () => {
  const estimate = estimator()
  const [long, short] = ['a long result, '.repeat(50), 'a long result …']
  expect(statistics(stepWith(long, short)).prunes).toEqual({ results: 1, tokens: estimate.text(long) - estimate.text(short) })
})

it('names an entry that alone exceeds the window, and whether it was shortened', () => {
  const huge = 'one word after the other '.repeat(400)
  expect(statistics(stepWith(huge, null)).oversized).toEqual([{ step: 1, seq: 5, tokens: expect.any(Number), shortened: false }])
  expect(statistics(stepWith(huge, 'short')).oversized).toEqual([{ step: 1, seq: 5, tokens: expect.any(Number), shortened: true }])
})

describe('a result that was small enough alone', () => {
  const rewrite = (session: Session, words: string) => {
    const seq = session.surface.entries[2]!
    const { data } = session.log.at(seq) as SessionEvent<'tool/result'>
    session.append('tool/result', { ...data, content: text(words) }, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] })
  }
  const answer = (session: Session) => {
    session.append('assistant/message', { turn: 1, step: 2, content: text('done'), provider: 'p', model: 'm', finish: 'stop' }, { surfaceOp: 'append' })
  }

  it('is named when it was shortened before it was answered', () => {
    const session = stepWith('long enough', 'short')
    answer(session)
    rewrite(session, 's')
    expect(statistics(session)).toMatchObject({ prunes: { results: 1 }, oversized: [{ seq: 5, shortened: true }] })
  })

  it('is not when it was read first', () => {
    const session = stepWith('long enough', null)
    answer(session)
    rewrite(session, 'short')
    expect(statistics(session)).toMatchObject({ prunes: { results: 1 }, oversized: [] })
  })
})
