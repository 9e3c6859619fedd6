/**
 * Repair: what an interrupted last turn still needs to be complete.
 *
 * Pure. It knows turns, steps and calls, and nothing of compaction.
 */
import type { Seq, SessionEventMap } from './events.ts'
import type { LogView } from './fold.ts'
import type { Session } from './session.ts'
import { turnFold, type TurnState } from './turns.ts'

/** One append that completes the turn, in the order to make them. */
export type Closer =
  | { readonly type: 'tool/result'; readonly data: SessionEventMap['tool/result'] }
  | { readonly type: 'step/end'; readonly data: SessionEventMap['step/end'] }
  | { readonly type: 'turn/end'; readonly data: SessionEventMap['turn/end'] }

/**
 * An error result for every unanswered call (`TOOL_NOT_STARTED` where no `tool/call` says it began, else
 * `TOOL_OUTCOME_UNKNOWN`), then `step/end`, then `turn/end {interrupted}`; empty when the last turn is complete. Reads the
 * last turn only.
 */
export function interruptedTurnClosers(log: LogView): Closer[] {
  let state = turnFold.init()
  for (const event of log.from(lastTurnStart(log))) state = turnFold.apply(state, event, null)
  return closersOf(state)
}

function closersOf({ turn, turnOpen, step, stepOpen, pending }: TurnState): Closer[] {
  if (!turnOpen) return []
  const closers: Closer[] = pending.map(({ call, started }) => ({
    type: 'tool/result',
    data: {
      turn,
      step,
      callId: call.id,
      content: [{ type: 'text', text: started ? OUTCOME_UNKNOWN : NOT_STARTED }],
      isError: true,
      error: { name: 'Interrupted', code: started ? 'TOOL_OUTCOME_UNKNOWN' : 'TOOL_NOT_STARTED' },
    },
  }))
  if (stepOpen) closers.push({ type: 'step/end', data: { turn, step } })
  closers.push({ type: 'turn/end', data: { turn, reason: 'interrupted' } })
  return closers
}

/** Appends the closers of an interrupted last turn: what whoever takes over a log does right after its `session/end-seed`. */
export function completeInterruptedTurn(session: Session): void {
  for (const closer of closersOf(session.read(turnFold))) {
    switch (closer.type) {
      case 'tool/result':
        session.append(closer.type, closer.data, { surfaceOp: 'append' })
        break
      case 'step/end':
        session.append(closer.type, closer.data)
        break
      case 'turn/end':
        session.append(closer.type, closer.data)
        break
    }
  }
}

const OUTCOME_UNKNOWN = 'The session was interrupted while this call was running; whether it took effect is not known.'
const NOT_STARTED = 'The session was interrupted before this call was run.'

function lastTurnStart(log: LogView): Seq {
  for (let seq = log.length - 1; seq >= 0; seq--) if (log.at(seq).type === 'turn/start') return seq
  return log.length
}
