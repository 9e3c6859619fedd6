import { describe, expect, it } from 'vitest'
import { checkLog, sessionInvariant, type Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { COMPACT_CHECKPOINT_SOURCE, compactionInvariant, isCompactCheckpointSource, recordCompaction } from '../src/index.ts'
import { draw, newSession, picture, redraw } from './notation.ts'

const content = [{ type: 'text', text: 'What happened before.' }] as const
const record = (session: Session, keptFromSeq: number | null) =>
  recordCompaction(session, { content, keptFromSeq, tokensOf: seqs => 10 * seqs.length })

/** What follows the log as it was, without times. */
function written(session: Session, from: number) {
  return [...session.log.from(from)].map(({ type, data }) => ({ type, ...data }))
}

it('stands in the place of what came before the kept start, in one bracket', () => {
  const { session } = picture('| u | ca ra | u | a |')
  expect(record(session, 3)).toBe(7)
  expect(session.surface.entries).toEqual([7, 3, 4])
  expect(written(session, 5)).toEqual([
    { type: 'compaction/start', turn: null, trigger: 'recorded' },
    { type: 'compaction/summary', startSeq: 5, summary: content, shadowedRange: { start: 0, end: 2 }, shadowedSeqs: [0, 1, 2], shadowedTokens: 30, strategy: 'recorded' },
    { type: 'user/message', content, source: COMPACT_CHECKPOINT_SOURCE },
    { type: 'compaction/end', startSeq: 5, turn: null },
  ])
  expect(session.log.at(7).sourceEventSeqs).toEqual([0, 1, 2, 5, 6])
  expect(checkLog(session.log.from(0), [compactionInvariant])).toEqual([])
  expectReplays(session)
})

it('stands for everything where nothing was kept', () => {
  const { session } = picture('| u | a |')
  const checkpoint = record(session, null)
  expect(session.surface.entries).toEqual([checkpoint])
  expectReplays(session)
})

it('belongs to the turn that is open', () => {
  const session = newSession()
  session.append('turn/start', { turn: 1 })
  const first = draw(session, 'u')
  const kept = draw(session, 'u')
  record(session, kept)
  expect(written(session, 3)).toMatchObject([{ turn: 1 }, { shadowedSeqs: [first] }, {}, { turn: 1 }])
  expect(checkLog(session.log.from(0), [sessionInvariant, compactionInvariant])).toEqual([])
  expectReplays(session)
})

describe('writes nothing and answers null', () => {
  it.each<[string, (session: Session) => number | null]>([
    ['when the kept start is the first entry', session => session.surface.entries[0]!],
    ['when ours already reaches past the kept start', session => {
      redraw(session, 0, 1, 'u')
      return 1
    }],
  ])('%s', (_title, keptFrom) => {
    const { session } = picture('| u | a | u |')
    const kept = keptFrom(session)
    const { length } = session.log
    expect(record(session, kept)).toBe(null)
    expect(session.log.length).toBe(length)
  })

  it('when there is nothing at all', () => {
    const session = newSession()
    expect(record(session, null)).toBe(null)
    expect(session.log.length).toBe(0)
  })
})

describe('throws and writes nothing', () => {
  it.each<[string, (session: Session) => number | null, string]>([
    ['when it would part a call from its result', () => 2, 'would part a call from its result before seq 2'],
    ['when a call is open at the end and nothing was kept', session => {
      draw(session, 'cb')
      return null
    }, 'would part a call from its result at the end of the surface'],
    ['while another compaction is running', session => {
      session.append('compaction/start', { turn: null, trigger: 'manual' })
      return 3
    }, 'is running since seq 4'],
  ])('%s', (_title, keptFrom, message) => {
    const { session } = picture('| u | ca ra | u |')
    const kept = keptFrom(session)
    const { length } = session.log
    expect(() => record(session, kept)).toThrow(message)
    expect(session.log.length).toBe(length)
    expectReplays(session)
  })
})

it('a checkpoint is known by its source, also when that was stored, cloned or given an input id', () => {
  expect(isCompactCheckpointSource(COMPACT_CHECKPOINT_SOURCE)).toBe(true)
  expect(isCompactCheckpointSource(JSON.parse(JSON.stringify(COMPACT_CHECKPOINT_SOURCE)))).toBe(true)
  expect(isCompactCheckpointSource({ ...COMPACT_CHECKPOINT_SOURCE, inputId: 'input-1' })).toBe(true)
  expect(isCompactCheckpointSource({ kind: 'user' })).toBe(false)
  expect(isCompactCheckpointSource({ kind: 'plugin' })).toBe(false)
  expect(isCompactCheckpointSource({ kind: 'plugin', plugin: 'reminder' })).toBe(false)
  expect(isCompactCheckpointSource({ kind: 'user', plugin: 'compact' })).toBe(false)
})
