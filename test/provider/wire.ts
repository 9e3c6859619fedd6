/**
 * Wires: what a dialect is made of. The rest of the server knows no dialect.
 *
 * Pure types.
 */
import type { CacheUse, PrefixCache } from './prefix-cache.ts'
import type { Call, Json, ProviderRequest, ReadPrompt } from './prompt.ts'

export interface Wire {
  readonly dialect: ProviderRequest['dialect']
  /** @throws SyntaxError saying what is wrong with the body, as a provider would. */
  read(body: Json): ReadPrompt
  newCache(): PrefixCache
  frames(body: Json, use: PromptUse): Frames
}

/** Tokens of a prompt, and of its part that was read from or written to a cache. */
export interface PromptUse extends CacheUse {
  readonly promptTokens: number
}

/** Tokens. */
export interface OutputUse {
  readonly outputTokens: number
  /** A part of the output. */
  readonly reasoningTokens: number
}

export type Ending = 'stop' | 'calls' | 'limit' | { readonly word: string }

/** One answer as server-sent events, each method the text to send; the order is the caller's. */
export interface Frames {
  begin(): string
  text(delta: string): string
  reasoning(delta: string): string
  call(call: Call): string
  error(body: unknown): string
  end(ending: Ending, use: OutputUse): string
}
