/**
 * OpenAI chat JSON: an array of messages, or an object with `messages` and perhaps `system`, `tools` and `model`.
 *
 * Pure.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { TranscriptBuilder } from './builder.ts'
import { chatAnswer, chatContent, chatFinish, chatObjection, chatTools, skipOtherKeys } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { arrayAt, isObject, objectAt, stringAt, type JsonObject } from './json.ts'
import { isMiniSweAgent } from './mini-swe-agent.ts'
import { chatUsage } from './usage.ts'

const DOCUMENT_KEYS = new Set(['messages', 'system', 'tools', 'model'])
const MESSAGE_KEYS = new Set([
  'role', 'content', 'reasoning_content', 'reasoning', 'refusal', 'tool_calls', 'function_call', 'tool_call_id', 'usage',
  'finish_reason', 'model', 'is_error',
])

export const openaiChat: DocumentFormat = {
  name: 'openai-chat',
  expected: 'OpenAI chat JSON (an array of messages with a role, or an object with such messages)',

  objection(document) {
    if (isMiniSweAgent(document)) return { message: 1, found: 'a mini-swe-agent trajectory' }
    return chatObjection(isObject(document) ? document.messages : document)
  },

  read(document, builder) {
    const whole: JsonObject = isObject(document) ? document : { messages: document }
    const given = stringAt(whole, 'system')
    const tools = chatTools(builder, arrayAt(whole, 'tools'))
    skipOtherKeys(builder, whole, DOCUMENT_KEYS, 'key of the file:', 1)
    const system = readChat(builder, arrayAt(whole, 'messages').filter(isObject), 1)
    builder.envelope({ system: [given, system].filter(text => text !== undefined).join('\n\n'), tools }, 1)
    return builder.finish({ model: stringAt(whole, 'model') })
  },
}

/** A whole conversation; gives its system prompt, which are the system messages that it begins with. */
export function readChat(builder: TranscriptBuilder, messages: readonly JsonObject[], firstLine: number): string | undefined {
  const system: string[] = []
  let begun = false
  for (const [index, message] of messages.entries()) {
    const line = firstLine + index
    skipOtherKeys(builder, message, MESSAGE_KEYS, 'key of a message:', line)
    const isSystem = message.role === 'system' || message.role === 'developer'
    if (isSystem && !begun) system.push(textOf(chatContent(builder, message.content, line)))
    else readMessage(builder, message, line)
    begun ||= !isSystem
  }
  return system.length === 0 ? undefined : system.join('\n\n')
}

function readMessage(builder: TranscriptBuilder, message: JsonObject, line: number): void {
  switch (message.role) {
    case 'user':
      builder.input(chatContent(builder, message.content, line), 'person', line)
      return
    case 'system':
    case 'developer':
      builder.input(chatContent(builder, message.content, line), 'context', line)
      return
    case 'assistant': {
      const finish = chatFinish(stringAt(message, 'finish_reason'))
      const answer = chatAnswer(builder, message, line, { model: stringAt(message, 'model'), finish })
      answer.usage = chatUsage(objectAt(message, 'usage'))
      return
    }
    case 'tool': {
      const content = chatContent(builder, message.content, line)
      builder.result(stringAt(message, 'tool_call_id') ?? '', content, message.is_error === true, line)
      return
    }
    case 'function':
      builder.skip('legacy function result', line)
      return
    default:
      builder.skip(`message of role ${String(message.role)}`, line)
  }
}
