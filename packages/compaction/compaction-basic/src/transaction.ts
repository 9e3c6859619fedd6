/**
 * Transaction: one bracket in the log, whoever asked for it.
 *
 *     start ─ summarize, raced with the signal ─ aborted? ─ span still there? ─ smaller? ─ summary · replacement · end
 *        └───────────────────────────────── on any failure ──────────────────────────────── end {error, code}
 *
 * After `compaction/start` there is exactly one attempt at `compaction/end`. If that append fails the start stays, and
 * blocks further compactions on purpose: nobody knows what the log holds. The failure is then `commit`, whatever went before.
 */
import {
  COMPACT_CHECKPOINT_SOURCE,
  type CompactionFailureCode,
  type CompactionResult,
  type CompactionTrigger,
} from '@deepseek-ai/dsh-compaction'
import { messageOf, textOf, untilAborted, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { openTurn, type Position, type Seq, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import type { Summary } from './summarize.ts'

/** A stretch of the surface by cuts: entries [from, to). */
export interface Span {
  readonly from: Position
  readonly to: Position
}

export interface Attempt {
  readonly session: Session
  readonly span: Span
  readonly trigger: CompactionTrigger
  readonly signal: AbortSignal
  /** What must be unchanged when the summary is there: the whole surface, or the span only. */
  readonly stable: 'surface' | 'span'
  readonly shadowedTokens: number
  readonly summarize: (signal: AbortSignal) => Promise<Summary>
  /** The checkpoint that stands for a summary, and its price. @throws Error for a summary that may not stand. */
  readonly compose: (summary: readonly ContentBlock[]) => { readonly content: readonly ContentBlock[]; readonly tokens: number }
}

/** Why a bracket ended with an error; `cause` is the thrown value itself, an abort's reason among them. */
export class CompactionFailure extends Error {
  override readonly name = 'CompactionFailure'
  readonly code: CompactionFailureCode

  constructor(code: CompactionFailureCode, cause: unknown) {
    super(messageOf(cause), { cause })
    this.code = code
  }
}

/** @throws CompactionFailure once the attempt at an end was made; anything else, and nothing was written. */
export async function compactSpan(attempt: Attempt): Promise<Omit<CompactionResult, 'converged'>> {
  const { session, span, trigger, signal, shadowedTokens } = attempt
  const shadowedSeqs: readonly Seq[] = Object.freeze(session.surface.entries.slice(span.from, span.to))
  const shadowedRange = { start: shadowedSeqs[0]!, end: shadowedSeqs.at(-1)! }
  const generation = session.surface.replaceGeneration
  const length = session.surface.entries.length
  const turn = openTurn(session)
  signal.throwIfAborted()
  const start = session.append('compaction/start', { turn, trigger })

  const end = (failure?: CompactionFailure): Seq => {
    try {
      return session.append('compaction/end', {
        startSeq: start.seq,
        turn,
        ...(failure === undefined ? {} : { error: failure.message, code: failure.code }),
      }).seq
    } catch (error) {
      throw new CompactionFailure('commit', error)
    }
  }
  const fail = (code: CompactionFailureCode, cause: unknown): never => {
    const failure = new CompactionFailure(code, cause)
    end(failure)
    throw failure
  }

  let made: Summary
  let checkpoint: ReturnType<Attempt['compose']>
  try {
    made = await untilAborted(attempt.summarize(signal), signal)
    if (textOf(made.summary).trim() === '') throw new Error('the summary is empty')
    checkpoint = attempt.compose(made.summary)
  } catch (error) {
    return signal.aborted ? fail('aborted', signal.reason) : fail('summary', error)
  }
  if (signal.aborted) return fail('aborted', signal.reason)
  const { surface } = session
  const unchanged = attempt.stable === 'surface'
    ? surface.replaceGeneration === generation && surface.entries.length === length
    : shadowedSeqs.every((seq, index) => surface.entries[span.from + index] === seq)
  if (!unchanged) return fail('changed', new Error('the conversation changed while its summary was written'))
  if (checkpoint.tokens >= shadowedTokens) {
    return fail('not-smaller', new Error(`the checkpoint of ${checkpoint.tokens} tokens is not smaller than the ${shadowedTokens} it would replace`))
  }

  let summary: SessionEvent<'compaction/summary'>
  let replacement: SessionEvent<'user/message'>
  try {
    summary = session.append('compaction/summary', {
      startSeq: start.seq,
      summary: made.summary,
      ...(made.rawOutput === undefined ? {} : { rawOutput: made.rawOutput }),
      ...(made.llmStreamCall === undefined ? {} : { llmStreamCall: made.llmStreamCall }),
      shadowedRange,
      shadowedSeqs,
      shadowedTokens,
      ...(made.provider === undefined ? {} : { provider: made.provider }),
      ...(made.model === undefined ? {} : { model: made.model }),
      ...(made.maxTokens === undefined ? {} : { maxTokens: made.maxTokens }),
      ...(made.usage === undefined ? {} : { usage: made.usage }),
      strategy: made.strategy ?? 'custom',
    })
    replacement = session.append('user/message', { content: checkpoint.content, source: COMPACT_CHECKPOINT_SOURCE }, {
      surfaceOp: { op: 'replace', ...shadowedRange },
      sourceEventSeqs: [...shadowedSeqs, start.seq, summary.seq],
    })
  } catch (error) {
    return fail('commit', error)
  }
  return {
    startSeq: start.seq,
    summarySeq: summary.seq,
    replacementSeq: replacement.seq,
    endSeq: end(),
    summary: summary.data.summary,
    shadowedRange,
    shadowedSeqs,
    shadowedTokens,
    checkpointTokens: checkpoint.tokens,
  }
}
