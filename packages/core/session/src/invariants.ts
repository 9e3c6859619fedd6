/**
 * Invariants: what must hold of every log, as folds that can also judge the event that comes next.
 *
 * Pure. An invariant reports; whether a report vetoes an append or becomes a line of a check is its caller's business.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from './events.ts'
import type { Fold, SurfaceChange } from './fold.ts'
import { EventLog } from './log.ts'
import { admit } from './session.ts'
import { turnFold, type TurnState } from './turns.ts'

export interface Invariant<S> extends Fold<S> {
  readonly name: string
  /** What is wrong with `event` coming next, a sentence each; `state` is read only. */
  violations(state: S, event: SessionEvent, change: SurfaceChange | null): readonly string[]
}

export interface Violation {
  readonly seq: number
  readonly invariant: string
  readonly message: string
}

/**
 * Every violation in a log, in order. An event that no log can hold (numbering, shape, surface) is reported as `log` and ends
 * the check, since nothing after it has a meaning.
 */
export function checkLog(events: Iterable<SessionEvent>, invariants: readonly Invariant<unknown>[]): Violation[] {
  const log = new EventLog()
  const states = invariants.map(invariant => invariant.init())
  const found: Violation[] = []
  for (const event of events) {
    let change: SurfaceChange | null
    try {
      change = admit(log, event)
    } catch (error) {
      found.push({ seq: log.length, invariant: 'log', message: messageOf(error) })
      return found
    }
    invariants.forEach((invariant, index) => {
      for (const message of invariant.violations(states[index], event, change)) {
        found.push({ seq: event.seq, invariant: invariant.name, message })
      }
      states[index] = invariant.apply(states[index], event, change)
    })
  }
  return found
}

/** Turns and steps nest and number from 1 without gaps; results answer pending calls; headers belong to an open turn. */
export const sessionInvariant: Invariant<TurnState> = {
  name: 'session',
  ...turnFold,
  violations(state, event) {
    switch (event.type) {
      case 'turn/start':
        if (state.turnOpen) return [`turn ${event.data.turn} starts while turn ${state.turn} is open`]
        return numbered('turn', event.data.turn, state.turn + 1)
      case 'turn/end':
        if (!state.turnOpen) return [`turn ${event.data.turn} ends, and none is open`]
        return [
          ...numbered('turn', event.data.turn, state.turn),
          ...(state.stepOpen ? [`turn ${event.data.turn} ends while its step ${state.step} is open`] : []),
        ]
      case 'step/start':
        if (!state.turnOpen) return [`step ${event.data.step} starts outside any turn`]
        if (state.stepOpen) return [`step ${event.data.step} starts while step ${state.step} is open`]
        return [...numbered('turn', event.data.turn, state.turn), ...numbered('step', event.data.step, state.step + 1)]
      case 'step/end':
        return [
          ...inOpenStep(state, event),
          ...(state.pending.length > 0 ? [`step ${event.data.step} ends with unanswered calls: ${state.pending.map(({ call }) => call.id).join(', ')}`] : []),
        ]
      case 'assistant/message':
        return event.surfaceOp === 'append' ? inOpenStep(state, event) : []
      case 'tool/call':
        return [
          ...inOpenStep(state, event),
          ...(state.pending.some(({ call, started }) => call.id === event.data.callId && !started)
            ? []
            : [`call ${event.data.callId} begins, but the open step has no such call waiting`]),
        ]
      case 'tool/result':
        if (event.surfaceOp !== 'append') return []
        return [
          ...inOpenStep(state, event),
          ...(state.pending.some(({ call }) => call.id === event.data.callId)
            ? []
            : [`a result for ${event.data.callId} answers no pending call of the open step`]),
        ]
      case 'request/header':
        return state.turnOpen ? [] : ['a request header stands outside any turn']
      default:
        return []
    }
  },
}

function numbered(what: string, found: number, expected: number): string[] {
  return found === expected ? [] : [`${what} ${found} where ${what} ${expected} is due`]
}

function inOpenStep(state: TurnState, event: { readonly type: string; readonly data: { readonly turn: number; readonly step: number } }): string[] {
  const { turn, step } = event.data
  if (!state.stepOpen) return [`${event.type} of step ${turn}.${step} stands outside any step`]
  return turn === state.turn && step === state.step ? [] : [`${event.type} of step ${turn}.${step} stands in step ${state.turn}.${state.step}`]
}
