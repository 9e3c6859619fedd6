/**
 * `dsh` and `dsh chat`: the agent in a terminal; without a key what can be shown without one.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-tui'
import { bootComposition, withServices } from './composition.ts'
import { CONVERSATION_SERVICES, openConversation, type ConversationFlags } from './conversation.ts'
import { demo } from './demo.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'
import { firstRun } from './first-run.ts'

export interface ChatCommand extends ConversationFlags {
  /** The command was typed, not only meant. */
  readonly asked: boolean
}

/** The terminal was closed, or somebody ends the process. */
const GOING = ['SIGHUP', 'SIGTERM'] as const

export async function chat(command: ChatCommand): Promise<ExitCode> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    if (command.asked) throw new UsageError('a chat needs a terminal; dsh run "…" answers one prompt without')
    return demo(command)
  }
  const root = await bootComposition(command, { dir: command.dir })
  try {
    if (root.get('llm')?.list().length !== 0) return await withServices(root, [...CONVERSATION_SERVICES, 'tui'], ctx => talk(ctx, command))
  } finally {
    await root.fiber.dispose()
  }
  return firstRun(command)
}

async function talk(ctx: Context, command: ChatCommand): Promise<ExitCode> {
  const conversation = await openConversation(ctx, command)
  const { agent } = conversation
  agent.wake() // input that a crash left waiting
  let last = agent
  let isTold = false
  /** The interface leaves by itself, and what follows is as ever; the second time is once too often. */
  const leave = (): void => {
    if (isTold) process.exit(EXIT.cancelled)
    isTold = true
  }
  for (const signal of GOING) process.on(signal, leave)
  try {
    last = await ctx.tui.run({ agent })
  } finally {
    await ctx.agents.release(last)
    await ctx.sessions.close(last.session)
    await conversation.close()
    for (const signal of GOING) process.off(signal, leave)
  }
  process.stdout.write(`To go on: dsh --resume ${last.id}\n`)
  return isTold ? EXIT.cancelled : EXIT.clean
}
