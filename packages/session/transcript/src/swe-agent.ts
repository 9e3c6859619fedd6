/**
 * SWE-agent: one JSON object with the chat `history` of a run and its `trajectory`, which repeats it step by step.
 *
 * Pure. Nobody talks to a running agent: the task is the one input of a person; demonstrations and what the environment says
 * in a run without tool calls are context.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { TranscriptBuilder } from './builder.ts'
import { chatAnswer, chatContent, chatObjection, skipOtherKeys } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { arrayAt, isObject, type JsonObject } from './json.ts'

const DOCUMENT_KEYS = new Set(['history', 'trajectory'])
/** `thought` and `action` repeat the content and the calls. */
const MESSAGE_KEYS = new Set(['role', 'content', 'thought', 'action', 'tool_calls', 'tool_call_ids', 'message_type', 'agent', 'is_demo'])

export const sweAgent: DocumentFormat = {
  name: 'swe-agent-traj',
  expected: 'a SWE-agent trajectory (an object with a trajectory and a history of messages with a role)',

  objection(document) {
    if (!isObject(document) || !Array.isArray(document.trajectory)) return { message: 1, found: 'no trajectory' }
    return chatObjection(document.history)
  },

  read(document, builder) {
    const whole = document as JsonObject
    const reader = new Reader(builder)
    skipOtherKeys(builder, whole, DOCUMENT_KEYS, 'key of the file:', 1)
    for (const [index, message] of (arrayAt(whole, 'history') as JsonObject[]).entries()) reader.message(message, index + 1)
    builder.envelope({ system: reader.system.join('\n\n') }, 1)
    return builder.finish()
  },
}

class Reader {
  readonly system: string[] = []
  private readonly builder: TranscriptBuilder
  private asked = false

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  message(message: JsonObject, line: number): void {
    const { builder } = this
    skipOtherKeys(builder, message, MESSAGE_KEYS, 'key of a message:', line)
    switch (message.role) {
      case 'system':
        this.system.push(textOf(chatContent(builder, message.content, line)))
        return
      case 'user': {
        const isContext = this.asked || message.is_demo === true
        this.asked ||= !isContext
        builder.input(chatContent(builder, message.content, line), isContext ? 'context' : 'person', line)
        return
      }
      case 'assistant':
        chatAnswer(builder, message, line, {})
        return
      case 'tool':
        for (const [index, id] of arrayAt(message, 'tool_call_ids').entries()) {
          if (index > 0) builder.skip('call that shares the result of another', line)
          builder.result(String(id), index > 0 ? [] : chatContent(builder, message.content, line), false, line)
        }
        return
      default:
        builder.skip(`message of role ${String(message.role)}`, line)
    }
  }
}
