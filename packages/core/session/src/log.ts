/**
 * Log: events, the surface and every fold, moving together.
 *
 * Pure. `plan` judges a candidate, `commit` takes it in; nothing is ever edited or removed. A fold is caught up when it is
 * read, with the events it has not seen, so a question costs what happened since the last one.
 */
import { isSurfaceType, type Seq, type SessionEvent } from './events.ts'
import type { Fold, LogView, SurfaceChange } from './fold.ts'
import { checkShape } from './shape.ts'
import { Surface } from './surface.ts'

interface FoldCell {
  state: unknown
  /** First seq not seen. */
  next: Seq
  /** Entries on the surface before `next`. */
  length: number
}

const NOTHING_REMOVED: readonly Seq[] = Object.freeze([])

export class EventLog implements LogView {
  readonly surface = new Surface()
  private readonly events: SessionEvent[] = []
  /** What each replace did; an append needs no record, it lands at the end. */
  private readonly replacements = new Map<Seq, SurfaceChange>()
  private readonly cells = new Map<Fold<unknown>, FoldCell>()

  get length(): number {
    return this.events.length
  }

  at(seq: Seq): SessionEvent {
    const event = this.events[seq]
    if (event === undefined) throw new RangeError(`no event ${seq}: the log has ${this.events.length} events, numbered from 0`)
    return event
  }

  *from(seq: Seq): Generator<SessionEvent> {
    for (let next = seq; next < this.events.length; next++) yield this.at(next)
  }

  /** @throws InvalidEventError; nothing was changed. */
  plan(event: SessionEvent): SurfaceChange | null {
    checkShape(event, this.length)
    return this.surface.plan(event, this)
  }

  /** Takes in a frozen event with the change just planned for it. */
  commit(event: SessionEvent, change: SurfaceChange | null): void {
    this.events.push(event)
    if (change === null) return
    if (change.removed.length > 0) this.replacements.set(event.seq, change)
    this.surface.commit(event.seq, change)
  }

  /** The state of `fold` after every event so far. */
  read<S>(fold: Fold<S>): S {
    let cell = this.cells.get(fold as Fold<unknown>)
    if (cell === undefined) {
      cell = { state: fold.init(), next: 0, length: 0 }
      this.cells.set(fold as Fold<unknown>, cell)
    }
    while (cell.next < this.events.length) {
      const event = this.at(cell.next)
      let change: SurfaceChange | null = null
      if (isSurfaceType(event.type)) {
        change = this.replacements.get(cell.next) ?? { at: cell.length, removed: NOTHING_REMOVED }
      }
      cell.state = fold.apply(cell.state as S, event, change)
      cell.next += 1
      if (change !== null) cell.length += 1 - change.removed.length
    }
    return cell.state as S
  }

  /** Every fold that was ever read here. */
  folds(): Iterable<Fold<unknown>> {
    return this.cells.keys()
  }
}
