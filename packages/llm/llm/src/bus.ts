/**
 * The event bus without the context around it: what is called once a request or once an event holds this, because a call
 * through a context costs microseconds.
 */
import { symbols, type Context } from '@deepseek-ai/cordis'

export function busOf({ events }: Context): Context['events'] {
  const traced = events as unknown as { readonly [symbol: symbol]: Context['events'] | undefined }
  return traced[symbols.original] ?? events
}
