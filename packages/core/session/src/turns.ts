/**
 * Turns: which turn and step are open, and which calls still wait for their results.
 *
 * Pure folds and the queries over them.
 */
import { callsOf, type ToolCallBlock } from '@deepseek-ai/dsh-llm'
import type { Seq, SessionEvent } from './events.ts'
import type { Fold } from './fold.ts'

export interface PendingCall {
  readonly call: ToolCallBlock
  /** A `tool/call` says that execution began. */
  started: boolean
}

export interface TurnState {
  /** The newest turn's number; 0 before the first. */
  turn: number
  turnOpen: boolean
  /** The newest step's number in that turn; 0 before its first. */
  step: number
  stepOpen: boolean
  /** Calls of the open step that have no result yet, in the model's order. */
  pending: PendingCall[]
}

export const turnFold: Fold<TurnState> = {
  init: () => ({ turn: 0, turnOpen: false, step: 0, stepOpen: false, pending: [] }),
  apply(state, event) {
    switch (event.type) {
      case 'turn/start':
        state.turn = event.data.turn
        state.turnOpen = true
        state.step = 0
        closeStep(state)
        break
      case 'turn/end':
        state.turnOpen = false
        closeStep(state)
        break
      case 'step/start':
        state.step = event.data.step
        state.stepOpen = true
        state.pending = []
        break
      case 'step/end':
        closeStep(state)
        break
      case 'assistant/message':
        if (state.stepOpen && event.surfaceOp === 'append') for (const call of callsOf(event.data.content)) state.pending.push({ call, started: false })
        break
      case 'tool/call': {
        const pending = state.pending.find(({ call, started }) => call.id === event.data.callId && !started)
        if (pending !== undefined) pending.started = true
        break
      }
      case 'tool/result': {
        if (event.surfaceOp !== 'append') break
        const index = state.pending.findIndex(({ call }) => call.id === event.data.callId)
        if (index >= 0) state.pending.splice(index, 1)
        break
      }
    }
    return state
  },
}

/** No step outlives its turn, in damaged logs neither, so that a turn can be read from its start alone. */
function closeStep(state: TurnState): void {
  state.stepOpen = false
  state.pending = []
}

export interface RequestState {
  header: SessionEvent<'request/header'> | null
  context: SessionEvent<'request/context'> | null
  /** The newest `session/end-seed`; -1 in a session that inherited nothing. */
  endSeedSeq: Seq
}

export const requestFold: Fold<RequestState> = {
  init: () => ({ header: null, context: null, endSeedSeq: -1 }),
  apply(state, event) {
    if (event.type === 'request/header') state.header = event
    else if (event.type === 'request/context') state.context = event
    else if (event.type === 'session/end-seed') state.endSeedSeq = event.seq
    return state
  },
}

/** Anything folds can be read through: a session, or a bare log. */
export interface FoldReader {
  read<S>(fold: Fold<S>): S
}

/** The newest turn's number, open or not; 0 before the first. */
export function lastTurn(session: FoldReader): number {
  return session.read(turnFold).turn
}

export function openTurn(session: FoldReader): number | null {
  const { turn, turnOpen } = session.read(turnFold)
  return turnOpen ? turn : null
}

export function openStep(session: FoldReader): { readonly turn: number; readonly step: number } | null {
  const { turn, step, stepOpen } = session.read(turnFold)
  return stepOpen ? { turn, step } : null
}

/** The unanswered calls of the open step, in the model's order. */
export function pendingCalls(session: FoldReader): ToolCallBlock[] {
  return session.read(turnFold).pending.map(({ call }) => call)
}

/** The latest logged request header: what the next request repeats unless something changed. */
export function latestHeader(session: FoldReader): SessionEvent<'request/header'> | null {
  return session.read(requestFold).header
}

/** The latest logged route with its capacity. */
export function latestContext(session: FoldReader): SessionEvent<'request/context'> | null {
  return session.read(requestFold).context
}

/** The newest `session/end-seed`: what stands before it belongs to an earlier lifecycle. -1 when nothing was inherited. */
export function endSeedSeq(session: FoldReader): Seq {
  return session.read(requestFold).endSeedSeq
}
