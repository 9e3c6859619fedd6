/**
 * Adapters: what is asked of a model, and what a provider must do to answer.
 *
 * Pure types.
 */
import type { Message, StreamChunk, ToolChoice, ToolSchema } from './content.ts'

/** Why a request is made when it is not ordinary conversation; grows by declaration merging. */
export interface LlmPurposeMap {
  compaction: true
}
export type LlmPurpose = keyof LlmPurposeMap

export interface GenerateOptions {
  readonly provider: string
  readonly model: string
  /** May be a session's shared array, which grows after the request: whoever keeps it slices. */
  readonly messages: readonly Message[]
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  readonly toolChoice?: ToolChoice
  /** Output tokens. */
  readonly maxTokens?: number
  readonly reasoningEffort?: string
  readonly temperature?: number
  readonly stop?: readonly string[]
  readonly signal?: AbortSignal
  readonly sessionId?: string
  /** Unset in ordinary conversation; never enters the body of a request. */
  readonly purpose?: LlmPurpose
}

/** Capacity in tokens; an unknown figure is absent, never guessed. */
export interface ModelInfo {
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  /** Whether output counts inside `contextWindow`; absent means it does. */
  readonly outputInWindow?: boolean
  /** Whether the model reads images. */
  readonly images?: boolean
  readonly prices?: TokenPrices
  /** Where these figures come from, in words for a person: a table, a configuration. */
  readonly source?: string
}

/** US dollars for a million tokens. A cache bucket without a price of its own costs what input costs. */
export interface TokenPrices {
  readonly input: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly output: number
}

/**
 * One provider. `stream` sends nothing before its first chunk is asked for, ends with a `finish` chunk, throws an `LlmError`
 * for a failure it understands (anything else becomes `UNKNOWN`), and gives up soon after `options.signal` aborts, by whatever
 * throw suits it. It never retries. `finish.provider` and `finish.model` may stay unset: the service fills them in.
 */
export interface LlmAdapter {
  readonly provider: string
  stream(options: GenerateOptions): AsyncIterable<StreamChunk>
  /** Undefined for a model it does not know. */
  modelInfo?(model: string): ModelInfo | undefined
  /** Models to offer a person, the default first; a request may name others. */
  readonly models?: readonly string[]
  /** Where its requests go and whose key they carry, in words for a person; never the key. */
  readonly origin?: string
}
