/**
 * Row: how many transient failures stand in a row, and since when.
 *
 * A fold over the log, so that a budget is not reset by a reload and not shared between agents.
 *
 *     turn 1 … step/end ✗ (wait) turn/end{SERVER}   turn 2 {retry} … step/end ✗ (wait) turn/end{SERVER}   turn 3 {retry} … answer
 *              └ since                               retries 1                                             retries 2         0
 */
import { isTransient } from '@deepseek-ai/dsh-llm'
import type { Fold, FoldReader } from '@deepseek-ai/dsh-session'

export interface Row {
  /** Turns that retried a transient failure since an answer, or since input opened a turn; overflows in between count for nothing. */
  readonly retries: number
  /** From the first of those failures to the end of the newest step; 0 before the first. */
  readonly elapsedMs: number
}

export function rowOf(session: FoldReader): Row {
  const { retries, sinceMs, stepEndMs } = session.read(rowFold)
  return { retries, elapsedMs: sinceMs === null ? 0 : Math.max(0, stepEndMs - sinceMs) }
}

interface RowState {
  retries: number
  /** When the first request of the row failed; null without a row. */
  sinceMs: number | null
  /** When the newest step ended: a request fails with its step, while its turn ends only after the wait. */
  stepEndMs: number
  /** The newest turn ended in a transient failure. */
  failed: boolean
}

export const rowFold: Fold<RowState> = {
  init: () => ({ retries: 0, sinceMs: null, stepEndMs: 0, failed: false }),
  apply(state, event) {
    if (event.type === 'step/end') {
      state.stepEndMs = event.time
    } else if (event.type === 'turn/end') {
      state.failed = event.data.reason === 'error' && isTransient(event.data.failure)
      if (state.failed) state.sinceMs ??= state.stepEndMs
    } else if (event.type === 'turn/start' && event.data.retry === true) {
      if (state.failed) state.retries += 1
    } else if (event.type === 'turn/start' || (event.type === 'assistant/message' && event.surfaceOp === 'append')) {
      state.retries = 0
      state.sinceMs = null
    }
    return state
  },
}
