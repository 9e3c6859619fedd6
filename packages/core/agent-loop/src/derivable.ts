/**
 * Derivable: whatever reaches a model is what the log says.
 *
 * Pure. Two halves: an invariant over the log, by which a request can be told from what stands before its answer, and a look at
 * a request that is about to be sent.
 *
 *     step/start … (views) … request/header? … (asked here) … assistant/message
 *
 * Nothing in between may change the surface, but for views that listeners of `agent/request` put in the place of single entries
 * too large for the route they see: what was asked is the surface as it stands before the answer.
 */
import type { GenerateOptions, Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, latestHeader, messageOfEvent, turnFold, type Invariant, type Session, type SurfaceEvent, type TurnState } from '@deepseek-ai/dsh-session'
import { sameJson } from './envelope.ts'

interface RequestsState {
  turns: TurnState
  /** Some `request/header` stands in the log. */
  headed: boolean
  /** Header or context of the open step's request were logged: nobody is asked any more what it should be. */
  decided: boolean
  /** The open step has its answer. */
  answered: boolean
}

export const loopInvariant: Invariant<RequestsState> = {
  name: 'agent-loop',
  init: () => ({ turns: turnFold.init(), headed: false, decided: false, answered: false }),
  apply(state, event, change) {
    state.turns = turnFold.apply(state.turns, event, change)
    if (event.type === 'request/header') state.headed = true
    if (event.type === 'request/header' || event.type === 'request/context') state.decided = true
    else if (event.type === 'step/start') state.decided = state.answered = false
    else if (event.type === 'assistant/message' && event.surfaceOp === 'append') state.answered = true
    return state
  },
  violations({ turns: { turn, step, stepOpen }, headed, decided, answered }, event) {
    if (!stepOpen) return []
    const here = `step ${turn}.${step}`
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') {
      return [
        ...(headed ? [] : [`it answers a request whose header was never logged`]),
        ...(answered ? [`${here} has its answer already`] : []),
      ]
    }
    if (event.type === 'request/header' && answered) return [`a header after the answer of ${here}`]
    if (isSurfaceEvent(event) && !answered && (decided || !isView(event))) return [`the surface changes inside ${here} and before its answer, so nobody can tell what was asked`]
    return []
  },
}

/** Whether it stands in the place of one entry. */
function isView({ surfaceOp }: SurfaceEvent): boolean {
  return surfaceOp !== 'append' && surfaceOp.start === surfaceOp.end
}

/** What of an ordinary request the log does not bear out, a sentence each; `session` is the one it is made for. */
export function requestFaults(session: Session, options: GenerateOptions): string[] {
  const header = latestHeader(session)?.data
  if (header === undefined) return ['no request header was logged']
  const { maxTokens, ...config } = header.config
  const faults: string[] = []
  for (const [key, value] of Object.entries({ ...config, system: header.system, tools: header.tools })) {
    if (!sameJson(options[key as keyof GenerateOptions], value)) faults.push(`its ${key} is not that of the header`)
  }
  // On the wire the limit is clamped to what the window leaves.
  if (options.maxTokens === undefined ? maxTokens !== undefined : options.maxTokens > (maxTokens ?? Infinity)) faults.push('its maxTokens is not that of the header')
  const messages = surfaceMessages(session)
  if (options.messages.length !== messages.length) return [...faults, `it has ${options.messages.length} messages, the surface ${messages.length}`]
  const different = messages.findIndex((message, index) => !sameJson(message, options.messages[index]))
  return different < 0 ? faults : [...faults, `its message ${different} is not that of the surface`]
}

/** The messages once more, entry by entry, without the fold that made the request's. */
function surfaceMessages({ log, surface: { entries } }: Session): Message[] {
  return entries.map(seq => log.at(seq)).filter(isSurfaceEvent).map(messageOfEvent).filter(message => message !== null)
}
