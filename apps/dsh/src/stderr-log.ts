/**
 * The console log of the app: warnings and errors on stderr, since stdout carries results only.
 */
import type { Context, Message } from '@deepseek-ai/cordis'
import { ConsoleExporter } from '@deepseek-ai/cordis-plugin-logger-console'

/** Levels as the logger numbers them: error 0, info 1, warn 2. */
const UP_TO_WARN = 2

export class StderrLog extends ConsoleExporter {
  constructor(ctx: Context) {
    super(ctx, { showTime: '', levels: { default: UP_TO_WARN }, ...(process.stderr.isTTY ? {} : { colors: false }) })
  }

  override export(message: Message): void {
    if (message.type === 'info') return
    process.stderr.write(`${process.stderr.isTTY ? CLEAR_LINE : ''}${this.render(message)}\n`)
  }
}

/** A progress line may stand where the message goes. */
const CLEAR_LINE = '\r\u001b[K'
