/**
 * `ctx.invariants`: what must hold of every session, judged before each event is taken.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { Invariant, InvariantRegistry, SessionGuard } from '@deepseek-ai/dsh-session'
import { guardOf } from './guard.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    invariants: InvariantService
  }
}

export class InvariantService extends Service implements InvariantRegistry {
  /** For sessions that are made by hand; those of `ctx.sessions` have it. */
  readonly guard: SessionGuard
  private readonly registered = new Set<Invariant<unknown>>()

  constructor(ctx: Context) {
    super(ctx, 'invariants')
    this.guard = guardOf(this.registered, ({ message }) => ctx.logger('invariants').error('%s', message))
    ctx.on('session/loading', log => {
      for (const invariant of this.registered) log.read(invariant)
    })
  }

  /**
   * Belongs to the calling context and goes with it. What stands in a log already is not judged, but known to the invariant.
   *
   * @throws Error when another one has its name.
   */
  register(invariant: Invariant<unknown>): () => void {
    const { registered } = this
    const { name } = invariant
    return this.ctx.effect(() => {
      if (this.names().includes(name)) throw new Error(`an invariant "${name}" is registered already`)
      registered.add(invariant)
      return () => void registered.delete(invariant)
    }, `ctx.invariants.register(${JSON.stringify(name)})`)
  }

  /** In the order of their registration. */
  names(): string[] {
    return [...this.registered].map(({ name }) => name)
  }
}
