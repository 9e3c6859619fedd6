/**
 * Codex: `{timestamp, type, payload}` a line; `response_item` lines are what the model saw and said, one item of an answer
 * each.
 *
 * Pure. An answer begins at the first reasoning, message or call after an output, an input, a compaction or a changed
 * token count. A token count stands after the outputs of the request that it measures, and may be repeated unchanged.
 *
 *     reasoning message call call │ output output │ token_count │ reasoning …
 *     └──────── one answer ───────┘                └ its usage
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { callBlock, reasoningBlock, textBlock, type AnswerDraft, type TranscriptBuilder } from './builder.ts'
import type { LinesFormat } from './format.ts'
import { imageFromUrl } from './images.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import type { Line } from './lines.ts'
import { tokenUsage } from './usage.ts'

const TYPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted'])

/** Texts that the tool sends in the name of the user. */
const CONTEXT_START = /^\s*(# AGENTS\.md instructions|<(environment_context|user_instructions|turn_aborted|permissions instructions|skill|user_shell_command|subagent_notification)>)/

const FAILURE_START = /^((Chunk ID|Wall time): .*\n)*(Process exited with code|Exit code:) [1-9]/

const ABORT_START = /^\s*<turn_aborted>/

export const codexRollout: LinesFormat = {
  name: 'codex-rollout',
  expected: 'a Codex rollout (JSON Lines of {"timestamp":…,"type":"session_meta"|"response_item"|…,"payload":{…}})',

  claims({ value }) {
    if (!TYPES.has(String(value.type)) || !isObject(value.payload)) return 'no'
    return value.type === 'session_meta' || value.type === 'response_item' ? 'yes' : 'maybe'
  },

  read(lines, builder) {
    const reader = new Reader(builder)
    for (const line of lines) reader.line(line)
    return reader.finish()
  },
}

class Reader {
  private readonly builder: TranscriptBuilder
  private model: string | undefined
  private step: { content: ContentBlock[]; line: number } | null = null
  /** The last answer, while its usage is not known. */
  private unmeasured: AnswerDraft | null = null
  private totalUsage = ''

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  line({ line, value }: Line): void {
    const payload = objectAt(value, 'payload') ?? {}
    switch (value.type) {
      case 'session_meta':
        return this.builder.envelope({ system: stringAt(objectAt(payload, 'base_instructions') ?? {}, 'text') ?? stringAt(payload, 'instructions') }, line)
      case 'turn_context':
        this.model = stringAt(payload, 'model') ?? this.model
        return
      case 'response_item':
        return this.responseItem(payload, line)
      case 'event_msg':
        return this.event(payload, line)
      case 'compacted':
        return this.compacted(payload, line)
      default:
        this.builder.skip(`line of type ${String(value.type)}`, line)
    }
  }

  finish() {
    this.closeStep()
    return this.builder.finish({ model: this.model })
  }

  private responseItem(item: JsonObject, line: number): void {
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') return this.say(line, ...this.blocks(item.content, line))
        return this.input(item, line)
      case 'reasoning':
        return this.reasoning(item, line)
      case 'function_call':
        return this.call(item, item.arguments, line)
      case 'custom_tool_call':
        return this.call(item, { input: stringAt(item, 'input') ?? '' }, line)
      case 'local_shell_call':
        return this.call({ ...item, name: 'local_shell' }, item.action, line)
      case 'tool_search_call':
        if (typeof item.call_id !== 'string') return this.builder.skip('tool call that the provider ran itself', line)
        return this.call({ ...item, name: 'tool_search' }, item.arguments, line)
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.output(item, this.outputBlocks(item.output, line), line)
      case 'tool_search_output':
        return this.output(item, [textBlock(JSON.stringify(item.tools ?? []))], line)
      case 'web_search_call':
      case 'image_generation_call':
        return this.builder.skip('tool call that the provider ran itself', line)
      default:
        this.builder.skip(`item of type ${String(item.type)}`, line)
    }
  }

  private event(payload: JsonObject, line: number): void {
    if (payload.type === 'token_count') return this.tokenCount(objectAt(payload, 'info'), line)
    if (payload.type === 'turn_aborted') return this.abort()
    this.builder.skip(`event ${String(payload.type)}, for the screen only`, line)
  }

  private input(message: JsonObject, line: number): void {
    const content = this.blocks(message.content, line)
    const texts = content.flatMap(block => (block.type === 'text' ? [block.text] : []))
    if (texts.some(text => ABORT_START.test(text))) this.abort()
    else this.closeStep()
    const isContext = message.role !== 'user' || (texts.length > 0 && texts.every(text => CONTEXT_START.test(text)))
    this.builder.input(content, isContext ? 'context' : 'person', line)
  }

  private reasoning(item: JsonObject, line: number): void {
    const parts = [...arrayAt(item, 'summary'), ...arrayAt(item, 'content')]
    const texts = parts.flatMap(part => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
    if (texts.length === 0) this.builder.skip('reasoning that is encrypted or empty', line)
    this.say(line, ...(texts.length === 0 ? [] : [reasoningBlock(texts.join('\n\n'))]))
  }

  private call(item: JsonObject, given: unknown, line: number): void {
    this.say(line, callBlock(stringAt(item, 'call_id'), stringAt(item, 'name'), given))
  }

  private output(item: JsonObject, content: readonly ContentBlock[], line: number): void {
    this.closeStep()
    this.builder.result(stringAt(item, 'call_id') ?? '', content, hasFailed(item.output), line)
  }

  private tokenCount(info: JsonObject | undefined, line: number): void {
    const total = JSON.stringify(info?.total_token_usage)
    if (info === undefined || total === this.totalUsage) return
    this.totalUsage = total
    this.closeStep()
    const last = objectAt(info, 'last_token_usage') ?? {}
    const cached = numberAt(last, 'cached_input_tokens')
    const usage = tokenUsage({
      input: Math.max(0, (numberAt(last, 'input_tokens') ?? 0) - (cached ?? 0)),
      cacheRead: cached,
      output: numberAt(last, 'output_tokens'),
      reasoning: numberAt(last, 'reasoning_output_tokens'),
    })
    if (this.unmeasured === null) return this.builder.skip('usage of no recorded answer', line)
    this.unmeasured.usage = usage
    this.unmeasured = null
  }

  private compacted(payload: JsonObject, line: number): void {
    this.closeStep()
    this.unmeasured = null
    const kept = arrayAt(payload, 'replacement_history').filter(isObject)
    const summary = stringAt(payload, 'message') ?? ''
    const content: ContentBlock[] = [textBlock(introduction(summary, kept.length > 0))]
    for (const item of kept) {
      if (item.type !== 'message') continue
      content.push(textBlock(`Kept message (${String(item.role)}):`), ...this.blocks(item.content, line))
    }
    this.builder.compaction({ content, keptFrom: null, tokensBefore: undefined, line })
  }

  private say(line: number, ...blocks: ContentBlock[]): void {
    this.step ??= { content: [], line }
    this.step.content.push(...blocks)
  }

  private closeStep(): AnswerDraft | null {
    if (this.step === null) return null
    this.unmeasured = this.builder.answer({ ...this.step, model: this.model })
    this.step = null
    return this.unmeasured
  }

  /** An answer still being made is cut off; one that has called a tool is complete, and its call goes unanswered. */
  private abort(): void {
    const answer = this.closeStep()
    if (answer !== null && answer.results.length === 0) answer.interrupted = true
  }

  private outputBlocks(output: unknown, line: number): ContentBlock[] {
    if (isObject(output)) return [textBlock(stringAt(output, 'content') ?? JSON.stringify(output))]
    return this.blocks(output, line)
  }

  private blocks(content: unknown, line: number): ContentBlock[] {
    if (typeof content === 'string') return [textBlock(content)]
    if (!Array.isArray(content)) return []
    return content.flatMap((part): ContentBlock[] => {
      const text = isObject(part) ? stringAt(part, 'text') : undefined
      if (text !== undefined) return [textBlock(text)]
      const url = isObject(part) ? stringAt(part, 'image_url') : undefined
      if (url !== undefined) return [imageFromUrl(url)]
      this.builder.skip(`content of type ${isObject(part) ? String(part.type) : typeof part}`, line)
      return []
    })
  }
}

/** Success is not recorded with the output of a command; its exit code stands in the lines that Codex puts before it. */
function hasFailed(output: unknown): boolean {
  if (isObject(output)) return output.success === false
  return typeof output === 'string' && FAILURE_START.test(output)
}

function introduction(summary: string, someKept: boolean): string {
  const opening = 'The older part of this conversation was compacted when it was recorded.'
  const middle = summary === '' ? ' The summary is encrypted and cannot be read here.' : `\n\n${summary}`
  return someKept ? `${opening}${middle}\n\nThese messages were kept:` : `${opening}${middle}`
}
