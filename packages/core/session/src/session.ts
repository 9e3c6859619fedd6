/**
 * Session: one conversation's log with its single writer.
 *
 * Every change is an append, and an append is whole or not at all: the event is frozen, numbered, planned on the surface and
 * judged by the guard before anything changes; then the sink takes it, the log grows, the surface follows, and the observer
 * hears of it.
 */
import type { Message } from '@deepseek-ai/dsh-llm'
import type { AppendArguments, Position, Seq, SessionEvent, SessionEventType, SurfacePlacement } from './events.ts'
import type { Fold, LogView, SurfaceChange } from './fold.ts'
import type { SessionGuard } from './guard.ts'
import { snapshot } from './json.ts'
import { EventLog } from './log.ts'
import { derivedMessages, messagesFold } from './messages.ts'
import type { EventSink, SessionHeader } from './storage.ts'

/** Told after the fact, of what happens once the session is constructed; must not throw and may not append. */
export interface SessionObserver {
  event(event: SessionEvent, session: Session): void
  flushed(session: Session): void
}

export interface SessionInit {
  readonly header: SessionHeader
  /** The log to write, from here on the session's own; an empty one in memory by default. What it holds is inherited. */
  readonly log?: EventLog
  /**
   * Inherited events, numbered from where the log ends; a `session/end-seed` follows them, also when there are none. The
   * session takes copies, sharing what is frozen. Where there is a sink, it holds them already.
   */
  readonly seed?: Iterable<SessionEvent>
  readonly sink?: EventSink
  /** Not asked of inherited events. */
  readonly guard?: SessionGuard
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
  private readonly events: EventLog
  private readonly sink: EventSink | undefined
  private readonly guard: SessionGuard | undefined
  private readonly observer: SessionObserver | undefined
  private readonly now: () => number
  private notifying = false
  private closed = false

  /** @throws InvalidEventError or TypeError naming the first seed event that no log can hold. */
  constructor(init: SessionInit) {
    this.header = snapshot(init.header, 'header')
    this.events = init.log ?? new EventLog()
    this.sink = init.sink
    this.now = init.now ?? Date.now
    if (init.seed !== undefined) {
      for (const event of init.seed) admit(this.events, event)
      this.append('session/end-seed', {})
    }
    this.guard = init.guard
    this.observer = init.observer
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
   * @throws InvalidEventError or TypeError naming the offending value, or what the guard throws; log, surface, folds and sink
   * are untouched.
   * @throws Error when the session is closed, or when called by an observer of this session.
   */
  append<T extends SessionEventType>(type: T, ...[data, surface]: AppendArguments<T>): SessionEvent<T> {
    if (this.closed) throw new Error(`session ${this.id} is closed; resume it to append ${type}`)
    if (this.notifying) throw new Error(`an observer of session ${this.id} may not append ${type} while it is being told of an event`)
    const event = this.candidate(type, data, surface)
    const change = this.events.plan(event)
    this.guard?.(event, change, this)
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

  /** The message that the entry at `position` derives; null for an assistant message without content, and where no entry is. */
  messageAt(position: Position): Message | null {
    return this.events.read(messagesFold).slots[position] ?? null
  }

  /** Resolves once every event so far is durable; at once where nothing stores them. */
  async flush(): Promise<void> {
    await this.sink?.flush()
    this.observer?.flushed(this)
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
      ...placement(snapshot(surface ?? {}, `${type} surface`)),
    }) as SessionEvent
  }

  private notify(event: SessionEvent): void {
    this.notifying = true
    try {
      this.observer?.event(event, this)
    } finally {
      this.notifying = false
    }
  }
}

/** The two keys of a placement and no other, so that nothing else of an event can be set through it. */
function placement({ surfaceOp, sourceEventSeqs }: Partial<SurfacePlacement>): Partial<SurfacePlacement> {
  return {
    ...(surfaceOp === undefined ? {} : { surfaceOp }),
    ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs }),
  }
}

/**
 * Takes one inherited event into a log, whatever else it carries; tells what it did to the surface.
 *
 * @throws InvalidEventError when its number, shape or surface operation is not what a log can hold there; TypeError when it is
 * not plain JSON.
 */
export function admit(log: EventLog, event: SessionEvent): SurfaceChange | null {
  const frozen = snapshot(event, `event ${log.length}`)
  const change = log.plan(frozen)
  log.commit(frozen, change)
  return change
}
