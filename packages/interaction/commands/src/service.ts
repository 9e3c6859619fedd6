/**
 * `ctx.commands`: what a person can ask for with a slash, and the record of what came of it.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { traceOf, type Session } from '@deepseek-ai/dsh-session'
import { CommandError, type Command, type CommandOutcome } from './command.ts'
import { closestNames, isCommandName, parseCommand, type CommandLine } from './line.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    commands: CommandService
  }
}

interface Registered {
  readonly command: Command
  /** Aborts what runs when the command goes. */
  readonly unloading: AbortController
}

export class CommandService extends Service {
  private readonly registered = new Map<string, Registered>()

  constructor(ctx: Context) {
    super(ctx, 'commands')
  }

  /**
   * Belongs to the calling context and goes with it; what runs then is aborted.
   *
   * @throws Error when the name cannot be typed or is taken.
   */
  register(command: Command): () => void {
    const { registered } = this
    const { name } = command
    return this.ctx.effect(() => {
      if (!isCommandName(name)) throw new Error(`${JSON.stringify(name)} is no name for a command: lower-case letters, digits and hyphens, a letter first`)
      if (registered.has(name)) throw new Error(`a command /${name} is registered already`)
      const unloading = new AbortController()
      registered.set(name, { command, unloading })
      return () => {
        registered.delete(name)
        unloading.abort(new CommandError(`/${name} was unloaded`))
      }
    }, `ctx.commands.register(${JSON.stringify(name)})`)
  }

  /** By name. */
  list(): readonly Command[] {
    return [...this.registered.values()].map(({ command }) => command).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Runs a line that {@link parseCommand} takes for a command. What the person should be told is the outcome, whether that is
   * a text, an unknown name or a failure, and it stands in the log like the line itself.
   *
   * @throws Error, with nothing logged, when the line is no command or the session takes no events.
   */
  async execute(line: string, agent: Agent, signal?: AbortSignal): Promise<CommandOutcome> {
    const parsed = parseCommand(line)
    if (parsed === null) throw new Error(`no command: ${line}`)
    const { session } = agent
    // The seq of its event: unique in the log, its forks and later lifecycles, and the same when replayed.
    const commandId = `command-${session.log.length}`
    session.append('command/run', { commandId, ...parsed })
    const outcome = { commandId, ...(await this.outcomeOf(parsed, agent, signal)) }
    await this.record(session, outcome)
    return outcome
  }

  private async outcomeOf({ name, args }: CommandLine, agent: Agent, caller?: AbortSignal): Promise<{ text: string } | { error: string }> {
    const found = this.registered.get(name)
    if (found === undefined) return { error: this.unknown(name) }
    const { command, unloading } = found
    const signal = caller === undefined ? unloading.signal : AbortSignal.any([caller, unloading.signal])
    try {
      signal.throwIfAborted()
      return { text: await command.run(args, { agent, session: agent.session, signal }) }
    } catch (error) {
      if (error instanceof CommandError) return { error: error.message }
      if (signal.aborted) return { error: `/${name} was cancelled` }
      this.ctx.logger('commands').error('/%s failed: %s', name, traceOf(error))
      return { error: messageOf(error) }
    }
  }

  /** An outcome that cannot be kept, because the command closed its session or the disk is full, is an outcome all the same. */
  private async record(session: Session, outcome: CommandOutcome): Promise<void> {
    try {
      session.append('command/done', outcome)
      await session.flush()
    } catch (error) {
      this.ctx.logger('commands').warn('the outcome of %s is not stored: %s', outcome.commandId, messageOf(error))
    }
  }

  private unknown(name: string): string {
    const close = closestNames(name, this.registered.keys())
    if (close.length > 0) return `There is no command /${name}. Did you mean ${slashed(close)}?`
    const names = this.list().map(command => command.name)
    return `There is no command /${name}. ${names.length === 0 ? 'There are none.' : `There are: ${slashed(names)}.`}`
  }
}

function slashed(names: readonly string[]): string {
  return names.map(name => `/${name}`).join(', ')
}
