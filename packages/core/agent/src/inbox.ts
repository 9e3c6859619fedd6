/**
 * The inbox: input that was accepted and has not reached the model's sight yet.
 *
 *     inbox/spliced {inserted}  ──►  waiting  ──►  user/message with its inputId   (entered)
 *                                        └──────►  inbox/spliced {removed}         (withdrawn)
 *
 * Pure: a fold and its queries. Entering the surface is itself what empties a place here, so a crash or a cancel in between
 * loses nothing and doubles nothing.
 */
import type { Fold, InboxItem, InputKind, Seq, SessionEvent } from '@deepseek-ai/dsh-session'

interface Waiting {
  readonly item: InboxItem
  /** The `inbox/spliced` that brought it. */
  readonly seq: Seq
}

type InboxState = { readonly [kind in InputKind]: Map<string, Waiting> }

const inboxFold: Fold<InboxState> = {
  init: () => ({ send: new Map(), steer: new Map(), inject: new Map() }),
  apply(state, event) {
    if (event.type === 'inbox/spliced') splice(state, event)
    else if (event.type === 'user/message' && event.data.source.inputId !== undefined) remove(state, event.data.source.inputId)
    return state
  },
}

function splice(state: InboxState, { seq, data }: SessionEvent<'inbox/spliced'>): void {
  for (const inputId of data.removed ?? []) remove(state, inputId)
  for (const item of data.inserted ?? []) state[item.kind]?.set(item.inputId, { item, seq })
}

function remove(state: InboxState, inputId: string): void {
  state.send.delete(inputId)
  state.steer.delete(inputId)
  state.inject.delete(inputId)
}

/** The part of a session that the inbox reads. */
export interface InboxSession {
  readonly header: { readonly parent?: { readonly seq: Seq } }
  read<S>(fold: Fold<S>): S
}

/** Everything that waits, in the order it was accepted. */
export function pendingInput(session: InboxSession): InboxItem[] {
  return inOrder([...waiting(session, 'send'), ...waiting(session, 'steer'), ...waiting(session, 'inject')])
}

export function isPending(session: InboxSession, inputId: string): boolean {
  const { send, steer, inject } = session.read(inboxFold)
  const found = send.get(inputId) ?? steer.get(inputId) ?? inject.get(inputId)
  return found !== undefined && isOwn(session, found)
}

/** What joins the next step: all steering and injected context, and one queued message where the step opens a turn. */
export function nextInput(session: InboxSession, opensTurn: boolean): InboxItem[] {
  const joining = [...waiting(session, 'steer'), ...waiting(session, 'inject')]
  const queued = opensTurn ? first(waiting(session, 'send')) : undefined
  return inOrder(queued === undefined ? joining : [...joining, queued])
}

/** The input that would open a turn now: the oldest queued message, else the oldest steering; null when nothing wakes. */
export function wakingInput(session: InboxSession): InboxItem | null {
  const found = first(waiting(session, 'send')) ?? first(waiting(session, 'steer'))
  return found?.item ?? null
}

export function hasSteering(session: InboxSession): boolean {
  return first(waiting(session, 'steer')) !== undefined
}

function* waiting(session: InboxSession, kind: InputKind): Generator<Waiting> {
  for (const entry of session.read(inboxFold)[kind].values()) if (isOwn(session, entry)) yield entry
}

/** A fork begins with its parent's log, but what waited there waits for the parent. */
function isOwn({ header: { parent } }: InboxSession, { seq }: Waiting): boolean {
  return parent === undefined || seq >= parent.seq
}

function first(entries: Generator<Waiting>): Waiting | undefined {
  for (const entry of entries) return entry
  return undefined
}

function inOrder(entries: Waiting[]): InboxItem[] {
  return entries.toSorted((a, b) => a.seq - b.seq).map(({ item }) => item)
}
