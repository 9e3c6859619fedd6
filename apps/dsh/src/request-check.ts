/**
 * Request check: whether a request is one that a provider would take, as far as calls and results go.
 *
 * Pure. A result must answer a call of the assistant message right before the results, once; ids may repeat across messages
 * and even within one, so they are matched by occurrence.
 */
import type { OpenAiMessage } from './openai-shape.ts'

export interface PairingFaults {
  /** Tool messages that answer no call still open there. */
  readonly orphanResults: number
  /** Calls that the next message, or the end of the request, leaves without a result. */
  readonly unansweredCalls: number
}

export function pairingFaults(messages: readonly OpenAiMessage[]): PairingFaults {
  let orphanResults = 0
  let unansweredCalls = 0
  const open = new Map<string, number>()
  const close = (): void => {
    for (const calls of open.values()) unansweredCalls += calls
    open.clear()
  }
  for (const { role, tool_calls, tool_call_id = '' } of messages) {
    if (role === 'tool') {
      const calls = open.get(tool_call_id) ?? 0
      if (calls === 0) orphanResults += 1
      else open.set(tool_call_id, calls - 1)
      continue
    }
    close()
    for (const { id } of tool_calls ?? []) open.set(id, (open.get(id) ?? 0) + 1)
  }
  close()
  return { orphanResults, unansweredCalls }
}
