/**
 * A test's context under its invariants: whatever is loaded after this call is judged.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { SessionGuard } from '@deepseek-ai/dsh-session'
import { InvariantService } from './service.ts'

export interface UnderInvariants {
  /** For sessions that the test makes by hand. */
  readonly guard: SessionGuard
  /** Violations that vetoed nothing, because they close a step or a turn; a test ends with none. */
  readonly reported: readonly string[]
}

/** The logger's number for errors. */
const ERROR = 1

export async function underInvariants(ctx: Context): Promise<UnderInvariants> {
  const reported: string[] = []
  ctx.logger.exporter({ levels: { default: ERROR }, export: ({ name, args }) => void (name === 'invariants' && reported.push(args.slice(1).join(' '))) })
  await ctx.plugin(InvariantService)
  return { guard: ctx.invariants.guard, reported }
}
