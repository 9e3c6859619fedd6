/** Anthropic messages. */
import { MarkedCache } from './prefix-cache.ts'
import { tokensOf, type Call, type Json, type Part, type Said } from './prompt.ts'
import type { Ending, Frames, OutputUse, PromptUse, Wire } from './wire.ts'

interface Body {
  readonly model: string
  readonly system?: string | readonly Block[]
  readonly tools?: readonly (Markable & { readonly name: string })[]
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[]
  readonly max_tokens?: number
  readonly tool_choice?: object
  readonly thinking?: object
  readonly stream?: boolean
}

interface Markable {
  readonly cache_control?: object | null
}

interface Block extends Markable {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly input?: unknown
  readonly tool_use_id?: string
  readonly content?: string | readonly Block[]
}

const MARKS_MAX = 4
const FINISHES = { stop: 'end_turn', calls: 'tool_use', limit: 'max_tokens' } as const

export const anthropic: Wire = {
  dialect: 'anthropic',
  newCache: () => new MarkedCache(),

  read(json) {
    const { model, system = [], tools = [], messages, max_tokens, stream, tool_choice, thinking } = json as unknown as Body
    if (stream !== true) throw new SyntaxError('stream: only streams are served')
    if (max_tokens === undefined) throw new SyntaxError('max_tokens: Field required')
    if (!Array.isArray(messages) || messages.length === 0) throw new SyntaxError('messages: at least one message is required')
    // Another choice of tools or of thinking leaves the messages unknown, tools and system prompt not.
    const setting = JSON.stringify({ tool_choice, thinking })
    const parts = [
      ...tools.map(tool => partOf('tool', tool)),
      ...blocksOf(system).map(block => partOf('system', block)),
      ...messages.flatMap(({ role, content }) => blocksOf(content).map(block => ({ ...partOf(role, block), setting }))),
    ]
    const marks = parts.filter(({ isMarked }) => isMarked).length
    if (marks > MARKS_MAX) throw new SyntaxError(`A maximum of ${MARKS_MAX} blocks with cache_control may be provided. Found ${marks}.`)
    return {
      model,
      system: textOf(blocksOf(system)),
      tools: tools.map(({ name }) => name),
      messages: messages.map(({ role, content }) => said(role, blocksOf(content))),
      parts,
      maxTokens: max_tokens,
    }
  },

  frames: (body, use) => new AnthropicFrames((body as unknown as Body).model, use),
}

/** The role stands in each part: a block of one role is no block of another. */
function partOf(role: string, { cache_control, ...value }: Markable): Part {
  return { tokens: tokensOf(`${role}: ${JSON.stringify(value)}`), ...(cache_control ? { isMarked: true } : {}) }
}

function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map(({ text, content }) => text ?? (content === undefined ? '' : textOf(blocksOf(content)))).join('')
}

/** A user message that answers calls first, as one must, and may say something behind. */
function said(role: string, blocks: readonly Block[]): Said {
  if (role !== 'user' && role !== 'assistant') throw new SyntaxError(`messages: no such role: ${role}`)
  for (const { type, text } of blocks) if (type === 'text' && (text ?? '').trim() === '') throw new SyntaxError('messages: text content blocks must contain non-whitespace text')
  const answers = blocks.flatMap(({ tool_use_id }) => tool_use_id ?? [])
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id, name, input }): Call => ({ id: id!, name: name!, arguments: JSON.stringify(input) }))
  return { role: answers.length > 0 ? 'tool' : role, text: textOf(blocks), calls, answers }
}

class AnthropicFrames implements Frames {
  private readonly model: string
  private readonly use: PromptUse
  private index = -1
  private open: 'text' | 'thinking' | null = null

  constructor(model: string, use: PromptUse) {
    this.model = model
    this.use = use
  }

  begin(): string {
    const { promptTokens, read, written } = this.use
    const usage = {
      input_tokens: promptTokens - read - written,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
      output_tokens: 1,
    }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: this.model, content: [], stop_reason: null, stop_sequence: null, usage }
    return frame('message_start', { message }) + frame('ping', {})
  }

  text(delta: string): string {
    return this.opened('text', { text: '' }) + this.delta({ type: 'text_delta', text: delta })
  }

  reasoning(delta: string): string {
    return this.opened('thinking', { thinking: '', signature: '' }) + this.delta({ type: 'thinking_delta', thinking: delta })
  }

  call({ id, name, arguments: text }: Call): string {
    const closed = this.closed()
    this.index += 1
    return closed
      + frame('content_block_start', { index: this.index, content_block: { type: 'tool_use', id, name, input: {} } })
      + this.delta({ type: 'input_json_delta', partial_json: text })
      + frame('content_block_stop', { index: this.index })
  }

  error(body: unknown): string {
    return `event: error\ndata: ${JSON.stringify(body)}\n\n`
  }

  end(ending: Ending, { outputTokens }: OutputUse): string {
    const stop_reason = typeof ending === 'string' ? FINISHES[ending] : ending.word
    return this.closed()
      + frame('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: outputTokens } })
      + frame('message_stop', {})
  }

  private opened(type: 'text' | 'thinking', fields: Json): string {
    if (this.open === type) return ''
    const closed = this.closed()
    this.open = type
    this.index += 1
    return closed + frame('content_block_start', { index: this.index, content_block: { type, ...fields } })
  }

  /** A block of thinking is signed as it ends. */
  private closed(): string {
    const { open } = this
    if (open === null) return ''
    this.open = null
    const signature = open === 'thinking' ? frame('content_block_delta', { index: this.index, delta: { type: 'signature_delta', signature: `signed-${this.index}` } }) : ''
    return signature + frame('content_block_stop', { index: this.index })
  }

  private delta(delta: Json): string {
    return frame('content_block_delta', { index: this.index, delta })
  }
}

function frame(type: string, fields: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
