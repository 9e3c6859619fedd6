/**
 * Pricer: the size of a whole request, at the cost of what is new in it.
 *
 * Pure. Messages, tool lists and system prompts keep their identity from one request to the next, so each is priced once.
 */
import type { GenerateOptions, Message } from '@deepseek-ai/dsh-llm'
import { estimator } from '@deepseek-ai/dsh-token-meter'

export type Pricer = (request: Pick<GenerateOptions, 'system' | 'tools' | 'messages'>) => number

/** Prices in estimated tokens, as the meter's own defaults do. */
export function requestPricer(): Pricer {
  const estimate = estimator()
  const prices = new WeakMap<Message, number>()
  const priceOf = (message: Message): number => {
    const known = prices.get(message)
    if (known !== undefined) return known
    const price = estimate.message(message)
    prices.set(message, price)
    return price
  }
  let envelope: { readonly system: GenerateOptions['system']; readonly tools: GenerateOptions['tools']; readonly tokens: number } | null = null
  return ({ system, tools, messages }) => {
    if (envelope === null || envelope.system !== system || envelope.tools !== tools) {
      envelope = { system, tools, tokens: estimate.envelope(system, tools) }
    }
    return messages.reduce((sum, message) => sum + priceOf(message), envelope.tokens)
  }
}
