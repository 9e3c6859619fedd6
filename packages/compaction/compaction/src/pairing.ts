/**
 * Pairing: which cuts of the surface part no tool call from its result.
 *
 * Pure. A result answers the nearest preceding open occurrence of its id, in surface order; ids may repeat. A cut is *safe*
 * when no call is open across it:
 *
 *     user     calls a,b   result b   result a   user
 *    0        1          ✗          ✗           4      5
 */
import { callsOf } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, type Fold, type FoldReader, type Position, type Seq, type Session, type SurfaceEvent } from '@deepseek-ai/dsh-session'

/** What of an entry matters here. No payload. */
interface Pairing {
  readonly seq: Seq
  readonly calls: readonly string[]
  readonly result: string | null
}

interface PairingState {
  /** One place an entry, in surface order. */
  readonly entries: Pairing[]
  /** Calls open at the cut before each entry. */
  readonly openBefore: number[]
  /** Open occurrences by id at the end of the surface, and their number. */
  open: Map<string, number>
  openCount: number
  /** Results on the surface that answer nothing. */
  readonly orphans: Set<Seq>
}

const NO_CALLS: readonly string[] = Object.freeze([])

function pairingOf(event: SurfaceEvent): Pairing {
  switch (event.type) {
    case 'user/message':
      return { seq: event.seq, calls: NO_CALLS, result: null }
    case 'assistant/message': {
      const calls = callsOf(event.data.content)
      return { seq: event.seq, calls: calls.length === 0 ? NO_CALLS : calls.map(call => call.id), result: null }
    }
    case 'tool/result':
      return { seq: event.seq, calls: NO_CALLS, result: event.data.callId }
  }
}

const pairingFold: Fold<PairingState> = {
  init: () => ({ entries: [], openBefore: [], open: new Map(), openCount: 0, orphans: new Set() }),
  apply(state, event, change) {
    if (change === null || !isSurfaceEvent(event)) return state
    const entry = pairingOf(event)
    if (change.removed.length === 0) {
      state.entries.push(entry)
      state.openBefore.push(state.openCount)
      open(state, entry)
      return state
    }
    const { at, removed } = change
    const last = at + removed.length
    const old = state.entries[at]!
    const sameRole = removed.length === 1 && old.result === entry.result && old.calls.length === 0 && entry.calls.length === 0
    const closed = state.openBefore[at] === 0 && (state.openBefore[last] ?? state.openCount) === 0 && entry.calls.length === 0 && entry.result === null
    for (const seq of removed) {
      if (state.orphans.delete(seq) && sameRole) state.orphans.add(entry.seq)
    }
    state.entries.splice(at, removed.length, entry)
    state.openBefore.splice(at, removed.length, state.openBefore[at]!)
    // Neither a rewritten result nor a message in the place of whole units changes what is open elsewhere.
    if (!sameRole && !closed) repair(state, at)
    return state
  },
}

/** Takes one more entry at the end into account. */
function open(state: PairingState, { seq, calls, result }: Pairing): void {
  for (const id of calls) state.open.set(id, (state.open.get(id) ?? 0) + 1)
  state.openCount += calls.length
  if (result === null) return
  const occurrences = state.open.get(result)
  if (occurrences === undefined) {
    state.orphans.add(seq)
    return
  }
  if (occurrences === 1) state.open.delete(result)
  else state.open.set(result, occurrences - 1)
  state.openCount -= 1
}

/** Counts again from the last safe cut at or before `at`: a replace has parted calls from results. */
function repair(state: PairingState, at: Position): void {
  let cut = at
  while (state.openBefore[cut] !== 0) cut -= 1
  state.open = new Map()
  state.openCount = 0
  for (let position = cut; position < state.entries.length; position++) {
    const entry = state.entries[position]!
    state.openBefore[position] = state.openCount
    state.orphans.delete(entry.seq)
    open(state, entry)
  }
}

/** Calls open across cut `cut` of the surface, 0..n; 0 means that it is safe. Never throws for a cut in range. */
export function openCallsAt(session: FoldReader, cut: number): number {
  const state = session.read(pairingFold)
  return state.openBefore[cut] ?? state.openCount
}

/**
 * Whether the cut before the entry `seq` is safe.
 *
 * @throws Error when `seq` is no current entry, or when a result on the surface answers no call.
 */
export function toolPairingBalancedBefore(session: Session, seq: Seq): boolean {
  return openCallsAt(session, entryPosition(session, seq)) === 0
}

/**
 * Whether the cut after the entry `seq` is safe.
 *
 * @throws Error when `seq` is no current entry, or when a result on the surface answers no call.
 */
export function toolPairingBalancedAfter(session: Session, seq: Seq): boolean {
  return openCallsAt(session, entryPosition(session, seq) + 1) === 0
}

function entryPosition(session: Session, seq: Seq): Position {
  const { orphans } = session.read(pairingFold)
  for (const orphan of orphans) throw new Error(`the tool result at seq ${orphan} of session ${session.id} answers no call before it`)
  const position = session.surface.positionOf(seq)
  if (position === undefined) throw new Error(`seq ${JSON.stringify(seq)} is no current entry of the surface of session ${session.id}`)
  return position
}
