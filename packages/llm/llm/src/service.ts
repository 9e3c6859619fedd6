/**
 * The models of a context: `ctx.llm` knows the adapters, sends requests through the `llm/stream` waterfall and sees to it
 * that every stream ends in exactly one of two ways, a `finish` chunk naming its route or one throw.
 */
import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import type { GenerateOptions, LlmAdapter, ModelInfo } from './adapter.ts'
import { busOf } from './bus.ts'
import { promptTokens, type FinishReason, type StreamChunk, type TokenUsage } from './content.ts'
import { LlmError, llmErrorOf } from './errors.ts'
import type { LlmFailure } from './errors.ts'
import { isSilentOverflow } from './overflow.ts'

/** A request on its way; a listener that replaces `options` before `next()` reroutes or rewrites it. */
export interface LlmRequest {
  options: GenerateOptions
}

declare module '@deepseek-ai/cordis' {
  interface Context {
    llm: LlmService
  }
  interface Events {
    /**
     * Around every model request. A listener returns `next()`, called exactly once, or a stream around or instead of it. The
     * stream of `next()` finishes with the route that served it, or throws an `LlmError` or the reason of an abort.
     */
    'llm/stream'(request: LlmRequest, next: () => AsyncIterable<StreamChunk>): AsyncIterable<StreamChunk>
  }
}

export class LlmService extends Service {
  private readonly adapters = new Map<string, LlmAdapter>()
  private readonly bus: Context['events']

  constructor(ctx: Context) {
    super(ctx, 'llm')
    this.bus = busOf(ctx)
  }

  /** Belongs to the calling context and goes with it; a second adapter of one provider is refused. */
  registerAdapter(adapter: LlmAdapter): () => void {
    const { adapters } = this
    const { provider } = adapter
    return this.ctx.effect(() => {
      if (adapters.has(provider)) throw new Error(`an adapter of provider "${provider}" is registered already`)
      adapters.set(provider, adapter)
      return () => adapters.delete(provider)
    }, `ctx.llm.registerAdapter(${JSON.stringify(provider)})`)
  }

  /**
   * Nothing is sent before the first chunk is asked for. Every failure is an {@link LlmError}, an abort of `options.signal`
   * its own reason. An answer without a word, call or image is a failure, unless the output limit explains it; where its usage
   * shows that the window was full, it is an overflow.
   */
  stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const { adapters, bus } = this
    const request: LlmRequest = { options }
    return settled(request, () => bus.waterfall('llm/stream', request, () => serve(adapters, request.options)))
  }

  /** In the order of their registration. */
  list(): readonly LlmAdapter[] {
    return [...this.adapters.values()]
  }

  /** Undefined when the provider has no adapter here, or the adapter does not know the model. */
  resolveModelInfo(provider: string, model: string): ModelInfo | undefined {
    return this.adapters.get(provider)?.modelInfo?.(model)
  }
}

function serve(adapters: ReadonlyMap<string, LlmAdapter>, options: GenerateOptions): AsyncIterable<StreamChunk> {
  const adapter = adapters.get(options.provider)
  return settled({ options }, () => {
    if (adapter === undefined) throw new LlmError(noAdapter(options, [...adapters.keys()]))
    return adapter.stream(options)
  }, () => adapter?.modelInfo?.(options.model))
}

/**
 * One stream as the service promises it. Laid around the adapter, so that listeners can rely on it, and around the
 * listeners, so that the caller can.
 */
async function* settled(
  request: Readonly<LlmRequest>,
  open: () => AsyncIterable<StreamChunk>,
  infoOf: () => ModelInfo | undefined = () => undefined,
): AsyncGenerator<StreamChunk, void, undefined> {
  let spoke = false
  let finish: FinishReason | undefined
  let usage: TokenUsage | undefined
  try {
    for await (const chunk of open()) {
      spoke ||= says(chunk)
      if (chunk.type === 'finish') {
        finish = chunk.reason
        const { provider, model } = request.options
        yield { ...chunk, provider: chunk.provider ?? provider, model: chunk.model ?? model }
      } else {
        if (chunk.type === 'usage') usage = chunk.usage
        yield chunk
      }
    }
  } catch (error) {
    request.options.signal?.throwIfAborted()
    throw llmErrorOf(error)
  }
  if (finish !== undefined && spoke) return
  const overflow = finish === undefined || usage === undefined ? null : silentOverflow(finish, usage, infoOf())
  if (overflow === null && finish === 'max-tokens') return
  request.options.signal?.throwIfAborted()
  if (overflow !== null) throw new LlmError(overflow)
  throw new LlmError(failureOfSilence(finish, spoke))
}

/** Whether a chunk is a part of an answer, and not only of its packaging. */
function says(chunk: StreamChunk): boolean {
  switch (chunk.type) {
    case 'block-start':
      return chunk.block.type === 'tool-call' || chunk.block.type === 'image'
    case 'text-delta':
    case 'reasoning-delta':
      return chunk.text !== ''
    default:
      return false
  }
}

/** Of an answer that said nothing; null where its usage does not show that the window was full. */
function silentOverflow(finish: FinishReason, usage: TokenUsage, { contextWindow, outputInWindow = true }: ModelInfo = {}): LlmFailure | null {
  if (contextWindow === undefined || !isSilentOverflow({ usage, finish: outputInWindow ? finish : 'stop', contextWindow })) return null
  const requestedTokens = promptTokens(usage)
  return { code: 'CONTEXT_WINDOW_EXCEEDED', message: `the model answered nothing: ${requestedTokens} tokens fill its window of ${contextWindow}`, requestedTokens }
}

function failureOfSilence(finish: FinishReason | undefined, spoke: boolean): LlmFailure {
  if (finish === 'content-filter') return { code: 'CONTENT_FILTER', message: 'the provider withheld the whole answer' }
  if (finish === undefined && spoke) return { code: 'TRANSPORT', message: 'the answer broke off before it was finished' }
  return { code: 'EMPTY_RESPONSE', message: `the model answered nothing (finish: ${finish ?? 'none'})` }
}

function noAdapter({ provider, model }: GenerateOptions, known: readonly string[]): LlmFailure {
  const others = known.length === 0 ? 'none' : known.join(', ')
  return { code: 'NO_ADAPTER', message: `no adapter of provider "${provider}" for model "${model}"; registered: ${others}` }
}
