/**
 * Storage: what a session needs from the store that keeps its log. `ctx.sessionPersistence` provides it.
 */
import type { Seq, SessionEvent } from './events.ts'

export interface SessionHeader {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly cwd?: string
  /** The session this one was forked from, and the first seq that it did not inherit. */
  readonly parent?: { readonly id: string; readonly seq: Seq }
}

/** Where committed events go, in order. It is no observer: a session cannot commit an event that its sink has not seen. */
export interface EventSink {
  /** Takes the event; synchronous, must not throw for what `flush` can report. */
  append(event: SessionEvent): void
  /** Resolves once everything taken so far survives power loss; rejects naming the cause when it does not. */
  flush(): Promise<void>
}

/** One open session of a store; its only writer. */
export interface SessionStore extends EventSink {
  readonly header: SessionHeader
  /** What opening found and set aside, in words for a person. */
  readonly notices: readonly string[]
  read(from?: Seq): Iterable<SessionEvent>
  /** Flushes and lets go of the session. */
  close(): Promise<void>
}

/** The process that writes to a session. */
export interface SessionHolder {
  readonly pid: number
  readonly host: string
  /** When that process began. Milliseconds since the epoch. */
  readonly startedAt: number
}

export interface SessionListing {
  readonly header: SessionHeader
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
  readonly bytes: number
  /** Absent while nobody writes to it. */
  readonly holder?: SessionHolder
}

export interface SessionStorage {
  create(header: SessionHeader): Promise<SessionStore>
  open(id: string): Promise<SessionStore>
  list(): Promise<readonly SessionListing[]>
}
