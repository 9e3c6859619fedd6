/**
 * Prompts: what either dialect asks, in one form, and how long it is.
 *
 * Pure. The tokenizer is this provider's own and nobody else's, so that an estimate made elsewhere is as wrong here as it is
 * with a real one.
 */
import type { IncomingHttpHeaders } from 'node:http'

export interface Call {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
}

export interface Said {
  readonly role: 'user' | 'assistant' | 'tool'
  /** Everything said in words, results of tools too. */
  readonly text: string
  readonly calls: readonly Call[]
  /** Ids of the calls that are answered here. */
  readonly answers: readonly string[]
}

/** A stretch of a prompt, in the order in which a model reads it: tools, system prompt, messages. */
export interface Part {
  readonly tokens: readonly string[]
  /** Whether the client asks for everything up to here to be kept. */
  readonly isMarked?: boolean
  /** What the model does not read here, and what yet makes another prefix of it. */
  readonly setting?: string
}

export interface Prompt {
  readonly model: string
  readonly system: string
  readonly tools: readonly string[]
  readonly messages: readonly Said[]
  /** Output tokens. */
  readonly maxTokens?: number
}

/** What counts; it is not kept with the request, for it is as large again. */
export interface ReadPrompt extends Prompt {
  readonly parts: readonly Part[]
}

export interface ProviderRequest extends Prompt {
  /** Counts the requests of a server, refused ones too. */
  readonly index: number
  readonly dialect: 'openai' | 'anthropic'
  /** Whoever has the same key shares a cache. */
  readonly key: string
  readonly headers: IncomingHttpHeaders
  /** The body as it came. */
  readonly body: Json
}

export type Json = { readonly [key: string]: unknown }

/** Words with the space before them, numbers by three digits, everything else by itself: about four characters a token in English. */
export function tokensOf(text: string): string[] {
  return text.match(/ ?[A-Za-z]{1,7}|\d{1,3}|\s+|[^\sA-Za-z\d]/gu) ?? []
}

export const countTokens = (text: string): number => tokensOf(text).length

/** What is wrong with a history whose calls and results do not pair, in a provider's words; null when nothing is. */
export function pairingFault(messages: readonly Said[]): string | null {
  let open: string[] = []
  for (const { calls, answers, role } of messages) {
    for (const id of answers) {
      if (!open.includes(id)) return `a tool result answers no call of the message before it: ${id}`
      open = open.filter(other => other !== id)
    }
    if (role !== 'tool' && open.length > 0) return `tool calls were found without tool results immediately after: ${open.join(', ')}`
    open.push(...calls.map(({ id }) => id))
  }
  if (open.length > 0) return `tool calls were found without tool results immediately after: ${open.join(', ')}`
  return messages.some(({ role }) => role === 'user') ? null : 'messages: nobody said anything'
}
