/**
 * `dsh` and `dsh chat`: the agent in a terminal.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { wakingInput } from '@deepseek-ai/dsh-agent'
import { bootComposition, withServices } from './composition.ts'
import { CONVERSATION_SERVICES, openConversation, type ConversationFlags } from './conversation.ts'
import { demo } from './demo.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'

export interface ChatCommand extends ConversationFlags {
  /** The command was typed, not only meant. */
  readonly asked: boolean
}

export async function chat(command: ChatCommand): Promise<ExitCode> {
  if (!isTerminal()) {
    if (command.asked) throw new UsageError('a chat needs a terminal; dsh run "…" answers one prompt without')
    return demo(command)
  }
  const root = await bootComposition(command, { dir: command.dir })
  try {
    return await withServices(root, [...CONVERSATION_SERVICES, 'tui'], ctx => talk(ctx, command))
  } finally {
    await root.fiber.dispose()
  }
}

async function talk(ctx: Context, command: ChatCommand): Promise<ExitCode> {
  const conversation = await openConversation(ctx, command)
  const { agent, session } = conversation
  try {
    if (wakingInput(session) !== null) agent.wake()
    await (ctx as unknown as { tui: { run(options: { agent: Agent }): Promise<void> } }).tui.run({ agent })
  } finally {
    await conversation.close()
  }
  process.stdout.write(`To go on with this conversation: dsh --resume ${session.id}\n`)
  return EXIT.clean
}

function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true
}
