/**
 * History: what earlier events say about answers and retries.
 *
 * Pure folds.
 */
import type { Fold, Seq } from '@deepseek-ai/dsh-session'

export interface AnswerState {
  /** The newest answer of the model; -1 before the first. */
  answerSeq: Seq
  /** Turns in a row that retried a failed request, none answered in between and no input opening a turn. */
  retries: number
}

export const answerFold: Fold<AnswerState> = {
  init: () => ({ answerSeq: -1, retries: 0 }),
  apply(state, event) {
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') {
      state.answerSeq = event.seq
      state.retries = 0
    } else if (event.type === 'turn/start') {
      state.retries = event.data.retry === true ? state.retries + 1 : 0
    }
    return state
  },
}
