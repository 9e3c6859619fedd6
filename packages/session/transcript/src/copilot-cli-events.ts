/**
 * Copilot CLI: `{type, data, id, timestamp, parentId}` a line.
 *
 * Pure. What a person said is sent inside a text that the tool transformed; the tool's share of it is context.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { callBlock, reasoningBlock, textBlock, type TranscriptBuilder } from './builder.ts'
import type { LinesFormat } from './format.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import { inputAround } from './words.ts'

const TYPE = /^(session|system|user|assistant|tool|hook|permission)\.\w+$|^abort$/

export const copilotCliEvents: LinesFormat = {
  name: 'copilot-cli-events',
  expected: 'a Copilot CLI session (JSON Lines of {"type":"session.start"|"user.message"|…,"data":{…},"id":…,"parentId":…})',

  claims({ value }) {
    if (!TYPE.test(String(value.type)) || !isObject(value.data) || typeof value.id !== 'string') return 'no'
    return value.type === 'session.start' || value.type === 'user.message' || value.type === 'assistant.message' ? 'yes' : 'maybe'
  },

  read(lines, builder) {
    for (const { line, value } of lines) readEvent(builder, String(value.type), objectAt(value, 'data') ?? {}, line)
    return builder.finish()
  },
}

function readEvent(builder: TranscriptBuilder, type: string, data: JsonObject, line: number): void {
  switch (type) {
    case 'system.message':
      return builder.envelope({ system: stringAt(data, 'content') }, line)
    case 'user.message': {
      const words = stringAt(data, 'content') ?? ''
      for (const _ of arrayAt(data, 'attachments')) builder.skip("attachment of a person's message", line)
      return inputAround(builder, stringAt(data, 'transformedContent') ?? words, words, line)
    }
    case 'system.notification':
      builder.input([textBlock(stringAt(data, 'content') ?? '')], 'context', line)
      return
    case 'assistant.message':
      return readAnswer(builder, data, line)
    case 'tool.execution_complete':
      return readResult(builder, data, line)
    default:
      builder.skip(`event ${type}, not shown to the model`, line)
  }
}

function readAnswer(builder: TranscriptBuilder, data: JsonObject, line: number): void {
  const content: ContentBlock[] = [
    reasoningBlock(stringAt(data, 'reasoningText') ?? ''),
    textBlock(stringAt(data, 'content') ?? ''),
    ...arrayAt(data, 'toolRequests').filter(isObject).map(call => callBlock(stringAt(call, 'toolCallId'), stringAt(call, 'name'), call.arguments)),
  ]
  builder.answer({ content, line, model: stringAt(data, 'model') })
  if (data.reasoningOpaque !== undefined) builder.skip('encrypted reasoning or signature of a reasoning', line)
  if (numberAt(data, 'outputTokens') !== undefined) builder.skip('count of output tokens, without one of the prompt', line)
}

function readResult(builder: TranscriptBuilder, data: JsonObject, line: number): void {
  const failed = data.success === false
  const shown = stringAt(objectAt(data, 'result') ?? {}, 'content') ?? stringAt(objectAt(data, 'error') ?? {}, 'message') ?? ''
  builder.result(stringAt(data, 'toolCallId') ?? '', [textBlock(shown)], failed, line)
}
