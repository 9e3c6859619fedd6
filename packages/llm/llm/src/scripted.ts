/**
 * The scripted model: answers what it is told to, through the same door as any provider. Deterministic; the model of tests,
 * benchmarks and demonstrations.
 */
import { untilAborted } from './abort.ts'
import type { GenerateOptions, LlmAdapter, ModelInfo } from './adapter.ts'
import { blockChunks, chunksOf, naturalFinish } from './chunks.ts'
import type { ContentBlock, FinishReason, StreamChunk, TokenUsage } from './content.ts'
import { LlmError } from './errors.ts'
import type { LlmFailure } from './errors.ts'

/** A function decides when it is asked; an async one is a gate that the answer waits at, until the request is aborted. */
export type ScriptedReply =
  | string
  | { readonly content: readonly ContentBlock[]; readonly finish?: FinishReason; readonly usage?: TokenUsage }
  | { readonly failure: LlmFailure; readonly after?: readonly ContentBlock[] }
  | ScriptedTurn

/** `index` counts the requests from 0. */
export type ScriptedTurn = (options: GenerateOptions, index: number) => ScriptedReply | Promise<ScriptedReply>

export interface ScriptedInit {
  /** Default `scripted`. */
  readonly provider?: string
  /** One reply a request, in order; a request beyond them fails. A function answers every request. */
  readonly replies: readonly ScriptedReply[] | ScriptedTurn
  readonly models?: { readonly [model: string]: ModelInfo }
  /** The usage of replies that bring none; by default they report none. */
  readonly usage?: (options: GenerateOptions, content: readonly ContentBlock[]) => TokenUsage
}

export class ScriptedAdapter implements LlmAdapter {
  readonly provider: string
  /** Every request seen, as it was sent. */
  readonly requests: GenerateOptions[] = []
  private readonly turn: ScriptedTurn
  /** Those it has figures of. */
  readonly models: readonly string[]
  private readonly infos: ReadonlyMap<string, ModelInfo>
  private readonly usage: ScriptedInit['usage']

  constructor(init: ScriptedInit) {
    this.provider = init.provider ?? 'scripted'
    this.turn = typeof init.replies === 'function' ? init.replies : inOrder(init.replies)
    this.infos = new Map(Object.entries(init.models ?? {}))
    this.models = [...this.infos.keys()]
    this.usage = init.usage
  }

  modelInfo(model: string): ModelInfo | undefined {
    return this.infos.get(model)
  }

  async *stream(options: GenerateOptions): AsyncGenerator<StreamChunk, void, undefined> {
    const { signal } = options
    signal?.throwIfAborted()
    const index = this.requests.length
    this.requests.push(asSent(options))
    let reply: ScriptedReply = this.turn
    while (typeof reply === 'function') {
      const answer: ScriptedReply | Promise<ScriptedReply> = reply(options, index)
      reply = answer instanceof Promise ? await untilAborted(answer, signal) : answer
    }
    for (const chunk of this.speak(reply, options)) {
      signal?.throwIfAborted()
      yield chunk
    }
  }

  private *speak(reply: Exclude<ScriptedReply, ScriptedTurn>, options: GenerateOptions): Generator<StreamChunk, void, undefined> {
    if (typeof reply === 'string') return yield* this.speak({ content: [{ type: 'text', text: reply }] }, options)
    if ('failure' in reply) {
      yield* blockChunks(reply.after ?? [])
      throw new LlmError(reply.failure)
    }
    const { content, finish = naturalFinish(content), usage = this.usage?.(options, content) } = reply
    yield* chunksOf({ content, finish, ...(usage !== undefined && { usage }) })
  }
}

function inOrder(replies: readonly ScriptedReply[]): ScriptedTurn {
  return (_options, index) => {
    const reply = replies[index]
    if (reply === undefined) throw new Error(`the script has ${replies.length} replies, but request ${index + 1} came`)
    return reply
  }
}

/** The messages may be a session's shared array: it grows, but what stood in it stays, so a length remembers it without a copy. */
function asSent(options: GenerateOptions): GenerateOptions {
  const { messages } = options
  const { length } = messages
  return {
    ...options,
    get messages() {
      return messages.slice(0, length)
    },
  }
}
