/**
 * Judge: what the contract suite expects of a session, whatever engine worked on it.
 */
import { checkLog, isSurfaceEvent, messageOfEvent, pendingCalls, sessionInvariant, type Seq, type Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { expect } from 'vitest'
import { logged } from './contract-stage.ts'
import type { CompactionResult } from './engine.ts'
import { isCompactCheckpointSource, type CompactionTrigger } from './events.ts'
import { compactionInvariant } from './invariant.ts'
import { openCallsAt, toolPairingBalancedBefore } from './pairing.ts'

/** Everything of a session that a refusal must leave as it was. */
export function snapshotOf(session: Session): string {
  return JSON.stringify([session.log.length, session.surface.entries, session.surface.replaceGeneration, session.deriveMessages()])
}

/** The brackets of a log: each start with the ends that name it. */
function brackets(session: Session): { readonly startSeq: Seq; readonly ends: number }[] {
  const events = logged(session)
  return events.flatMap(({ type, seq }) =>
    type === 'compaction/start' ? [{ startSeq: seq, ends: events.filter(event => event.type === 'compaction/end' && event.data.startSeq === seq).length }] : [])
}

/** What holds of a session whatever was done to it. */
export function expectSound(session: Session): void {
  expect(checkLog(session.log.from(0), [sessionInvariant, compactionInvariant])).toEqual([])
  for (const { startSeq, ends } of brackets(session)) expect(ends, `ends of ${startSeq}`).toBe(1)
  const { entries } = session.surface
  // Throws on a result without its call; a call without its result must be one that is still being answered.
  if (entries.length > 0) expect(toolPairingBalancedBefore(session, entries[0]!)).toBe(true)
  expect(openCallsAt(session, entries.length), 'open calls').toBe(pendingCalls(session).length)
  expectReplays(session)
}

/** What holds of a compaction that was committed, seen from the surface before it. */
export function expectCommitted(session: Session, before: readonly Seq[], trigger: CompactionTrigger, result: CompactionResult): void {
  const { startSeq, summarySeq, replacementSeq, endSeq, shadowedSeqs, shadowedRange } = result
  expect([startSeq, summarySeq, replacementSeq, endSeq]).toEqual([startSeq, summarySeq, replacementSeq, endSeq].toSorted((a, b) => a - b))
  expect([summarySeq + 1, replacementSeq + 1]).toEqual([replacementSeq, endSeq])
  const [start, summary, checkpoint, end] = [startSeq, summarySeq, replacementSeq, endSeq].map(seq => session.log.at(seq))
  const turn = start!.type === 'compaction/start' ? start!.data.turn : expect.unreachable('no compaction/start')
  expect(start).toMatchObject({ type: 'compaction/start', data: { turn, trigger } })
  expect(summary).toMatchObject({ type: 'compaction/summary', data: { startSeq, summary: result.summary, shadowedRange, shadowedSeqs, shadowedTokens: result.shadowedTokens } })
  expect(end).toEqual({ seq: endSeq, time: expect.anything(), type: 'compaction/end', data: { startSeq, turn } })

  if (checkpoint?.type !== 'user/message') return expect.unreachable('no user/message')
  expect(isCompactCheckpointSource(checkpoint.data.source)).toBe(true)
  expect(checkpoint.surfaceOp).toEqual({ op: 'replace', ...shadowedRange })
  expect(checkpoint.sourceEventSeqs!.toSorted(byNumber)).toEqual([...shadowedSeqs, startSeq, summarySeq].toSorted(byNumber))

  const from = before.indexOf(shadowedSeqs[0]!)
  const to = from + shadowedSeqs.length
  expect(shadowedSeqs).toEqual(before.slice(from, to))
  expect(shadowedRange).toEqual({ start: shadowedSeqs[0], end: shadowedSeqs.at(-1) })
  expect(result.checkpointTokens).toBeLessThan(result.shadowedTokens)
  const shadowedChars = shadowedSeqs.map(seq => chars(session, seq)).reduce((sum, each) => sum + each, 0)
  expect(chars(session, replacementSeq), 'characters of the checkpoint').toBeLessThan(shadowedChars)
}

function byNumber(a: number, b: number): number {
  return a - b
}

function chars(session: Session, seq: Seq): number {
  const event = session.log.at(seq)
  return isSurfaceEvent(event) ? JSON.stringify(messageOfEvent(event)).length : 0
}
