/**
 * Chat: the message vocabulary of OpenAI-compatible chat completions, which several tools store as their log.
 *
 * Pure. A message's place is its 1-based index.
 */
import type { ContentBlock, FinishReason, ToolSchema } from '@deepseek-ai/dsh-llm'
import { callBlock, reasoningBlock, textBlock, type AnswerDraft, type TranscriptBuilder } from './builder.ts'
import type { Objection } from './format.ts'
import { imageBlock, imageFromUrl } from './images.ts'
import { arrayAt, isObject, objectAt, stringAt, type JsonObject } from './json.ts'

/** Null for a list of messages. */
export function chatObjection(messages: unknown): Objection | null {
  if (!Array.isArray(messages)) return { message: 1, found: 'an object without messages' }
  if (messages.length === 0) return { message: 1, found: 'no message' }
  const index = messages.findIndex(message => !isObject(message) || typeof message.role !== 'string')
  return index < 0 ? null : { message: index + 1, found: 'no object with a role' }
}

/** A string, an array of parts, or nothing. */
export function chatContent(builder: TranscriptBuilder, content: unknown, line: number): ContentBlock[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [textBlock(content)]
  if (!Array.isArray(content)) {
    builder.skip('content that is neither text nor parts', line)
    return []
  }
  return content.flatMap(part => chatPart(builder, part, line))
}

function chatPart(builder: TranscriptBuilder, part: unknown, line: number): ContentBlock[] {
  if (typeof part === 'string') return [textBlock(part)]
  if (isObject(part)) {
    const type = stringAt(part, 'type')
    const text = stringAt(part, 'text') ?? stringAt(part, 'refusal')
    if (text !== undefined && (type === 'text' || type === 'input_text' || type === 'output_text' || type === 'refusal')) {
      return [textBlock(text)]
    }
    if (type === 'think') return [reasoningBlock(stringAt(part, 'think') ?? '')] // as Kimi stores it
    const url = stringAt(part, 'image_url') ?? stringAt(objectAt(part, 'image_url') ?? {}, 'url')
    if (url !== undefined) return [imageFromUrl(url)]
    const source = objectAt(part, 'source')
    const data = source && stringAt(source, 'data')
    if (type === 'image' && data !== undefined) return [imageBlock(stringAt(source!, 'media_type') ?? 'image/png', data)]
    builder.skip(`content part of type ${type ?? 'unknown'}`, line)
    return []
  }
  builder.skip('content part that is no object', line)
  return []
}

/** Reasoning first, then text, then calls: the order in which chat completions answer. */
export function chatAnswer(
  builder: TranscriptBuilder,
  message: JsonObject,
  line: number,
  rest: { model?: string | undefined; finish?: FinishReason | undefined },
): AnswerDraft {
  const reasoning = stringAt(message, 'reasoning_content') ?? stringAt(message, 'reasoning')
  const content = [
    ...(reasoning === undefined ? [] : [reasoningBlock(reasoning)]),
    ...chatContent(builder, message.content, line),
    ...(typeof message.refusal === 'string' ? [textBlock(message.refusal)] : []),
    ...arrayAt(message, 'tool_calls').flatMap(call => chatCall(builder, call, line)),
  ]
  if (isObject(message.function_call)) builder.skip('legacy function_call', line)
  return builder.answer({ content, line, ...rest })
}

function chatCall(builder: TranscriptBuilder, call: unknown, line: number): ContentBlock[] {
  const named = isObject(call) ? (objectAt(call, 'function') ?? objectAt(call, 'custom')) : undefined
  if (!isObject(call) || named === undefined) {
    builder.skip('tool call that names no function', line)
    return []
  }
  const given = named.arguments ?? (typeof named.input === 'string' ? { input: named.input } : named.input)
  return [callBlock(stringAt(call, 'id'), stringAt(named, 'name'), given)]
}

export function chatFinish(reason: string | undefined): FinishReason | undefined {
  switch (reason) {
    case undefined:
      return undefined
    case 'stop':
      return 'stop'
    case 'tool_calls':
    case 'function_call':
      return 'tool-calls'
    case 'length':
      return 'max-tokens'
    case 'content_filter':
      return 'content-filter'
    default:
      return 'other'
  }
}

/** Tool schemas, nested under `function` as chat completions have them, or flat. */
export function chatTools(builder: TranscriptBuilder, tools: readonly unknown[]): ToolSchema[] {
  return tools.flatMap((tool): ToolSchema[] => {
    const schema = isObject(tool) ? (objectAt(tool, 'function') ?? tool) : {}
    const name = stringAt(schema, 'name')
    if (name === undefined) {
      builder.skip('tool without a name', 1)
      return []
    }
    const description = stringAt(schema, 'description')
    const parameters = objectAt(schema, 'parameters') ?? objectAt(schema, 'input_schema') ?? { type: 'object' }
    return [{ name, ...(description === undefined ? {} : { description }), parameters }]
  })
}

/** Count the keys that no item keeps; a null or empty value says nothing and counts nothing. */
export function skipOtherKeys(builder: TranscriptBuilder, object: JsonObject, known: ReadonlySet<string>, owner: string, line: number): void {
  for (const [key, value] of Object.entries(object)) {
    if (known.has(key) || value === null || value === '' || (Array.isArray(value) && value.length === 0)) continue
    builder.skip(`${owner} ${key}`, line)
  }
}
