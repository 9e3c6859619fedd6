/**
 * The tools invariant: a call is logged as begun before its result, and a result that says otherwise is true.
 *
 * Pure.
 */
import { turnFold, type Invariant, type SessionEvent, type TurnState } from '@deepseek-ai/dsh-session'

/** How a result says that no tool was asked. `ABORTED` may also be said of a call that was cut short. */
const NOT_STARTED = 'TOOL_NOT_STARTED'
const ABORTED = 'ABORTED'

export const toolsInvariant: Invariant<TurnState> = {
  name: 'tools',
  ...turnFold,
  violations({ pending }, event) {
    if (event.type !== 'tool/result' || event.surfaceOp !== 'append') return []
    const answered = pending.find(({ call }) => call.id === event.data.callId)
    if (answered === undefined) return [] // the session's own invariant has a word for it
    return resultFault(event.data, answered.started)
  },
}

function resultFault({ callId, isError, error }: SessionEvent<'tool/result'>['data'], started: boolean): string[] {
  const notRun = isError === true && (error?.code === NOT_STARTED || error?.code === ABORTED)
  if (!started && !notRun) return [`a result for ${callId}, and no tool/call says that it was begun`]
  if (started && error?.code === NOT_STARTED) return [`a result says that ${callId} was not begun, and a tool/call that it was`]
  return []
}
