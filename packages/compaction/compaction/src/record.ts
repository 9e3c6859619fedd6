/**
 * Recorded compactions: one that happened when an imported conversation was recorded, made true on our surface.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { openTurn, type Seq, type Session } from '@deepseek-ai/dsh-session'
import { COMPACT_CHECKPOINT_SOURCE, type ShadowedRange } from './events.ts'
import { liveCompaction } from './lock.ts'
import { openCallsAt } from './pairing.ts'

export interface RecordedCompaction {
  /** What stood for the older part. */
  readonly content: readonly ContentBlock[]
  /** The first entry that was still seen; null when none was. */
  readonly keptFromSeq: Seq | null
  /** Estimated tokens of the given entries. */
  readonly tokensOf: (seqs: readonly Seq[]) => number
}

/**
 * Replaces everything before the kept start by a checkpoint, in one bracket with trigger `recorded`.
 *
 * Returns the seq of the checkpoint; null, and nothing written, when a newer checkpoint already reaches past the kept start
 * or nothing stands before it.
 *
 * @throws Error when the kept start parts a call from its result, or while a compaction is running; nothing is written.
 */
export function recordCompaction(session: Session, { content, keptFromSeq, tokensOf }: RecordedCompaction): Seq | null {
  const { entries } = session.surface
  const cut = keptFromSeq === null ? entries.length : session.surface.positionOf(keptFromSeq)
  if (cut === undefined || cut === 0) return null
  const live = liveCompaction(session)
  if (live !== null) throw new Error(`a compaction of session ${session.id} is running since seq ${live.startSeq}, so none can be recorded`)
  if (openCallsAt(session, cut) > 0) {
    throw new Error(`a recorded compaction would part a call from its result ${keptFromSeq === null ? 'at the end of the surface' : `before seq ${keptFromSeq}`}`)
  }
  const shadowedSeqs = entries.slice(0, cut)
  const shadowedRange: ShadowedRange = { start: shadowedSeqs[0]!, end: shadowedSeqs.at(-1)! }
  const turn = openTurn(session)
  const start = session.append('compaction/start', { turn, trigger: 'recorded' })
  const summary = session.append('compaction/summary', {
    startSeq: start.seq,
    summary: content,
    shadowedRange,
    shadowedSeqs,
    shadowedTokens: tokensOf(shadowedSeqs),
    strategy: 'recorded',
  })
  const checkpoint = session.append('user/message', { content, source: COMPACT_CHECKPOINT_SOURCE }, {
    surfaceOp: { op: 'replace', ...shadowedRange },
    sourceEventSeqs: [...shadowedSeqs, start.seq, summary.seq],
  })
  session.append('compaction/end', { startSeq: start.seq, turn })
  return checkpoint.seq
}
