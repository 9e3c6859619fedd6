/**
 * Telling: events for observers, none of whom may disturb what they are told of.
 */
import type { Context, Events } from '@deepseek-ai/cordis'
import { busOf } from '@deepseek-ai/dsh-llm'

export type Tell = <K extends keyof Events & string>(name: K, ...args: Parameters<Events[K]>) => void

/** A function that calls every listener in order; `emit` would stop at the first that throws. What one throws is logged. */
export function teller(ctx: Context, loggerName: string): Tell {
  const bus = busOf(ctx)
  return (name, ...args) => {
    const ignored = (error: unknown): void => ctx.logger(loggerName).error('a listener of %s failed and was ignored: %s', name, traceOf(error))
    for (const listener of bus.dispatch('emit', [name, ...args])) {
      try {
        const returned: unknown = listener(...args)
        if (returned instanceof Promise) returned.catch(ignored)
      } catch (error) {
        ignored(error)
      }
    }
  }
}

/** An error as a person who looks for its cause wants it. */
export function traceOf(error: unknown): unknown {
  return error instanceof Error ? error.stack : error
}
