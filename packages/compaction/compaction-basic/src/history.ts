/**
 * History: what earlier events say about answers, retries and what providers accept.
 *
 * Pure folds.
 */
import { promptTokens, type LlmFailure } from '@deepseek-ai/dsh-llm'
import type { Fold, Seq } from '@deepseek-ai/dsh-session'

export interface AnswerState {
  /** The entry of the model's newest answer, a view where it was shortened; -1 before the first. */
  answerSeq: Seq
  /** The end of the newest step, and so of the newest request; -1 before the first. */
  stepEndSeq: Seq
  /** Turns in a row that retried an overflow, none answered in between and no input opening a turn. */
  overflowRetries: number
  /** The newest turn ended in an overflow. */
  overflowed: boolean
}

/** Whether a request failed because it was too large. */
export function isOverflow({ code }: Pick<LlmFailure, 'code'>): boolean {
  return code === 'CONTEXT_WINDOW_EXCEEDED' || code === 'REQUEST_TOO_LARGE'
}

export const answerFold: Fold<AnswerState> = {
  init: () => ({ answerSeq: -1, stepEndSeq: -1, overflowRetries: 0, overflowed: false }),
  apply(state, event) {
    if (event.type === 'assistant/message') {
      if (event.surfaceOp === 'append') state.overflowRetries = 0
      else if (event.surfaceOp.start !== state.answerSeq) return state
      state.answerSeq = event.seq
    } else if (event.type === 'step/end') {
      state.stepEndSeq = event.seq
    } else if (event.type === 'turn/end') {
      state.overflowed = event.data.reason === 'error' && isOverflow(event.data.failure)
    } else if (event.type === 'turn/start') {
      if (event.data.retry !== true) state.overflowRetries = 0
      else if (state.overflowed) state.overflowRetries += 1
    }
    return state
  },
}

/** Below this a limit named in an error is a misreading. Tokens. */
export const SMALLEST_LEARNED_TOKENS = 1_024

export interface Route {
  readonly provider: string
  readonly model: string
}

/** The limits that refusals named, by route. */
export const learnedFold: Fold<Map<string, number>> = {
  init: () => new Map(),
  apply(limits, event) {
    if (event.type === 'request/context' && event.data.learned === true && event.data.contextWindow !== undefined) {
      limits.set(routeKey(event.data), event.data.contextWindow)
    } else if (event.type === 'assistant/message' && event.surfaceOp === 'append' && event.data.usage !== undefined) {
      // A success above a learned limit proves that it was none.
      const limit = limits.get(routeKey(event.data))
      if (limit !== undefined && promptTokens(event.data.usage) > limit) limits.delete(routeKey(event.data))
    }
    return limits
  },
}

export function routeKey({ provider, model }: Route): string {
  return JSON.stringify([provider, model])
}
