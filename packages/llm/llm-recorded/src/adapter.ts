/**
 * A recorded conversation as a model: it says again, in order, what was said once, and refuses what a provider would refuse.
 */
import { blockChunks, chunksOf, LlmError, naturalFinish, watchAbort } from '@deepseek-ai/dsh-llm'
import type { GenerateOptions, LlmAdapter, LlmFailure, LlmPurpose, ModelInfo, StreamChunk } from '@deepseek-ai/dsh-llm'
import type { RecordedAnswer } from './answers.ts'

export interface RecordedInit {
  /** Default `recorded`. */
  readonly provider?: string
  readonly model: string
  /** Tokens. A request estimated above it is refused; needs `estimateTokens`. */
  readonly contextWindow?: number
  /** The size of a request in tokens, as a provider would count it. */
  readonly estimateTokens?: (options: GenerateOptions) => number
  /** To ordinary requests. */
  readonly answers: readonly RecordedAnswer[]
  /** To requests of purpose `compaction`; a function makes them up as they are asked for. */
  readonly summaries?: readonly RecordedAnswer[] | ((options: GenerateOptions, index: number) => RecordedAnswer)
}

/** The answers to requests of one purpose, and how many were given. */
interface Reel {
  readonly name: string
  /** Undefined behind the last. */
  readonly answer: (options: GenerateOptions, index: number) => RecordedAnswer | undefined
  given: number
}

export class RecordedAdapter implements LlmAdapter {
  readonly provider: string
  readonly model: string
  private readonly contextWindow: number | undefined
  private readonly estimateTokens: RecordedInit['estimateTokens']
  private readonly ordinary: Reel
  private readonly reels: ReadonlyMap<LlmPurpose | undefined, Reel>

  constructor(init: RecordedInit) {
    const { contextWindow, estimateTokens } = init
    if (contextWindow !== undefined && !(Number.isSafeInteger(contextWindow) && contextWindow > 0)) {
      throw new RangeError(`contextWindow must be a positive whole number of tokens, not ${contextWindow}`)
    }
    if (contextWindow !== undefined && estimateTokens === undefined) throw new TypeError('contextWindow needs estimateTokens')
    this.provider = init.provider ?? 'recorded'
    this.model = init.model
    this.contextWindow = contextWindow
    this.estimateTokens = estimateTokens
    this.ordinary = reelOf('answers', init.answers)
    this.reels = new Map<LlmPurpose | undefined, Reel>([
      [undefined, this.ordinary],
      ['compaction', reelOf('summaries', init.summaries ?? [])],
    ])
  }

  /** Answers to ordinary requests given so far. */
  get given(): number {
    return this.ordinary.given
  }

  modelInfo(model: string): ModelInfo | undefined {
    if (model !== this.model) return undefined
    return this.contextWindow === undefined ? {} : { contextWindow: this.contextWindow }
  }

  /**
   * The next answer of the request's kind. It counts as given with its last word: a refused request, or one aborted before
   * that, leaves it for the next. An interrupted answer gives its content and then waits for the abort.
   */
  async *stream(options: GenerateOptions): AsyncGenerator<StreamChunk, void, undefined> {
    options.signal?.throwIfAborted()
    this.refuseOversized(options)
    const reel = this.reels.get(options.purpose)
    if (reel === undefined) throw new LlmError(refusal(`a recording has no answers of purpose "${options.purpose}"`))
    const answer = reel.answer(options, reel.given)
    if (answer === undefined) {
      throw new LlmError(refusal(`the recording of ${this.model} is at its end (${reel.name}: ${reel.given})`))
    }
    if ('failure' in answer) {
      reel.given += 1
      throw new LlmError(answer.failure)
    }
    const chunks = 'interrupted' in answer
      ? [...blockChunks(answer.content)]
      : [...chunksOf({ ...answer, finish: answer.finish ?? naturalFinish(answer.content) })]
    if (chunks.length === 0) reel.given += 1 // interrupted before any word
    for (const [at, chunk] of chunks.entries()) {
      options.signal?.throwIfAborted()
      if (at === chunks.length - 1) reel.given += 1
      yield chunk
    }
    if ('interrupted' in answer) await abortOf(options.signal)
  }

  private refuseOversized(options: GenerateOptions): void {
    if (this.contextWindow === undefined || this.estimateTokens === undefined) return
    const limitTokens = this.contextWindow
    const requestedTokens = this.estimateTokens(options)
    if (requestedTokens <= limitTokens) return
    const message = `the request has about ${requestedTokens} tokens, the window holds ${limitTokens}`
    throw new LlmError({ code: 'CONTEXT_WINDOW_EXCEEDED', message, limitTokens, requestedTokens })
  }
}

function reelOf(name: string, answers: NonNullable<RecordedInit['summaries']>): Reel {
  return { name, answer: typeof answers === 'function' ? answers : (_options, index) => answers[index], given: 0 }
}

/** A code that nobody retries: asking again cannot help. */
function refusal(message: string): LlmFailure {
  return { code: 'INVALID_REQUEST', message }
}

/** Rejects once the cancel comes that the recording tells of; at once where none can come. */
async function abortOf(signal: AbortSignal | undefined): Promise<never> {
  if (signal === undefined) throw new LlmError({ code: 'ABORTED', message: 'the recorded answer was interrupted here' })
  return watchAbort(signal).aborted
}
