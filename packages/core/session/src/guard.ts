/**
 * Guard: how invariants come to judge a session's events before it takes them.
 *
 * The registry is `ctx.invariants`, where that is loaded; this package knows of it no more than stands here.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { SessionEvent } from './events.ts'
import type { SurfaceChange } from './fold.ts'
import type { Invariant } from './invariants.ts'
import type { Session } from './session.ts'

/**
 * Judges an event that could be committed, before sink, log, surface or anybody has seen it. What it throws refuses the event
 * and leaves no trace. It may read the session, and may not append.
 */
export type SessionGuard = (event: SessionEvent, change: SurfaceChange | null, session: Session) => void

export interface InvariantRegistry {
  /** Belongs to the calling context and goes with it. */
  register(invariant: Invariant<unknown>): () => void
  /** Judges by whatever is registered at that moment. */
  readonly guard: SessionGuard
}

/** Registers `invariant` where and while `ctx.invariants` is loaded, and tells `onRegistry` of it; null when it goes. */
export function registerInvariant(ctx: Context, invariant: Invariant<unknown>, onRegistry?: (registry: InvariantRegistry | null) => void): void {
  ctx.inject(['invariants'], inner => {
    const registry = inner.get('invariants') as InvariantRegistry
    registry.register(invariant)
    if (onRegistry === undefined) return
    inner.effect(() => {
      onRegistry(registry)
      return () => onRegistry(null)
    }, 'use ctx.invariants')
  })
}
