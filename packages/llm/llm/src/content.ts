/**
 * Content: what messages are made of, in one provider-neutral vocabulary.
 *
 * Pure. All of it is plain JSON, so that a block can stand in a session log and come back equal.
 */

/** Opaque provider data; sent back unchanged to the provider and model that made it, otherwise left out. */
export type ProviderMetadata = { readonly [key: string]: unknown }

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
}

export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
}

export interface ImageBlock {
  readonly type: 'image'
  /** An IANA media type such as `image/png`. */
  readonly mediaType: string
  /** The image itself, base64; either this or `ref`. */
  readonly data?: string
  /** A URL or a content reference that an adapter can resolve. */
  readonly ref?: string
  /** Pixels. */
  readonly width?: number
  /** Pixels. */
  readonly height?: number
}

export interface ToolCallBlock {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** The arguments exactly as the model wrote them: JSON text, possibly invalid. */
  readonly arguments: string
  readonly providerMetadata?: ProviderMetadata
}

export interface ToolResultBlock {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly content: readonly ContentBlock[]
  readonly isError?: boolean
}

/** Grows by declaration merging; an unknown block is priced by its JSON length and left out by adapters with a count. */
export interface ContentBlockMap {
  text: TextBlock
  reasoning: ReasoningBlock
  image: ImageBlock
  'tool-call': ToolCallBlock
  'tool-result': ToolResultBlock
}

export type ContentBlock = ContentBlockMap[keyof ContentBlockMap]

/**
 * One message of a request. A `tool` message holds exactly one `tool-result` block; tool calls stand only in `assistant`
 * messages. `provider` and `model` say who made an assistant message, so that adapters know whose metadata it carries.
 */
export interface Message {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: readonly ContentBlock[]
  readonly provider?: string
  readonly model?: string
}

/** A tool as a model sees it. */
export interface ToolSchema {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly parameters: { readonly [key: string]: unknown }
}

/** Disjoint buckets, whatever the provider's habit: the prompt side is the sum of the first three. */
export interface TokenUsage {
  /** Prompt tokens neither read from nor written to a cache. */
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  readonly outputTokens: number
  /** A part of `outputTokens`. */
  readonly reasoningTokens?: number
}

export type FinishReason = 'stop' | 'tool-calls' | 'max-tokens' | 'content-filter' | 'other'

export type StreamChunk =
  | { readonly type: 'block-start'; readonly index: number; readonly block: BlockStart }
  | { readonly type: 'text-delta'; readonly index: number; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly index: number; readonly text: string }
  | { readonly type: 'tool-call-delta'; readonly index: number; readonly arguments: string }
  | { readonly type: 'block-end'; readonly index: number; readonly providerMetadata?: ProviderMetadata }
  | { readonly type: 'usage'; readonly usage: TokenUsage }
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly provider?: string; readonly model?: string }

/** What is known of a block when it begins; images arrive whole. */
export type BlockStart =
  | { readonly type: 'text' }
  | { readonly type: 'reasoning' }
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string }
  | ImageBlock

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** The prompt side of a usage: what the request itself cost, cached or not. */
export function promptTokens(usage: TokenUsage): number {
  return usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0)
}

/** The text blocks joined, nothing else. */
export function textOf(content: readonly ContentBlock[]): string {
  let text = ''
  for (const block of content) if (block.type === 'text') text += block.text
  return text
}

/** The tool calls of an assistant message, in the model's order. */
export function callsOf(content: readonly ContentBlock[]): ToolCallBlock[] {
  return content.filter((block): block is ToolCallBlock => block.type === 'tool-call')
}
