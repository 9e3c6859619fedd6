/**
 * Our own session log: a header line, then one event a line.
 *
 * Pure. Taken are the events that were appended to the surface: what a person, a plugin, the model and the tools said.
 * Checkpoints, rewrites and `compaction/*` are not, whoever triggered them, because a replay makes its own anew; turns,
 * steps and routes are what the loop adds again. None of that counts as skipped.
 */
import type { ContentBlock, FinishReason, TokenUsage } from '@deepseek-ai/dsh-llm'
import type { TranscriptBuilder } from './builder.ts'
import { chatTools } from './chat.ts'
import type { LinesFormat } from './format.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import { tokenUsage } from './usage.ts'

const VERSION = 1

/** What stands in for a result that no tool gave; the replay makes it again. */
const MADE_RESULTS = new Set(['TOOL_OUTCOME_UNKNOWN', 'TOOL_NOT_STARTED', 'ABORTED'])

const FINISHES: readonly FinishReason[] = ['stop', 'tool-calls', 'max-tokens', 'content-filter', 'other']

const MADE_AGAIN = new Set(['session/end-seed', 'turn/start', 'step/start', 'step/end', 'tool/call', 'request/context', 'command/done'])

export const dshSession: LinesFormat = {
  name: 'dsh-session',
  expected: `a dsh session log (JSON Lines beginning with {"type":"session","version":${VERSION},"createdAt":…})`,

  claims({ line, value }) {
    return line === 1 && value.type === 'session' && value.version === VERSION && typeof value.createdAt === 'number' ? 'yes' : 'no'
  },

  read(lines, builder) {
    const reader = new Reader(builder)
    for (const { line, value } of lines.slice(1)) reader.event(value, line)
    return reader.finish()
  },
}

class Reader {
  private readonly builder: TranscriptBuilder
  /** Accepted input that has not reached the surface, by id, with its line. */
  private readonly waiting = new Map<string, number>()

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  event(event: JsonObject, line: number): void {
    const type = stringAt(event, 'type') ?? ''
    const data = objectAt(event, 'data') ?? {}
    switch (type) {
      case 'user/message':
        return this.input(event, data, line)
      case 'assistant/message':
        if (event.surfaceOp === 'append') this.answer(data, line)
        return
      case 'tool/result':
        if (event.surfaceOp === 'append') this.result(data, line)
        return
      case 'request/header':
        return this.builder.envelope({ system: stringAt(data, 'system'), tools: chatTools(this.builder, arrayAt(data, 'tools')) }, line)
      case 'inbox/spliced':
        return this.inbox(data, line)
      case 'turn/end':
        if (data.reason === 'error') this.builder.skip('failed request', line)
        return
      case 'command/run':
        return this.builder.skip('slash command', line)
      default:
        if (!MADE_AGAIN.has(type) && !type.startsWith('compaction/')) this.builder.skip(`event ${type}`, line)
    }
  }

  finish() {
    for (const line of this.waiting.values()) this.builder.skip('input that never reached the model', line)
    return this.builder.finish()
  }

  private input(event: JsonObject, data: JsonObject, line: number): void {
    const source = objectAt(data, 'source') ?? {}
    const inputId = stringAt(source, 'inputId')
    if (inputId !== undefined) this.waiting.delete(inputId)
    const isCheckpoint = source.kind === 'plugin' && source.plugin === 'compact'
    if (event.surfaceOp !== 'append' || isCheckpoint) return
    this.builder.input(soundBlocks(this.builder, data, line), source.kind === 'user' ? 'person' : 'context', line)
  }

  private answer(data: JsonObject, line: number): void {
    const finish = FINISHES.find(reason => reason === data.finish)
    const answer = this.builder.answer({ content: soundBlocks(this.builder, data, line), line, model: stringAt(data, 'model'), finish })
    answer.usage = ownUsage(objectAt(data, 'usage') ?? {})
    if (data.interrupted === true) answer.interrupted = true
  }

  private result(data: JsonObject, line: number): void {
    if (MADE_RESULTS.has(stringAt(objectAt(data, 'error') ?? {}, 'code') ?? '')) return
    if (data.meta !== undefined) this.builder.skip('details of a tool result, not shown to the model', line)
    this.builder.result(stringAt(data, 'callId') ?? '', soundBlocks(this.builder, data, line), data.isError === true, line)
  }

  private inbox(data: JsonObject, line: number): void {
    for (const item of arrayAt(data, 'inserted')) {
      const inputId = isObject(item) ? stringAt(item, 'inputId') : undefined
      if (inputId !== undefined) this.waiting.set(inputId, line)
    }
    for (const inputId of arrayAt(data, 'removed')) this.waiting.delete(String(inputId))
  }
}

/** Our own vocabulary already, as far as the file is sound; a type that a plugin added passes as it is. */
export function soundBlocks(builder: TranscriptBuilder, data: JsonObject, line: number): ContentBlock[] {
  return arrayAt(data, 'content').filter((block): block is ContentBlock & JsonObject => {
    if (isObject(block) && typeof block.type === 'string' && textsOf(block).every(text => typeof text === 'string')) return true
    builder.skip('damaged content block', line)
    return false
  })
}

/** Usage in our own buckets. */
export function ownUsage(usage: JsonObject): TokenUsage | undefined {
  return tokenUsage({
    input: numberAt(usage, 'inputTokens') ?? 0,
    cacheRead: numberAt(usage, 'cacheReadTokens'),
    cacheWrite: numberAt(usage, 'cacheWriteTokens'),
    output: numberAt(usage, 'outputTokens'),
    reasoning: numberAt(usage, 'reasoningTokens'),
  })
}

/** The values that have to be text. */
function textsOf(block: JsonObject): unknown[] {
  switch (block.type) {
    case 'text':
    case 'reasoning':
      return [block.text]
    case 'image':
      return [block.mediaType]
    case 'tool-call':
      return [block.id, block.name, block.arguments]
    default:
      return []
  }
}
