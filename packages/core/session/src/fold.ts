/**
 * Folds: the one way to derive state from a log.
 *
 * Pure. Laws: where reads fall is unobservable; `apply` is total (a fault becomes state, and the query throws it);
 * integers only, scaling happens in the query; no payload of a shadowed event is kept; only committed events are seen.
 * States may be mutated by `apply`, so packages export queries, never states.
 */
import type { Position, Seq, SessionEvent } from './events.ts'

/** What an event did to the surface: `removed` left at `at`, and the event itself took that place. An append removes none. */
export interface SurfaceChange {
  readonly at: Position
  readonly removed: readonly Seq[]
}

export interface Fold<S> {
  init(): S
  /** `change` is null for an event that the model does not see. */
  apply(state: S, event: SessionEvent, change: SurfaceChange | null): S
}

/** A log to read: seqs are indices. A view, never a copy. */
export interface LogView {
  readonly length: number
  /**
   * Frozen. What is neither on the surface nor recent may be read back from where it is stored, at the cost of a synchronous
   * read, as an equal object; many such events are better had by `from`.
   *
   * @throws RangeError naming the seq and the length when there is no such event; what the store says when it cannot be read.
   */
  at(seq: Seq): SessionEvent
  /** In order, those too that are appended meanwhile. */
  from(seq: Seq): Iterable<SessionEvent>
}
