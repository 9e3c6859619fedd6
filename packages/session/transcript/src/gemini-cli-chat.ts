/**
 * Gemini CLI: one JSON object with the chat's `messages`; a message of the model carries its calls together with what they
 * returned.
 *
 * Pure. Thoughts have no place among texts and calls: they come first, as the model sends them.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { callBlock, contentBlocks, reasoningBlock, textBlock, type TranscriptBuilder } from './builder.ts'
import { skipOtherKeys } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { imageBlock } from './images.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import { tokenUsage } from './usage.ts'

const DOCUMENT_KEYS = new Set(['messages', 'sessionId', 'projectHash', 'startTime', 'lastUpdated'])
const MESSAGE_KEYS = new Set(['id', 'timestamp', 'type', 'content', 'thoughts', 'tokens', 'model', 'toolCalls'])

export const geminiCliChat: DocumentFormat = {
  name: 'gemini-cli-chat',
  expected: 'a Gemini CLI chat (an object with a sessionId and messages of the types user and gemini)',

  objection(document) {
    if (!isObject(document) || typeof document.sessionId !== 'string') return { message: 1, found: 'no sessionId' }
    const messages = arrayAt(document, 'messages')
    const index = messages.findIndex(message => !isObject(message) || typeof message.type !== 'string' || message.role !== undefined)
    if (messages.length > 0 && index < 0) return null
    return { message: index < 0 ? 1 : index + 1, found: messages.length === 0 ? 'no message' : 'no object with a type' }
  },

  read(document, builder) {
    const whole = document as JsonObject
    skipOtherKeys(builder, whole, DOCUMENT_KEYS, 'key of the file:', 1)
    for (const [index, message] of (arrayAt(whole, 'messages') as JsonObject[]).entries()) readMessage(builder, message, index + 1)
    return builder.finish()
  },
}

function readMessage(builder: TranscriptBuilder, message: JsonObject, line: number): void {
  skipOtherKeys(builder, message, MESSAGE_KEYS, 'key of a message:', line)
  switch (message.type) {
    case 'user':
      builder.input(parts(builder, message.content, line), 'person', line)
      return
    case 'gemini':
      return readAnswer(builder, message, line)
    default:
      builder.skip(`message of type ${String(message.type)}, for the screen only`, line)
  }
}

function readAnswer(builder: TranscriptBuilder, message: JsonObject, line: number): void {
  const calls = arrayAt(message, 'toolCalls').filter(isObject)
  const content = [
    ...arrayAt(message, 'thoughts').filter(isObject).map(thoughtBlock),
    ...parts(builder, message.content, line),
    ...calls.map(call => callBlock(stringAt(call, 'id'), stringAt(call, 'name'), call.args)),
  ]
  const answer = builder.answer({ content, line, model: stringAt(message, 'model') })
  answer.usage = usageOf(objectAt(message, 'tokens') ?? {})
  for (const call of calls) {
    if (!Array.isArray(call.result) || call.result.length === 0) continue
    const failed = call.status === 'error' || call.status === 'cancelled'
    builder.result(stringAt(call, 'id') ?? '', parts(builder, call.result, line), failed, line)
  }
}

/** As the model wrote it: the subject in bold before its description. */
function thoughtBlock(thought: JsonObject): ContentBlock {
  const [subject, description] = [stringAt(thought, 'subject') ?? '', stringAt(thought, 'description') ?? '']
  return reasoningBlock(subject === '' ? description : `**${subject}**\n${description}`)
}

function parts(builder: TranscriptBuilder, content: unknown, line: number): ContentBlock[] {
  return contentBlocks(content, part => {
    const text = stringAt(part, 'text')
    if (text !== undefined) return [textBlock(text)]
    const response = objectAt(objectAt(part, 'functionResponse') ?? {}, 'response')
    if (response !== undefined) return [textBlock(stringAt(response, 'output') ?? stringAt(response, 'error') ?? JSON.stringify(response))]
    const image = objectAt(part, 'inlineData')
    const mediaType = image && stringAt(image, 'mimeType')
    if (image !== undefined && mediaType?.startsWith('image/') === true) return [imageBlock(mediaType, stringAt(image, 'data') ?? '')]
    builder.skip(`content part of the keys ${Object.keys(part).join(', ')}`, line)
    return []
  })
}

/** `input` includes what was read from the cache; `output` does not include the thoughts. */
function usageOf(tokens: JsonObject) {
  const cached = numberAt(tokens, 'cached')
  const thoughts = numberAt(tokens, 'thoughts')
  return tokenUsage({
    input: Math.max(0, (numberAt(tokens, 'input') ?? 0) - (cached ?? 0)),
    cacheRead: cached,
    output: (numberAt(tokens, 'output') ?? 0) + (thoughts ?? 0),
    reasoning: thoughts,
  })
}
