/**
 * Collecting: one stream becomes one answer, or one throw.
 */
import { watchAbort } from './abort.ts'
import { BlockAssembler } from './assemble.ts'
import type { ContentBlock, FinishReason, StreamChunk, TokenUsage } from './content.ts'

export interface CollectOptions {
  /** Ends the wait at once, also when the stream does not listen to it. */
  readonly signal?: AbortSignal
  /** Sees every chunk before the next one is asked for; what it throws ends the collecting. */
  readonly onChunk?: (chunk: StreamChunk) => void
  /** Call ids the answer must not use again. */
  readonly usedCallIds?: Iterable<string>
  /** For a caller who wants what an abort leaves: it keeps the assembler and asks it for `interrupted()`. Replaces `usedCallIds`. */
  readonly assembler?: BlockAssembler
}

export interface Collected {
  readonly content: ContentBlock[]
  readonly finish: FinishReason
  readonly usage?: TokenUsage
  /** The route that really served the request. */
  readonly provider: string
  readonly model: string
}

/**
 * The whole answer of a stream made by `ctx.llm`. A failure is thrown as the `LlmError` it is, an abort as the signal's own
 * reason; the stream is then told to stop, without waiting until it does.
 */
export async function collect(stream: AsyncIterable<StreamChunk>, options: CollectOptions = {}): Promise<Collected> {
  const { signal, onChunk } = options
  signal?.throwIfAborted()
  const assembler = options.assembler ?? new BlockAssembler(options.usedCallIds)
  const watch = signal && watchAbort(signal)
  const iterator = stream[Symbol.asyncIterator]()
  let ended = false
  try {
    for (;;) {
      const next = iterator.next()
      const result = await (watch === undefined ? next : Promise.race([watch.aborted, next]))
      if (result.done === true) break
      assembler.push(result.value)
      onChunk?.(result.value)
    }
    ended = true
  } finally {
    watch?.release()
    if (!ended) iterator.return?.().catch(() => {}) // the failure on its way out is the one that counts
  }
  signal?.throwIfAborted()

  const { finish, usage } = assembler
  if (finish?.provider === undefined || finish.model === undefined) {
    throw new Error('collect needs a stream of ctx.llm: one that ends with a finish chunk naming its route')
  }
  const { provider, model } = finish
  return { content: assembler.content(), finish: finish.reason, ...(usage !== undefined && { usage }), provider, model }
}
