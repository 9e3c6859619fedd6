import { expect, it } from 'vitest'
import { checkLog, type Session } from '@deepseek-ai/dsh-session'
import { COMPACT_CHECKPOINT_SOURCE, compactionInvariant } from '../src/index.ts'
import { draw, newSession } from './notation.ts'

const start = (session: Session, turn: number | null = null) => session.append('compaction/start', { turn, trigger: 'manual' }).seq
const end = (session: Session, startSeq: number, turn: number | null = null) => session.append('compaction/end', { startSeq, turn })
const summary = (session: Session, startSeq: number) =>
  session.append('compaction/summary', { startSeq, summary: [], shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0], shadowedTokens: 1, strategy: 'custom' })
const checkpoint = (session: Session) =>
  session.append('user/message', { content: [], source: COMPACT_CHECKPOINT_SOURCE }, { surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] })

/** What is wrong with a session that begins with one message and goes on as `story` says. */
function violations(story: (session: Session) => void): string[] {
  const session = newSession()
  draw(session, 'u')
  story(session)
  return checkLog(session.log.from(0), [compactionInvariant]).map(({ seq, message }) => `${seq}: ${message}`)
}

it('finds nothing in a whole compaction of an idle session, and of one inside a turn', () => {
  expect(violations(session => {
    const idle = start(session)
    summary(session, idle)
    checkpoint(session)
    end(session, idle)
  })).toEqual([])
  expect(violations(session => {
    session.append('turn/start', { turn: 1 })
    const owned = start(session, 1)
    draw(session, 'u') // injected input may land in between
    end(session, owned, 1)
    session.append('turn/end', { turn: 1, reason: 'completed' })
  })).toEqual([])
})

it('finds nothing in what a new owner does after a compaction that its predecessor left open', () => {
  expect(violations(session => {
    session.append('turn/start', { turn: 1 })
    start(session, 1)
    session.append('session/end-seed', {})
    session.append('turn/end', { turn: 1, reason: 'interrupted' })
    end(session, start(session))
  })).toEqual([])
})

it('a checkpoint that was appended, as recordings hold them, needs no bracket', () => {
  expect(violations(session => {
    session.append('user/message', { content: [], source: COMPACT_CHECKPOINT_SOURCE }, { surfaceOp: 'append' })
  })).toEqual([])
})

it.each<[string, (session: Session) => void, string[]]>([
  ['a bracket in a bracket', session => {
    start(session)
    start(session)
  }, ['2: a compaction starts inside the one that started at 1']],
  ['an owner without a turn', session => start(session, 1), ['1: its owner is turn 1, but no turn is open']],
  ['no owner inside a turn', session => {
    session.append('turn/start', { turn: 1 })
    start(session)
  }, ['2: its owner is no turn, but turn 1 is open']],
  ['another turn as the owner', session => {
    session.append('turn/start', { turn: 1 })
    start(session, 2)
  }, ['2: its owner is turn 2, but turn 1 is open']],
  ['a turn that starts inside a bracket', session => {
    start(session)
    session.append('turn/start', { turn: 1 })
  }, ['2: a turn boundary inside the compaction that started at 1']],
  ['a turn that ends inside a bracket', session => {
    session.append('turn/start', { turn: 1 })
    start(session, 1)
    session.append('turn/end', { turn: 1, reason: 'completed' })
  }, ['3: a turn boundary inside the compaction that started at 2']],
  ['a summary without a start', session => summary(session, 0), ['1: a summary for start 0, which is not running']],
  ['a summary for another start', session => {
    start(session)
    summary(session, 0)
  }, ['2: a summary for start 0, which is not running']],
  ['an end without a start', session => end(session, 0), ['1: an end for start 0, which is not running']],
  ['an end for a start of an earlier lifecycle', session => {
    const stale = start(session)
    session.append('session/end-seed', {})
    end(session, stale)
  }, ['3: an end for start 1, which is not running']],
  ['an end that names another turn', session => {
    end(session, start(session), 3)
  }, ['2: it names turn 3, its start no turn']],
  ['a checkpoint outside any bracket', session => checkpoint(session), ['1: a checkpoint replaces entries outside a compaction that has its summary']],
  ['a checkpoint before its summary', session => {
    start(session)
    checkpoint(session)
  }, ['2: a checkpoint replaces entries outside a compaction that has its summary']],
])('reports %s', (_title, story, expected) => {
  expect(violations(story)).toEqual(expected)
})
