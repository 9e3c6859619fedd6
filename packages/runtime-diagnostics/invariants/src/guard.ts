/**
 * Guard: invariants as the judge of a session's next event.
 *
 * Pure, but for `report`. An invariant is a fold, so the session itself keeps its state: it is what every committed event made
 * it, wherever the invariant came from and however late, and an event that was refused never touched it.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { Invariant, SessionEvent, SessionGuard, SurfaceChange, Violation } from '@deepseek-ai/dsh-session'

/** An event that must not come next; one sentence an invariant violated. */
export class InvariantViolationError extends Error {
  override readonly name = 'InvariantViolationError'
  readonly violations: readonly Violation[]

  constructor(sessionId: string, { seq, type }: SessionEvent, violations: readonly Violation[]) {
    const sentences = violations.map(({ invariant, message }) => `${message} (${invariant})`)
    super(`event ${seq} (${type}) of session ${sessionId} violates an invariant: ${sentences.join('; ')}`)
    this.violations = violations
  }
}

/** What closes a step or a turn must always be possible, or nobody could get out of a broken one. */
function isOnlyReported({ type }: SessionEvent): boolean {
  return type === 'step/end' || type === 'turn/end'
}

/**
 * A guard that refuses what any of the invariants objects to; of a `step/end` or `turn/end` it only tells `report`, whose
 * throws it passes on. `invariants` is read anew for each event.
 *
 * The guard throws {@link InvariantViolationError}.
 */
export function guardOf(invariants: Iterable<Invariant<unknown>>, report: (violation: InvariantViolationError) => void): SessionGuard {
  return (event, change, session) => {
    const violations: Violation[] = []
    for (const invariant of invariants) {
      for (const message of objections(invariant, session.read(invariant), event, change)) violations.push({ seq: event.seq, invariant: invariant.name, message })
    }
    if (violations.length === 0) return
    const error = new InvariantViolationError(session.id, event, violations)
    if (!isOnlyReported(event)) throw error
    report(error)
  }
}

/** A check that fails has not passed: that is an objection, too. */
function objections(invariant: Invariant<unknown>, state: unknown, event: SessionEvent, change: SurfaceChange | null): readonly string[] {
  try {
    return invariant.violations(state, event, change)
  } catch (error) {
    return [`the check itself failed: ${messageOf(error)}`]
  }
}
