/**
 * Session: one conversation's log with its single writer.
 *
 * Every change is an append, and an append is whole or not at all: the event is frozen, numbered and planned on the surface
 * before anything changes; then the sink takes it, the log grows, the surface follows, and the observer hears of it.
 */
import type { Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceType, type AppendArguments, type Position, type Seq, type SessionEvent, type SessionEventType, type SurfacePlacement } from './events.ts'
import type { Fold, LogView, SurfaceChange } from './fold.ts'
import { snapshot } from './json.ts'
import { EventLog } from './log.ts'
import { derivedMessages, messagesFold } from './messages.ts'
import type { EventSink, SessionHeader } from './storage.ts'
import { InvalidEventError } from './surface.ts'

/** Told after the fact; must not throw and may not append. */
export interface SessionObserver {
  event(event: SessionEvent): void
  flushed(): void
}

export interface SessionInit {
  readonly header: SessionHeader
  /**
   * Inherited events, numbered from 0. The session takes them over and freezes them; a `session/end-seed` follows them.
   * Where there is a sink, it holds them already.
   */
  readonly seed?: Iterable<SessionEvent>
  readonly sink?: EventSink
  readonly observer?: SessionObserver
  /** Milliseconds since the epoch; the clock by default. */
  readonly now?: () => number
}

export interface SurfaceView {
  /** Live seqs in surface order; the list changes with the surface, so whoever keeps it copies it. */
  readonly entries: readonly Seq[]
  readonly replaceGeneration: number
  positionOf(seq: Seq): Position | undefined
}

export class Session {
  readonly header: SessionHeader
  private readonly events = new EventLog()
  private readonly sink: EventSink | undefined
  private readonly observer: SessionObserver | undefined
  private readonly now: () => number
  private notifying = false
  private closed = false

  /** @throws InvalidEventError naming the first seed event that no log can hold. */
  constructor(init: SessionInit) {
    this.header = snapshot(init.header, 'header')
    this.sink = init.sink
    this.observer = init.observer
    this.now = init.now ?? Date.now
    if (init.seed === undefined) return
    for (const event of init.seed) admit(this.events, event)
    this.append('session/end-seed', {})
  }

  get id(): string {
    return this.header.id
  }

  get log(): LogView {
    return this.events
  }

  get surface(): SurfaceView {
    return this.events.surface
  }

  /**
   * Adds one event. Surface types say where they go: `append('user/message', data, { surfaceOp: 'append' })`.
   *
   * @throws InvalidEventError or TypeError naming the offending value; log, surface, folds and sink are untouched.
   * @throws Error when the session is closed, or when called by an observer of this session.
   */
  append<T extends SessionEventType>(type: T, ...[data, surface]: AppendArguments<T>): SessionEvent<T> {
    if (this.closed) throw new Error(`session ${this.id} is closed; resume it to append ${type}`)
    if (this.notifying) throw new Error(`an observer of session ${this.id} may not append ${type} while it is being told of an event`)
    const event = this.candidate(type, data, surface)
    const change = this.events.plan(event)
    this.sink?.append(event)
    this.events.commit(event, change)
    if (this.observer !== undefined) this.notify(event)
    return event as SessionEvent<T>
  }

  /** The state of `fold` after every event; costs the events it has not seen. */
  read<S>(fold: Fold<S>): S {
    return this.events.read(fold)
  }

  /**
   * What the model is sent. The array is shared: an append extends it, a replace makes a new one, whoever keeps it slices.
   */
  deriveMessages(): readonly Message[] {
    return derivedMessages(this.events.read(messagesFold))
  }

  /** Resolves once every event so far is durable; at once where nothing stores them. */
  async flush(): Promise<void> {
    await this.sink?.flush()
    this.observer?.flushed()
  }

  /** Refuses every later append; what was read stays readable. The sink is its owner's to close. */
  close(): void {
    this.closed = true
  }

  /** Every fold ever read here, for those who check that live state equals replayed state. */
  folds(): Iterable<Fold<unknown>> {
    return this.events.folds()
  }

  private candidate(type: SessionEventType, data: unknown, surface: SurfacePlacement | undefined): SessionEvent {
    return Object.freeze({
      seq: this.events.length,
      time: this.now(),
      type,
      data: snapshot(data, `${type} data`),
      ...(surface === undefined ? {} : snapshot(surface, `${type} surface`)),
    }) as SessionEvent
  }

  private notify(event: SessionEvent): void {
    this.notifying = true
    try {
      this.observer?.event(event)
    } finally {
      this.notifying = false
    }
  }
}

/**
 * Takes one inherited event into a log, freezing it; tells what it did to the surface.
 *
 * @throws InvalidEventError when its number, shape or surface operation is not what a log can hold there.
 */
export function admit(log: EventLog, event: SessionEvent): SurfaceChange | null {
  const { seq, time, type, data } = event
  const refuse = (reason: string): never => {
    throw new InvalidEventError(String(type), log.length, reason)
  }
  if (seq !== log.length) refuse(`it is numbered ${JSON.stringify(seq)}, and ${log.length} comes next`)
  if (typeof type !== 'string') refuse(`its type is ${JSON.stringify(type)}`)
  if (!Number.isFinite(time)) refuse(`its time is ${JSON.stringify(time)}`)
  if (data === null || typeof data !== 'object' || Array.isArray(data)) refuse(`its data is ${JSON.stringify(data)}, not an object`)
  if (isSurfaceType(type) && event.surfaceOp === undefined) refuse('it carries no surfaceOp')
  freezeDeep(event)
  const change = log.plan(event)
  log.commit(event, change)
  return change
}

/** Freezes plain data from the leaves up; what is frozen already was frozen so. */
function freezeDeep(value: unknown): void {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return
  for (const part of Object.values(value)) freezeDeep(part)
  Object.freeze(value)
}
