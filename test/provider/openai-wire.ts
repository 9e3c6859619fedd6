/** OpenAI chat completions, with the fields that DeepSeek adds. */
import { AutomaticCache } from './prefix-cache.ts'
import { tokensOf, type Call, type Json, type Part, type Said } from './prompt.ts'
import type { Ending, Frames, OutputUse, PromptUse, Wire } from './wire.ts'

interface Body {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
}

interface WireMessage {
  readonly role: string
  readonly content?: string | readonly { readonly text?: string }[] | null
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[]
  readonly tool_call_id?: string
}

const FINISHES = { stop: 'stop', calls: 'tool_calls', limit: 'length' } as const

export const openai: Wire = {
  dialect: 'openai',
  newCache: () => new AutomaticCache(),

  read(json) {
    const { model, messages, tools = [], stream, ...limits } = json as unknown as Body
    if (stream !== true) throw new SyntaxError('stream: only streams are served')
    if (!Array.isArray(messages) || messages.length === 0) throw new SyntaxError('messages: at least one message is required')
    const maxTokens = limits.max_completion_tokens ?? limits.max_tokens
    return {
      model,
      system: messages.filter(isSystem).map(textOf).join('\n'),
      tools: tools.map(tool => tool.function.name),
      messages: messages.filter(message => !isSystem(message)).map(said),
      parts: [...tools, ...messages].map((value): Part => ({ tokens: tokensOf(JSON.stringify(value)) })),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    }
  },

  frames: (body, use) => new OpenAiFrames(body as unknown as Body, use),
}

const isSystem = ({ role }: WireMessage): boolean => role === 'system' || role === 'developer'

function textOf({ content }: WireMessage): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('')
}

function said(message: WireMessage): Said {
  const { role, tool_calls = [], tool_call_id } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') throw new SyntaxError(`messages: no such role: ${role}`)
  const calls = tool_calls.map(({ id, function: { name, arguments: text } }): Call => ({ id, name, arguments: text }))
  return { role, text: textOf(message), calls, answers: tool_call_id === undefined ? [] : [tool_call_id] }
}

class OpenAiFrames implements Frames {
  private readonly model: string
  private readonly reportsUsage: boolean
  private readonly use: PromptUse
  private calls = 0

  constructor({ model, stream_options }: Body, use: PromptUse) {
    this.model = model
    this.reportsUsage = stream_options?.include_usage === true
    this.use = use
  }

  begin(): string {
    return this.delta({ role: 'assistant', content: '' })
  }

  text(delta: string): string {
    return this.delta({ content: delta })
  }

  reasoning(delta: string): string {
    return this.delta({ reasoning_content: delta })
  }

  /** The arguments come in two pieces, as they do from a model that is still writing them. */
  call({ id, name, arguments: text }: Call): string {
    const index = this.calls++
    const middle = text.length >> 1
    return this.delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text.slice(0, middle) } }] })
      + this.delta({ tool_calls: [{ index, function: { arguments: text.slice(middle) } }] })
  }

  error(body: unknown): string {
    return frame(body)
  }

  end(ending: Ending, { outputTokens, reasoningTokens }: OutputUse): string {
    const { promptTokens, read } = this.use
    const finish = this.chunk({ choices: [{ index: 0, delta: {}, finish_reason: typeof ending === 'string' ? FINISHES[ending] : ending.word }] })
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: outputTokens,
      total_tokens: promptTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: read },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
      prompt_cache_hit_tokens: read,
      prompt_cache_miss_tokens: promptTokens - read,
    }
    return finish + (this.reportsUsage ? this.chunk({ choices: [], usage }) : '') + 'data: [DONE]\n\n'
  }

  private delta(delta: Json): string {
    return this.chunk({ choices: [{ index: 0, delta, finish_reason: null }] })
  }

  private chunk(fields: Json): string {
    return frame({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: this.model, ...fields })
  }
}

function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
