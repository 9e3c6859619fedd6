/**
 * mini-swe-agent: one JSON object with the run's `info` and its chat `messages`, each with what the tool knew in `extra`.
 *
 * Pure. Nobody talks to a running agent: the task is the one input of a person, everything later comes from the environment.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { TranscriptBuilder } from './builder.ts'
import { chatAnswer, chatContent, chatFinish, chatObjection, skipOtherKeys } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import { chatUsage } from './usage.ts'

const DOCUMENT_KEYS = new Set(['messages', 'trajectory_format'])
const MESSAGE_KEYS = new Set(['role', 'content', 'reasoning_content', 'reasoning', 'tool_calls', 'function_call', 'tool_call_id', 'extra'])
/** `actions` repeats the calls, `raw_output` the content; the return code and the exception become `isError`. */
const EXTRA_KEYS = new Set(['response', 'actions', 'raw_output', 'returncode', 'exception_info'])
const RESPONSE_KEYS = new Set(['choices', 'model', 'usage', 'object'])

export const miniSweAgent: DocumentFormat = {
  name: 'mini-swe-agent-traj',
  expected: 'a mini-swe-agent trajectory (an object with a trajectory_format "mini-swe-agent-…" and messages)',

  objection(document) {
    if (!isMiniSweAgent(document)) return { message: 1, found: 'no mini-swe-agent trajectory_format' }
    return chatObjection(document.messages)
  },

  read(document, builder) {
    const whole = document as JsonObject
    const system: string[] = []
    let begun = false
    skipOtherKeys(builder, whole, DOCUMENT_KEYS, 'key of the file:', 1)
    for (const [index, message] of (arrayAt(whole, 'messages') as JsonObject[]).entries()) {
      const line = index + 1
      skipUnexpressed(builder, message, line)
      if (message.role === 'system' && !begun) {
        system.push(textOf(chatContent(builder, message.content, line)))
        continue
      }
      readMessage(builder, message, begun, line)
      begun = true
    }
    builder.envelope({ system: system.join('\n\n') }, 1)
    return builder.finish({ model: configuredModel(whole) })
  },
}

export function isMiniSweAgent(document: unknown): document is JsonObject {
  return isObject(document) && stringAt(document, 'trajectory_format')?.startsWith('mini-swe-agent') === true
}

function readMessage(builder: TranscriptBuilder, message: JsonObject, begun: boolean, line: number): void {
  const extra = objectAt(message, 'extra') ?? {}
  switch (message.role) {
    case 'system':
    case 'user':
      builder.input(chatContent(builder, message.content, line), begun ? 'context' : 'person', line)
      return
    case 'assistant': {
      const response = objectAt(extra, 'response') ?? {}
      const choice = arrayAt(response, 'choices')[0]
      const finish = isObject(choice) ? chatFinish(stringAt(choice, 'finish_reason')) : undefined
      const answer = chatAnswer(builder, message, line, { model: stringAt(response, 'model'), finish })
      answer.usage = chatUsage(objectAt(response, 'usage'))
      return
    }
    case 'tool': {
      const failed = (numberAt(extra, 'returncode') ?? 0) !== 0 || (stringAt(extra, 'exception_info') ?? '') !== ''
      builder.result(stringAt(message, 'tool_call_id') ?? '', chatContent(builder, message.content, line), failed, line)
      return
    }
    case 'exit':
      builder.skip('exit message, which no model saw', line)
      return
    default:
      builder.skip(`message of role ${String(message.role)}`, line)
  }
}

function skipUnexpressed(builder: TranscriptBuilder, message: JsonObject, line: number): void {
  const extra = objectAt(message, 'extra') ?? {}
  skipOtherKeys(builder, message, MESSAGE_KEYS, 'key of a message:', line)
  skipOtherKeys(builder, extra, EXTRA_KEYS, 'key of a message: extra', line)
  skipOtherKeys(builder, objectAt(extra, 'response') ?? {}, RESPONSE_KEYS, 'key of a response:', line)
}

function configuredModel(whole: JsonObject): string | undefined {
  const config = objectAt(objectAt(whole, 'info') ?? {}, 'config') ?? {}
  return stringAt(objectAt(config, 'model') ?? {}, 'model_name')
}
