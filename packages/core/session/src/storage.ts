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

/** Where taken events are read back, flushed or not: equal to what was appended, and each time the caller's own. Synchronous. */
export interface EventSource {
  /** One event; costs a read of it. @throws RangeError when there is no such event. */
  at(seq: Seq): SessionEvent
  /** The events from `from` on, as they are when iteration begins, in one pass. */
  read(from?: Seq): Iterable<SessionEvent>
}

/** One open session of a store; its only writer. Once closed it takes nothing more, and is still read. */
export interface SessionStore extends EventSink, EventSource {
  readonly header: SessionHeader
  /** What opening found and set aside, in words for a person. */
  readonly notices: readonly string[]
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
  /** What a person said first. Absent where nobody has spoken, or the store cannot tell without reading the whole log. */
  readonly title?: string
  /** Tokens of the newest answered request with its answer, as the provider counted them. Absent like `title`, and while that is outdated. */
  readonly tokens?: number
  /** Absent while nobody writes to it. */
  readonly holder?: SessionHolder
}

export interface SessionStorage {
  create(header: SessionHeader): Promise<SessionStore>
  /**
   * @param take is given every stored event in order, each its own from then on: opening reads them all to check them, and
   * this is the one pass. What it throws, the opening fails with; nothing was changed then.
   */
  open(id: string, take?: (event: SessionEvent) => void): Promise<SessionStore>
  list(): Promise<readonly SessionListing[]>
}
