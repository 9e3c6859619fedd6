/**
 * Region: an explicit span, judged before anything is written.
 *
 * Pure.
 */
import { toolPairingBalancedAfter, toolPairingBalancedBefore } from '@deepseek-ai/dsh-compaction'
import { openStep, type Position, type Seq, type Session } from '@deepseek-ai/dsh-session'
import type { Span } from './transaction.ts'

/** @throws Error for a span that is not there, parts a call from its result, or lies in an open step. */
export function regionSpan(session: Session, start: Seq, end: Seq): Span {
  const from: Position | undefined = session.surface.positionOf(start)
  const last = session.surface.positionOf(end)
  if (from === undefined || last === undefined) {
    throw new Error(`seq ${from === undefined ? start : end} is no current entry of the surface of session ${session.id}`)
  }
  if (from > last) throw new Error(`the region starts at ${start} (position ${from}), behind its end ${end} (position ${last})`)
  const step = openStep(session)
  if (step !== null) throw new Error(`step ${step.turn}.${step.step} of session ${session.id} is open; a region is compacted between steps`)
  if (!toolPairingBalancedBefore(session, start)) throw new Error(`a region cannot start at ${start}: it would part a call from its result`)
  if (!toolPairingBalancedAfter(session, end)) throw new Error(`a region cannot end at ${end}: it would part a call from its result`)
  return { from, to: last + 1 }
}
