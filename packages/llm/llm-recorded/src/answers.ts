/**
 * Answers: what a model said once, read from a session log.
 *
 * Pure.
 *
 *     step/start · assistant/message …                        an answer
 *     step/start · assistant/message {interrupted} …          an answer that was cancelled after this text
 *     step/start · step/end · turn/end {aborted}              … before any text
 *     step/start · step/end · turn/end {error}                a failure
 *     compaction/summary {llmStreamCall: true, rawOutput}     the summarizer's answer
 */
import { naturalFinish, NOT_SENT } from '@deepseek-ai/dsh-llm'
import type { ContentBlock, FinishReason, LlmFailure, TokenUsage } from '@deepseek-ai/dsh-llm'
import type { SessionEvent, SessionEventMap } from '@deepseek-ai/dsh-session'

export type RecordedAnswer =
  /** `finish` left out is the natural one: `tool-calls` where there are calls, else `stop`. */
  | { readonly content: readonly ContentBlock[]; readonly finish?: FinishReason; readonly usage?: TokenUsage }
  /** Cancelled by a person after this content. */
  | { readonly content: readonly ContentBlock[]; readonly interrupted: true }
  | { readonly failure: LlmFailure }

export interface RecordedAnswers {
  /** To ordinary requests, in the order they were made. */
  readonly answers: readonly RecordedAnswer[]
  /** To requests of purpose `compaction`, in the order they were made. */
  readonly summaries: readonly RecordedAnswer[]
}

/** What this reader needs of a `compaction/summary`; the marker proves that one call of the local model service made it. */
interface SummaryEvent {
  readonly type: 'compaction/summary'
  readonly seq: number
  readonly data: { readonly llmStreamCall?: true; readonly rawOutput?: readonly ContentBlock[]; readonly usage?: TokenUsage }
}

/** Rewrites of an entry are nobody's answer and are passed over. Throws only on a summary that breaks its contract. */
export function answersFromLog(events: Iterable<SessionEvent>): RecordedAnswers {
  const answers: RecordedAnswer[] = []
  const summaries: RecordedAnswer[] = []
  let unanswered = false
  for (const event of events) {
    if (isSummary(event)) {
      if (event.data.llmStreamCall === true) summaries.push(summaryOf(event))
      continue
    }
    switch (event.type) {
      case 'step/start':
        unanswered = true
        break
      case 'assistant/message':
        if (event.surfaceOp !== 'append') break
        unanswered = false
        answers.push(answerOf(event.data))
        break
      case 'turn/end': {
        const outcome = unanswered ? outcomeOf(event.data) : null
        unanswered = false
        if (outcome !== null) answers.push(outcome)
      }
    }
  }
  return { answers, summaries }
}

function answerOf({ content, finish, usage, interrupted }: SessionEventMap['assistant/message']): RecordedAnswer {
  if (interrupted === true) return { content, interrupted }
  return { content, finish, ...(usage !== undefined && { usage }) }
}

/** How a request without an answer ended. Null where no model was asked, or where nothing says what became of it. */
function outcomeOf(end: SessionEventMap['turn/end']): RecordedAnswer | null {
  if (end.reason === 'aborted') return { content: [], interrupted: true }
  if (end.reason === 'error' && end.failure.code !== 'NO_ADAPTER' && !end.failure.message.startsWith(NOT_SENT)) return { failure: end.failure }
  return null
}

/** The type is another package's addition to the vocabulary, hence the look at its bare name. */
function isSummary(event: SessionEvent | SummaryEvent): event is SummaryEvent {
  return event.type === 'compaction/summary'
}

function summaryOf({ seq, data: { rawOutput, usage } }: SummaryEvent): RecordedAnswer {
  if (rawOutput === undefined) throw new Error(`compaction/summary ${seq} claims a model call but holds no rawOutput`)
  return { content: rawOutput, finish: naturalFinish(rawOutput), ...(usage !== undefined && { usage }) }
}
