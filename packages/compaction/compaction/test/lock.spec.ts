import { expect, it } from 'vitest'
import type { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { liveCompaction } from '../src/index.ts'
import { draw, newSession } from './notation.ts'

/** `[` start, `s` summary, `]` end, `!` an end with an error, `u` a message, `#` what a new owner of the log writes. */
function drawn(text: string): Session {
  let session = newSession()
  let startSeq = -1
  for (const mark of text) {
    if (mark === '[') startSeq = session.append('compaction/start', { turn: null, trigger: 'manual' }).seq
    else if (mark === ']') session.append('compaction/end', { startSeq, turn: null })
    else if (mark === '!') session.append('compaction/end', { startSeq, turn: null, error: 'no', code: 'summary' })
    else if (mark === '#') session = newSession(session.log.from(0))
    else if (mark === 's') {
      session.append('compaction/summary', { startSeq, summary: [], shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0], shadowedTokens: 1, strategy: 'custom' })
    } else draw(session, mark)
  }
  return session
}

it.each([
  ['a log without a compaction is free', 'u', null],
  ['a start locks', 'u[', 1],
  ['what lands between start and end does not unlock', 'u[us', 1],
  ['an end unlocks', 'u[us]', null],
  ['a failed end unlocks as well', 'u[!', null],
  ['the next start locks again', 'u[!u[', 4],
  ['a start of an earlier lifecycle is stale', 'u[#', null],
  ['a start after that is not', 'u[#[', 3],
  ['an end of an earlier lifecycle changes nothing', 'u[]#', null],
])('%s', (_title, text, startSeq) => {
  const session = drawn(text)
  expect(liveCompaction(session)?.startSeq ?? null).toBe(startSeq)
  expectReplays(session)
})

it('tells whose it is, why it runs and whether its summary is there', () => {
  expect(liveCompaction(drawn('u['))).toEqual({ startSeq: 1, turn: null, trigger: 'manual', summarized: false })
  expect(liveCompaction(drawn('u[s'))).toEqual({ startSeq: 1, turn: null, trigger: 'manual', summarized: true })
})

it('an end or a summary that names another start is none of this one', () => {
  const session = drawn('u[')
  session.append('compaction/summary', { startSeq: 0, summary: [], shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0], shadowedTokens: 1, strategy: 'custom' })
  session.append('compaction/end', { startSeq: 0, turn: null })
  expect(liveCompaction(session)).toEqual({ startSeq: 1, turn: null, trigger: 'manual', summarized: false })
})
