import { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { COMPACT_CHECKPOINT_SOURCE, type CompactionFailureCode, type CompactionTrigger } from '@deepseek-ai/dsh-compaction'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import { breaker, isUseful } from '../src/breaker.ts'

const { estimateMessage } = tokenMeter({ charsPerToken: 4 })
const { fold, holds } = breaker(estimateMessage)

const RETAIN_TOKENS = 1_000

function newSession(): Session {
  return new Session({ header: { id: 's', createdAt: 0 }, now: () => 0 })
}

/** A message of exactly so many tokens. */
function say(session: Session, tokens: number): void {
  session.append('user/message', { content: [{ type: 'text', text: 'word'.repeat(tokens - 4) }], source: { kind: 'user' } }, { surfaceOp: 'append' })
}

function fail(session: Session, code: CompactionFailureCode = 'summary'): void {
  const { seq } = session.append('compaction/start', { turn: null, trigger: 'pressure' })
  session.append('compaction/end', { startSeq: seq, turn: null, error: 'no words', code })
}

/** Compacts the first entry, of 1,000 tokens, into a checkpoint of so many. */
function compact(session: Session, tokens: number, trigger: CompactionTrigger = 'pressure'): void {
  const [first] = session.surface.entries
  const { seq } = session.append('compaction/start', { turn: null, trigger })
  session.append('compaction/summary', { startSeq: seq, summary: [], shadowedRange: { start: first!, end: first! }, shadowedSeqs: [first!], shadowedTokens: 1_000, strategy: 'custom' })
  session.append('user/message', { content: [{ type: 'text', text: 'word'.repeat(tokens - 4) }], source: COMPACT_CHECKPOINT_SOURCE }, {
    surfaceOp: { op: 'replace', start: first!, end: first! }, sourceEventSeqs: [first!],
  })
  session.append('compaction/end', { startSeq: seq, turn: null })
}

const held = (session: Session) => holds(session.read(fold), RETAIN_TOKENS)

it('the first fruitless attempt is free', () => {
  const session = newSession()
  expect(held(session)).toBe(null)
  fail(session)
  expect(held(session)).toBe(null)
})

it('from the second in a row pressure waits for half the retained budget, then for twice that each time', () => {
  const session = newSession()
  fail(session)
  for (const neededTokens of [500, 1_000, 2_000]) {
    fail(session)
    expect(held(session)).toContain(`trying again after ${neededTokens} more tokens`)
    say(session, neededTokens - 1)
    expect(held(session)).toContain('trying again after 1 more tokens')
    say(session, 5)
    expect(held(session)).toBe(null)
  }
  expectReplays(session)
})

it('says why', () => {
  const session = newSession()
  say(session, 1_000)
  fail(session)
  fail(session)
  expect(held(session)).toContain('the last 2 compactions did not help (no words)')
  compact(session, 990)
  expect(held(session)).toContain('the last 3 compactions did not help (only 10 of 1000 tokens saved)')
})

describe('counts', () => {
  it('one that saved under a tenth as fruitless', () => {
    const session = newSession()
    say(session, 1_000)
    fail(session)
    compact(session, 901)
    expect(held(session)).not.toBe(null)
    expectReplays(session)
  })

  it('one that saved a tenth as useful, which starts over', () => {
    const session = newSession()
    say(session, 1_000)
    fail(session)
    fail(session)
    compact(session, 900)
    expect(held(session)).toBe(null)
    fail(session)
    expect(held(session)).toBe(null)
    expectReplays(session)
  })

  it.each(['summary', 'not-smaller', 'changed', 'commit'] as const)('a failure by %s', code => {
    const session = newSession()
    fail(session, code)
    fail(session, code)
    expect(held(session)).not.toBe(null)
  })

  it('no abort, neither as fruitless nor as useful', () => {
    const session = newSession()
    fail(session, 'aborted')
    fail(session)
    fail(session, 'aborted')
    expect(held(session)).toBe(null)
    fail(session)
    fail(session, 'aborted')
    expect(held(session)).not.toBe(null)
  })

  it('nothing that a recording brought along', () => {
    const session = newSession()
    say(session, 1_000)
    fail(session)
    compact(session, 990, 'recorded')
    expect(held(session)).toBe(null)
    fail(session)
    compact(session, 100, 'recorded')
    expect(held(session)).not.toBe(null)
  })

  it('as growth what is appended, not what is rewritten', () => {
    const session = newSession()
    say(session, 10)
    fail(session)
    fail(session)
    session.append('user/message', { content: [{ type: 'text', text: 'word'.repeat(5_000) }], source: { kind: 'user' } }, {
      surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0],
    })
    expect(held(session)).not.toBe(null)
  })
})

it('a tenth of what was shadowed is useful', () => {
  expect([isUseful(1_000, 900), isUseful(1_000, 901), isUseful(1_000, 1_200), isUseful(10, 9)]).toEqual([true, false, false, true])
})
