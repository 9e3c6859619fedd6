/**
 * The adapter: one provider behind an AI SDK language model, asked by `doStream` and so never twice.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import { LlmError, NOT_SENT, untilAborted, type GenerateOptions, type LlmAdapter, type ModelInfo, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { withCacheMarks } from './cache-marks.ts'
import type { Dialect } from './dialect.ts'
import { llmErrorOfSdk } from './errors.ts'
import { IdleWatch } from './idle.ts'
import type { Models } from './models.ts'
import { PartReader } from './parts.ts'
import { promptOf } from './prompt.ts'

export interface AiSdkInit {
  readonly provider: string
  readonly dialect: Dialect
  /** A model that sends through the given fetch. */
  open(model: string, fetch: typeof globalThis.fetch): Promise<LanguageModelV4>
  /** The default first. */
  readonly models: Models
  readonly origin: string
  /** Milliseconds without a byte after which a request is given up. */
  readonly idleMs: number
  /** Texts that no failure may show: the key. */
  readonly secrets: readonly string[]
  headers?(request: GenerateOptions): { [name: string]: string }
  /** Hears once of everything that could not be sent or understood. */
  notice?(text: string): void
}

export class AiSdkAdapter implements LlmAdapter {
  readonly provider: string
  readonly models: readonly string[]
  readonly origin: string
  private readonly init: AiSdkInit
  private readonly noticed = new Set<string>()

  constructor(init: AiSdkInit) {
    this.provider = init.provider
    this.models = Object.keys(init.models)
    this.origin = init.origin
    this.init = init
  }

  modelInfo(model: string): ModelInfo | undefined {
    return Object.hasOwn(this.init.models, model) ? this.init.models[model] : undefined
  }

  async *stream(request: GenerateOptions): AsyncGenerator<StreamChunk, void, undefined> {
    const { idleMs, secrets } = this.init
    request.signal?.throwIfAborted()
    const closing = new AbortController()
    const idle = new IdleWatch(idleMs, () => closing.abort(new LlmError({ code: 'TIMEOUT', message: `the provider was silent for ${idleMs / 1_000} s` })))
    const signal = request.signal === undefined ? closing.signal : AbortSignal.any([request.signal, closing.signal])
    const parts = new PartReader()
    try {
      const model = await this.init.open(request.model, idle.fetch)
      const { stream } = await idle.during(untilAborted(Promise.resolve(model.doStream(this.callOptions(request, signal))), signal))
      const reader = stream.getReader()
      for (;;) {
        const { done, value } = await idle.during(untilAborted(reader.read(), signal))
        if (done) break
        yield* parts.chunks(value)
      }
    } catch (error) {
      request.signal?.throwIfAborted()
      throw llmErrorOfSdk(closing.signal.aborted ? closing.signal.reason : error, { secrets, now: Date.now() })
    } finally {
      closing.abort() // whoever stops listening closes the socket
      this.count('the provider sent', 'of a kind that is not supported', parts.dropped)
    }
  }

  private callOptions(request: GenerateOptions, abortSignal: AbortSignal): LanguageModelV4CallOptions {
    const { dialect } = this.init
    const { provider, model, system, messages, toolChoice, temperature, stop } = request
    const info = this.modelInfo(model)
    const maxTokens = request.maxTokens ?? (dialect.needsLimit ? info?.maxOutputTokens : undefined)
    const { prompt, leftOut } = promptOf({
      provider,
      model,
      messages,
      dialect,
      blind: info?.images === false,
      ...(system === undefined ? {} : { system }),
    })
    this.count('the request was sent without', 'that no provider knows', leftOut)
    const tools = (request.tools ?? []).map((tool): LanguageModelV4FunctionTool => ({
      type: 'function',
      name: tool.name,
      ...(tool.description === undefined ? {} : { description: tool.description }),
      inputSchema: tool.parameters,
      ...(dialect.strictTools === undefined ? {} : { strict: dialect.strictTools }),
    }))
    const marked = dialect.cacheMarks ? withCacheMarks(prompt, tools) : { prompt, tools }
    const choice = toolChoice === undefined || tools.length === 0 ? undefined : dialect.toolChoice(toolChoice)
    return {
      prompt: marked.prompt,
      abortSignal,
      providerOptions: dialect.providerOptions(request),
      ...(tools.length === 0 ? {} : { tools: marked.tools }),
      ...(choice === undefined ? {} : { toolChoice: choice }),
      ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(stop === undefined ? {} : { stopSequences: [...stop] }),
      ...(request.reasoningEffort === undefined ? {} : { reasoning: effortOf(request.reasoningEffort) }),
      ...(this.init.headers === undefined ? {} : { headers: this.init.headers(request) }),
    }
  }

  private count(before: string, after: string, counts: { readonly [type: string]: number }): void {
    const types = Object.entries(counts)
    if (types.length === 0) return
    const text = `${before} ${types.map(([type, count]) => `${count} ${type}`).join(', ')} ${after}`
    if (this.noticed.has(text)) return
    this.noticed.add(text)
    this.init.notice?.(text)
  }
}

type Effort = NonNullable<LanguageModelV4CallOptions['reasoning']>
const EFFORTS: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The provider package turns it into what the model takes: an effort, a level or a budget. */
function effortOf(effort: string): Effort {
  const known = EFFORTS.find(candidate => candidate === effort)
  if (known === undefined) throw new LlmError({ code: 'INVALID_REQUEST', message: `${NOT_SENT}reasoning effort "${effort}" is none of ${EFFORTS.join(', ')}` })
  return known
}
