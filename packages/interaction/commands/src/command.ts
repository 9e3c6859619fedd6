/**
 * Commands: what one is, and what becomes of a line that names it.
 *
 * Pure.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Session } from '@deepseek-ai/dsh-session'

export interface CommandContext {
  readonly agent: Agent
  /** The agent's. */
  readonly session: Session
  /** Aborts when whoever typed the command gives it up, or when the command is unloaded. */
  readonly signal: AbortSignal
}

export interface Command {
  /** Lower-case letters, digits and hyphens, a letter first; without the slash. */
  readonly name: string
  /** One line for a menu. */
  readonly description: string
  /** How it is typed: `/name <what it takes>`; by default the bare name. */
  readonly usage?: string
  /**
   * Does it, and says in a line or a few what was done. It may run while the agent does; a command that must not decides
   * that itself. Throws a {@link CommandError} for a "no" that is meant for the person; anything else counts as a fault of
   * the command.
   */
  run(args: string, context: CommandContext): string | Promise<string>
}

/** Why a command did not do what it was asked, in words for the person who asked. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** As logged: the id names the `command/run` and its `command/done`. */
export type CommandOutcome = { readonly commandId: string } & ({ readonly text: string } | { readonly error: string })

export function usageOf({ name, usage = `/${name}` }: Pick<Command, 'name' | 'usage'>): string {
  return usage
}
