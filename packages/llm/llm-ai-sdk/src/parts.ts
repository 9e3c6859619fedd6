/**
 * Parts: the stream of an AI SDK model as our chunks.
 *
 * Pure. One reader an answer. Every part that opens something gets an index of its own, whatever ids the provider repeats.
 */
import type { LanguageModelV4File, LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4ToolCall, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { LlmError, type BlockStart, type FinishReason, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { usageOf } from './usage.ts'

interface OpenBlock {
  readonly index: number
  /** The arguments of a call so far. */
  text: string
  metadata: SharedV4ProviderMetadata | undefined
}

export class PartReader {
  /** How many parts of each kind were dropped because we have no block for them. */
  readonly dropped: { [type: string]: number } = {}
  private readonly open = new Map<string, OpenBlock>()
  /** Calls that the provider runs itself, never ours to run. */
  private readonly foreignCalls = new Set<string>()
  private nextIndex = 0

  private drop(type: string): void {
    this.dropped[type] = (this.dropped[type] ?? 0) + 1
  }

  /** @throws {unknown} the error of a part that is one, as it came. */
  *chunks(part: LanguageModelV4StreamPart): Generator<StreamChunk, void, undefined> {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        yield this.begin(part.type === 'text-start' ? `text ${part.id}` : `reasoning ${part.id}`, { type: part.type === 'text-start' ? 'text' : 'reasoning' }, part.providerMetadata)
        break
      case 'text-delta': {
        const { index } = this.note(`text ${part.id}`, part.providerMetadata)
        yield { type: 'text-delta', index, text: part.delta }
        break
      }
      case 'reasoning-delta': {
        const { index } = this.note(`reasoning ${part.id}`, part.providerMetadata)
        yield { type: 'reasoning-delta', index, text: part.delta }
        break
      }
      case 'text-end':
        yield this.end(`text ${part.id}`, part.providerMetadata)
        break
      case 'reasoning-end':
        yield this.end(`reasoning ${part.id}`, part.providerMetadata)
        break
      case 'tool-input-start':
        if (part.providerExecuted) this.foreignCalls.add(part.id)
        else yield this.begin(`call ${part.id}`, { type: 'tool-call', id: part.id, name: part.toolName }, part.providerMetadata)
        break
      case 'tool-input-delta': {
        if (this.foreignCalls.has(part.id)) break
        const call = this.note(`call ${part.id}`, part.providerMetadata)
        call.text += part.delta
        yield { type: 'tool-call-delta', index: call.index, arguments: part.delta }
        break
      }
      case 'tool-input-end':
        break // what follows is the call itself, with its metadata
      case 'tool-call':
        yield* this.call(part)
        break
      case 'file':
        yield* this.image(part)
        break
      case 'tool-result':
      case 'tool-approval-request':
      case 'reasoning-file':
        this.drop(part.type)
        break
      case 'error':
        throw part.error
      case 'finish': {
        const usage = usageOf(part.usage)
        if (usage !== undefined) yield { type: 'usage', usage }
        yield { type: 'finish', reason: finishOf(part.finishReason, this.nextIndex === 0) }
        break
      }
      case 'custom': // what a provider tells beside its answer
      case 'source':
      case 'stream-start':
      case 'response-metadata':
      case 'ping':
      case 'raw':
        break
    }
  }

  private begin(key: string, block: BlockStart, metadata: SharedV4ProviderMetadata | undefined): StreamChunk {
    const index = this.nextIndex++
    this.open.set(key, { index, text: '', metadata })
    return { type: 'block-start', index, block }
  }

  /** The open block, with what this part adds to its metadata. */
  private note(key: string, metadata: SharedV4ProviderMetadata | undefined): OpenBlock {
    const block = this.open.get(key)
    if (block === undefined) throw new Error(`the provider goes on with a block that it never began: ${key}`)
    block.metadata = merged(block.metadata, metadata)
    return block
  }

  private end(key: string, ended: SharedV4ProviderMetadata | undefined): StreamChunk {
    const { index, metadata } = this.note(key, ended)
    this.open.delete(key)
    return { type: 'block-end', index, ...(metadata === undefined ? {} : { providerMetadata: metadata }) }
  }

  private *call({ toolCallId, toolName, input, providerExecuted, providerMetadata }: LanguageModelV4ToolCall): Generator<StreamChunk, void, undefined> {
    if (providerExecuted || this.foreignCalls.has(toolCallId)) return this.drop('tool-call')
    const key = `call ${toolCallId}`
    if (!this.open.has(key)) yield this.begin(key, { type: 'tool-call', id: toolCallId, name: toolName }, undefined)
    const { index, text } = this.note(key, undefined)
    if (text === '' && input !== '') yield { type: 'tool-call-delta', index, arguments: input }
    yield this.end(key, providerMetadata)
  }

  private *image({ mediaType, data }: LanguageModelV4File): Generator<StreamChunk, void, undefined> {
    if (!mediaType.startsWith('image/')) return this.drop('file')
    const index = this.nextIndex++
    const place = data.type === 'url' ? { ref: String(data.url) } : { data: typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64') }
    yield { type: 'block-start', index, block: { type: 'image', mediaType, ...place } }
    yield { type: 'block-end', index }
  }
}

/** A signature may come after the text that it signs, so parts of one block add up. */
function merged(known: SharedV4ProviderMetadata | undefined, added: SharedV4ProviderMetadata | undefined): SharedV4ProviderMetadata | undefined {
  if (known === undefined || added === undefined) return added ?? known
  const sum = { ...known }
  for (const [provider, fields] of Object.entries(added)) sum[provider] = { ...sum[provider], ...fields }
  return sum
}

/** Where the window ended the answer, whatever the package makes of that word. */
const WINDOW_EXCEEDED = 'model_context_window_exceeded'

function finishOf({ unified, raw }: LanguageModelV4FinishReason, isEmpty: boolean): FinishReason {
  if (raw === WINDOW_EXCEEDED) {
    if (isEmpty) throw new LlmError({ code: 'CONTEXT_WINDOW_EXCEEDED', message: `the answer ended before it began: ${raw}` })
    return 'max-tokens'
  }
  switch (unified) {
    case 'length':
      return 'max-tokens'
    case 'interrupted':
      throw new LlmError({ code: 'TRANSPORT', message: 'the answer broke off before it was finished' })
    case 'error':
      throw new LlmError({ code: 'SERVER', message: `the provider ended its answer with an error${raw === undefined ? '' : `: ${raw}`}` })
    default:
      return unified
  }
}
