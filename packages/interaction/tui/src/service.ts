/**
 * `ctx.tui`: the agent in a terminal.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Terminal } from '@earendil-works/pi-tui'
import { z } from 'zod'
import { blocksOf } from './blocks.ts'
import { Chat } from './chat.ts'
import { interfaceCommands } from './commands.ts'
import { saidSeqs } from './facts.ts'
import { ScreenTerminal } from './terminal.ts'
import { theme } from './theme.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    tui: TuiService
  }
}

const Config = z
  .strictObject({
    /** Whether the wheel scrolls and a click opens; where it does, most terminals select text while Shift is held. */
    mouse: z.boolean().default(true),
  })
  .prefault({})

export interface TuiOptions {
  readonly agent: Agent
  /** Said first, to the person alone. */
  readonly intro?: string
  /** The process's own by default. */
  readonly terminal?: Terminal
  /** By default whether `NO_COLOR` is unset. */
  readonly color?: boolean
}

/** Levels as the logger numbers them: error 0, info 1, warn 2. */
const UP_TO_WARN = 2

/** Who sends one wants the process to end, not its terminal to be left in pieces. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export class TuiService extends Service {
  static readonly Config = Config
  static readonly inject = ['agents', 'commands', 'llm', 'sessions', 'tokenMeter']
  private readonly mouse: boolean
  private isRunning = false

  constructor(ctx: Context, config: z.input<typeof Config> = {}) {
    super(ctx, 'tui')
    this.mouse = Config.parse(config).mouse
    ctx.on('session/loading', log => {
      blocksOf(log)
      saidSeqs(log)
    })
  }

  /**
   * Shows an agent until the person quits, or until this plugin goes; resolves with the agent shown last, which may be another
   * one. The terminal is as it was then, and what the agent was doing goes on.
   *
   * @throws Error while another screen is open.
   */
  async run({ agent, intro, terminal, color = !process.env['NO_COLOR'] }: TuiOptions): Promise<Agent> {
    if (this.isRunning) throw new Error('the terminal interface is running already')
    this.isRunning = true
    const { ctx } = this
    const chat = new Chat(ctx, { agent, terminal: terminal ?? new ScreenTerminal({ mouse: this.mouse }), theme: theme({ color }), ...(intro === undefined ? {} : { intro }) })
    const commands = interfaceCommands(ctx, chat).map(command => ctx.commands.register(command))
    const restoreLog = this.logTo(chat)
    const quit = (): void => chat.quit()
    const release = ctx.effect(() => quit, 'ctx.tui.run()')
    for (const signal of SIGNALS) process.on(signal, quit)
    try {
      await chat.run()
      return chat.agent
    } finally {
      for (const signal of SIGNALS) process.off(signal, quit)
      release()
      restoreLog()
      for (const unregister of commands) unregister()
      this.isRunning = false
    }
  }

  /** What would be printed is shown: a line on stderr would tear the screen. */
  private logTo(chat: Chat): () => void {
    const { exporters } = this.ctx.logger
    const printing = [...exporters]
    exporters.clear()
    const unregister = this.ctx.logger.exporter({
      levels: { default: UP_TO_WARN },
      export: ({ type, args }) => void (type !== 'info' && chat.notice(formatted(args), 'warning')),
    })
    return () => {
      unregister()
      for (const [id, exporter] of printing) exporters.set(id, exporter)
    }
  }
}

/** The message of a log record, its placeholders filled in. */
function formatted([format, ...args]: readonly unknown[]): string {
  const rest = [...args]
  const message = String(format).replaceAll(/%[sdifoO]/g, () => String(rest.shift()))
  return [message, ...rest.map(String)].join(' ')
}
