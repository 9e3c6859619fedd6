/**
 * The plugin: `/compact` on top of `ctx.compaction`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { CommandError, usageOf, type Command } from '@deepseek-ai/dsh-commands'
import { ManualCompactionError } from '@deepseek-ai/dsh-compaction'
import { failureText, resultText } from './words.ts'

export class CompactCommand {
  static readonly inject = ['commands', 'compaction']

  constructor(ctx: Context) {
    const command: Command = {
      name: 'compact',
      description: 'Replace the older part of the conversation by a summary',
      async run(args, { agent, signal }) {
        if (args !== '') throw new CommandError(`Usage: ${usageOf(command)} (it takes no argument)`)
        try {
          return resultText(await ctx.compaction.compactNow(agent, signal))
        } catch (error) {
          throw error instanceof ManualCompactionError ? new CommandError(failureText(error), { cause: error }) : error
        }
      },
    }
    ctx.commands.register(command)
  }
}
