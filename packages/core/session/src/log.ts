/**
 * Log: events, the surface and every fold, moving together.
 *
 * Pure. `plan` judges a candidate, `commit` takes it in; nothing is ever edited or removed. A fold is caught up when it is
 * read, with the events it has not seen, so a question costs what happened since the last one.
 *
 * Where a source can read events back, the log keeps in memory what is on the surface and what is recent:
 *
 *     seq      0 ……………………………………………… recentFrom ……………… length
 *     memory     ·  ·  ■  ·  ·  ■  ■  ·  ■■■■■■■■■■■■■■■■■■        ■ held   · read back when asked for
 *                      current entries    all of them
 *
 * Every fold that was read before has seen what leaves memory; only one that is read for the first time goes back to the
 * source, once, from the first event on. Reading it while the log is still empty saves that.
 */
import { isSurfaceType, type Seq, type SessionEvent } from './events.ts'
import type { Fold, LogView, SurfaceChange } from './fold.ts'
import { freezeParsed } from './json.ts'
import { checkShape } from './shape.ts'
import type { EventSource } from './storage.ts'
import { Surface } from './surface.ts'

export interface EventLogInit {
  /** Reads back every event committed here. Without it, all of them stay in memory. */
  readonly source?: EventSource
  /** The newest events, at least, that stay in memory whatever they are; 256 by default, a few steps of a loop. */
  readonly recentEvents?: number
}

interface FoldCell {
  readonly fold: Fold<unknown>
  state: unknown
  /** First seq not seen. */
  next: Seq
  /** Entries on the surface before `next`. */
  length: number
}

const NOTHING_REMOVED: readonly Seq[] = Object.freeze([])

export class EventLog implements LogView {
  readonly surface = new Surface()
  private readonly source: EventSource | undefined
  private readonly recentEvents: number
  /** Undefined where the event has left memory. */
  private readonly events: (SessionEvent | undefined)[] = []
  /** From here on all events are in memory, and every fold ever read has seen all before. */
  private recentFrom: Seq = 0
  /** What each replace did; an append needs no record, it lands at the end. */
  private readonly replacements = new Map<Seq, SurfaceChange>()
  private readonly cells = new Map<Fold<unknown>, FoldCell>()

  constructor({ source, recentEvents = 256 }: EventLogInit = {}) {
    this.source = source
    this.recentEvents = recentEvents
  }

  get length(): number {
    return this.events.length
  }

  /** A shadowed or log-only event that left memory is read back: equal, though not identical to what was appended. */
  at(seq: Seq): SessionEvent {
    const event = this.events[seq]
    if (event !== undefined) return event
    if (!Number.isInteger(seq) || seq < 0 || seq >= this.events.length) {
      throw new RangeError(`no event ${seq}: the log has ${this.events.length} events, numbered from 0`)
    }
    return freezeParsed(this.source!.at(seq))
  }

  *from(seq: Seq): Generator<SessionEvent> {
    let next = seq
    const { recentFrom } = this
    if (next < recentFrom) {
      for (const event of this.readBack(next, recentFrom)) yield event
      next = recentFrom
    }
    for (; next < this.events.length; next++) yield this.at(next)
  }

  /** @throws InvalidEventError; nothing was changed. */
  plan(event: SessionEvent): SurfaceChange | null {
    checkShape(event, this.length)
    return this.surface.plan(event, this)
  }

  /** Takes in a frozen event with the change just planned for it. */
  commit(event: SessionEvent, change: SurfaceChange | null): void {
    this.events.push(event)
    if (change !== null) {
      if (change.removed.length > 0) this.replacements.set(event.seq, change)
      this.surface.commit(event.seq, change)
    }
    if (this.source !== undefined) this.forget(change)
  }

  /**
   * Takes in the next event that a store reads: fresh from its text and nobody else's.
   *
   * @throws InvalidEventError; nothing was changed.
   */
  load(event: SessionEvent): void {
    const change = this.plan(event)
    this.commit(freezeParsed(event), change)
  }

  /** The state of `fold` after every event so far. */
  read<S>(fold: Fold<S>): S {
    let cell = this.cells.get(fold as Fold<unknown>)
    if (cell === undefined) {
      cell = { fold: fold as Fold<unknown>, state: fold.init(), next: 0, length: 0 }
      this.cells.set(cell.fold, cell)
    }
    this.catchUp(cell)
    return cell.state as S
  }

  /** Every fold that was ever read here. */
  folds(): Iterable<Fold<unknown>> {
    return this.cells.keys()
  }

  private catchUp(cell: FoldCell): void {
    if (cell.next < this.recentFrom) {
      for (const event of this.readBack(cell.next, this.recentFrom)) this.apply(cell, event)
    }
    while (cell.next < this.events.length) this.apply(cell, this.at(cell.next))
  }

  private apply(cell: FoldCell, event: SessionEvent): void {
    let change: SurfaceChange | null = null
    if (isSurfaceType(event.type)) {
      change = this.replacements.get(event.seq) ?? { at: cell.length, removed: NOTHING_REMOVED }
    }
    cell.state = cell.fold.apply(cell.state, event, change)
    cell.next += 1
    if (change !== null) cell.length += 1 - change.removed.length
  }

  /** Old events in one pass over the source; those in memory as they are there. */
  private *readBack(from: Seq, to: Seq): Generator<SessionEvent> {
    if (from < 0) this.at(from) // throws
    for (const event of this.source!.read(from)) {
      yield this.events[event.seq] ?? freezeParsed(event)
      if (event.seq + 1 >= to) return
    }
  }

  /** Lets go of what need not be in memory after a commit; O(1) an event over a session's life. */
  private forget(change: SurfaceChange | null): void {
    for (const seq of change?.removed ?? NOTHING_REMOVED) if (seq < this.recentFrom) this.events[seq] = undefined
    if (this.events.length - this.recentFrom < 2 * this.recentEvents) return
    for (const cell of this.cells.values()) this.showRecent(cell)
    const to = this.events.length - this.recentEvents
    for (let seq = this.recentFrom; seq < to; seq++) {
      if (this.surface.positionOf(seq) === undefined) this.events[seq] = undefined
    }
    this.recentFrom = to
  }

  /** A fold that throws breaks its law: whoever reads it hears of that, not whoever happens to append. */
  private showRecent(cell: FoldCell): void {
    if (cell.next < this.recentFrom) return
    try {
      this.catchUp(cell)
    } catch {
      // It stays behind, and its next reader meets the same event again.
    }
  }
}
