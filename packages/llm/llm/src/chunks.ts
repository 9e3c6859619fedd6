/**
 * Chunks: a whole answer becomes a stream again, the inverse of assembly.
 *
 * Pure.
 */
import type { ContentBlock, FinishReason, StreamChunk, TokenUsage } from './content.ts'

export interface Answer {
  readonly content: readonly ContentBlock[]
  readonly finish: FinishReason
  readonly usage?: TokenUsage
}

/** How the answer of a well-behaved model ends: its calls are to be run, or it has said what it had to say. */
export function naturalFinish(content: readonly ContentBlock[]): FinishReason {
  return content.some((block) => block.type === 'tool-call') ? 'tool-calls' : 'stop'
}

/** The stream of an answer, each block in up to `deltas` pieces. */
export function* chunksOf(answer: Answer, deltas = 3): Generator<StreamChunk, void, undefined> {
  yield* blockChunks(answer.content, deltas)
  if (answer.usage !== undefined) yield { type: 'usage', usage: answer.usage }
  yield { type: 'finish', reason: answer.finish }
}

/** The blocks alone: a stream that has not finished. Throws on a block that no model says. */
export function* blockChunks(content: readonly ContentBlock[], deltas = 3): Generator<StreamChunk, void, undefined> {
  for (const [index, block] of content.entries()) {
    switch (block.type) {
      case 'text':
        yield { type: 'block-start', index, block: { type: 'text' } }
        for (const text of pieces(block.text, deltas)) yield { type: 'text-delta', index, text }
        break
      case 'reasoning':
        yield { type: 'block-start', index, block: { type: 'reasoning' } }
        for (const text of pieces(block.text, deltas)) yield { type: 'reasoning-delta', index, text }
        break
      case 'tool-call':
        yield { type: 'block-start', index, block: { type: 'tool-call', id: block.id, name: block.name } }
        for (const text of pieces(block.arguments, deltas)) yield { type: 'tool-call-delta', index, arguments: text }
        break
      case 'image':
        yield { type: 'block-start', index, block }
        break
      default:
        throw new TypeError(`a model's answer holds no ${(block as { type: string }).type} block`)
    }
    const { providerMetadata } = block as { providerMetadata?: { readonly [key: string]: unknown } }
    yield { type: 'block-end', index, ...(providerMetadata !== undefined && { providerMetadata }) }
  }
}

/** Cuts between code points: half a character is nothing to show. */
function* pieces(text: string, count: number): Generator<string, void, undefined> {
  const size = Math.ceil(text.length / count)
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = start + size
    if (isLowSurrogate(text.charCodeAt(end))) end += 1
    yield text.slice(start, end)
  }
}

/** False for NaN, the char code past the end. */
function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
