/**
 * Kimi, the wire: `{timestamp, message: {type, payload}}` a line, as things happened.
 *
 * Pure. A result may arrive while the next call of the same step is still being written, so a step is put together until the
 * next one begins:
 *
 *     StepBegin  ContentPart  ToolCall a  ToolCall b…  ToolResult a  ToolCallPart …b  StatusUpdate  ToolResult b │ StepBegin
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { callBlock, reasoningBlock, textBlock, type TranscriptBuilder } from './builder.ts'
import { chatContent } from './chat.ts'
import type { LinesFormat } from './format.ts'
import { numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import type { Line } from './lines.ts'
import { tokenUsage } from './usage.ts'

export const kimiWire: LinesFormat = {
  name: 'kimi-wire',
  expected: 'a Kimi wire log (JSON Lines of {"timestamp":…,"message":{"type":…,"payload":{…}}})',

  claims({ line, value }) {
    if (line === 1 && value.type === 'metadata' && typeof value.protocol_version === 'string') return 'yes'
    const message = objectAt(value, 'message') ?? {}
    return value.type === undefined && typeof message.type === 'string' && objectAt(message, 'payload') !== undefined ? 'yes' : 'no'
  },

  read(lines, builder) {
    const reader = new Reader(builder)
    for (const line of lines) reader.line(line)
    reader.closeStep()
    return builder.finish()
  },
}

interface Call {
  readonly id: string | undefined
  readonly name: string | undefined
  arguments: string
}

interface Said {
  readonly type: 'text' | 'think'
  text: string
}

interface Step {
  readonly line: number
  /** In the order of their beginnings; pieces are joined to what they go on with. */
  readonly said: Said[]
  readonly calls: Call[]
  readonly results: { readonly payload: JsonObject; readonly line: number }[]
  usage: JsonObject | undefined
  interrupted: boolean
}

class Reader {
  private readonly builder: TranscriptBuilder
  private step: Step | null = null

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  line({ line, value }: Line): void {
    const message = objectAt(value, 'message')
    const payload = objectAt(message ?? {}, 'payload') ?? {}
    switch (message?.type) {
      case undefined:
        if (value.type !== 'metadata') this.builder.skip('line without a message', line)
        return
      case 'TurnBegin':
        this.closeStep()
        this.builder.input(chatContent(this.builder, payload.user_input, line), 'person', line)
        return
      case 'TurnEnd':
        return this.closeStep()
      case 'StepBegin':
        this.closeStep()
        this.step = { line, said: [], calls: [], results: [], usage: undefined, interrupted: false }
        return
      case 'StepInterrupted':
        return this.within(line, step => (step.interrupted = true))
      case 'ContentPart':
        return this.say(payload, line)
      case 'ToolCall': {
        const called = objectAt(payload, 'function') ?? {}
        const call = { id: stringAt(payload, 'id'), name: stringAt(called, 'name'), arguments: stringAt(called, 'arguments') ?? '' }
        return this.within(line, ({ calls }) => calls.push(call))
      }
      case 'ToolCallPart': {
        const call = this.step?.calls.at(-1)
        if (call === undefined) this.builder.skip('piece of a tool call that never began', line)
        else call.arguments += stringAt(payload, 'arguments_part') ?? ''
        return
      }
      case 'ToolResult':
        return this.within(line, ({ results }) => results.push({ payload, line }))
      case 'StatusUpdate': {
        const usage = objectAt(payload, 'token_usage')
        if (usage === undefined) this.builder.skip('event StatusUpdate without usage', line)
        else this.within(line, step => (step.usage = usage))
        return
      }
      default:
        this.builder.skip(`event ${String(message?.type)}, not shown to the model`, line)
    }
  }

  closeStep(): void {
    const { builder, step } = this
    if (step === null) return
    this.step = null
    if (step.said.length + step.calls.length + step.results.length === 0) return builder.skip('step in which nothing was said', step.line)
    const said = step.said.map(({ type, text }) => (type === 'think' ? reasoningBlock(text) : textBlock(text)))
    const calls = step.calls.map(call => callBlock(call.id, call.name, call.arguments))
    const answer = builder.answer({ content: [...said, ...calls], line: step.line })
    answer.usage = step.usage && usageOf(step.usage)
    answer.interrupted = step.interrupted
    for (const { payload, line } of step.results) {
      const returned = objectAt(payload, 'return_value') ?? {}
      builder.result(stringAt(payload, 'tool_call_id') ?? '', resultBlocks(builder, returned, line), returned.is_error === true, line)
    }
  }

  private say(payload: JsonObject, line: number): void {
    const type = payload.type === 'text' || payload.type === 'think' ? payload.type : null
    if (type === null) return this.builder.skip(`content of type ${String(payload.type)}`, line)
    const text = stringAt(payload, type) ?? ''
    if (typeof payload.encrypted === 'string') this.builder.skip('signature of reasoning', line)
    this.within(line, ({ said }) => {
      const last = said.at(-1)
      if (last?.type === type) last.text += text
      else said.push({ type, text })
    })
  }

  /** A log may begin in the middle of a step. */
  private within(line: number, act: (step: Step) => void): void {
    this.step ??= { line, said: [], calls: [], results: [], usage: undefined, interrupted: false }
    act(this.step)
  }
}

/** As Kimi shows it to the model: what the tool says of itself stands in `<system>` before its output. */
function resultBlocks(builder: TranscriptBuilder, returned: JsonObject, line: number): ContentBlock[] {
  const message = stringAt(returned, 'message') ?? ''
  const about = message === '' ? [] : [textBlock(`<system>${returned.is_error === true ? 'ERROR: ' : ''}${message}</system>`)]
  return [...about, ...chatContent(builder, returned.output, line)]
}

function usageOf(usage: JsonObject) {
  return tokenUsage({
    input: numberAt(usage, 'input_other') ?? 0,
    cacheRead: numberAt(usage, 'input_cache_read'),
    cacheWrite: numberAt(usage, 'input_cache_creation'),
    output: numberAt(usage, 'output'),
  })
}
