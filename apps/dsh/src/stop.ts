/**
 * Stop: a process that is told to end, by a person or by the system, or whose terminal was closed.
 */
import { EXIT } from './exit.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The first signal aborts `signal`, the next one ends the process. */
export class Stop {
  private readonly controller = new AbortController()
  readonly signal = this.controller.signal
  private readonly onSignal = (): void => {
    if (this.signal.aborted) process.exit(EXIT.cancelled)
    process.stderr.write('dsh: cancelling; once more to exit at once\n')
    this.controller.abort()
  }

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.onSignal)
  }

  /** From here on signals do what they do by default. */
  release(): void {
    for (const signal of SIGNALS) process.off(signal, this.onSignal)
  }
}
