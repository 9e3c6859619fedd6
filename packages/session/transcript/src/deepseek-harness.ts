/**
 * The DeepSeek harness that came before dsh: a session log of version 0, one event a line, with whole messages in the data of
 * its events.
 *
 * Pure. Taken are the messages that were appended to the surface, and those that took the place of older ones: a compaction.
 * Chunks repeat the message that they became, and turns and steps are what the loop adds again; none of that counts as skipped.
 * A snapshot of a log has `{{name}}` in the place of what differs from run to run, and no seqs.
 */
import type { ItemDraft, TranscriptBuilder } from './builder.ts'
import { chatTools } from './chat.ts'
import { ownUsage, soundBlocks } from './dsh-session.ts'
import type { LinesFormat } from './format.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'

const VERSION = 0

const MADE_AGAIN = new Set([
  'turn/start', 'turn/end', 'step/start', 'step/end', 'tool/call', 'request/context', 'command/done',
  'assistant/chunk', 'text-chunks', 'reasoning-chunks', 'tool-call-chunks',
])

export const deepseekHarness: LinesFormat = {
  name: 'deepseek-harness',
  expected: `a DeepSeek harness session log (JSON Lines beginning with {"type":"session","version":${VERSION},"createdAt":…})`,

  claims({ line, value }) {
    return line === 1 && value.type === 'session' && value.version === VERSION && typeof value.createdAt === 'number' ? 'yes' : 'no'
  },

  read(lines, builder) {
    const reader = new Reader(builder)
    for (const { line, value } of lines.slice(1)) reader.event(value, line)
    return builder.finish()
  },
}

class Reader {
  private readonly builder: TranscriptBuilder
  /** Of what the model still sees. */
  private readonly places: { readonly seq: number; readonly draft: ItemDraft }[] = []

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  event(event: JsonObject, line: number): void {
    const type = stringAt(event, 'type') ?? ''
    const data = objectAt(event, 'data') ?? {}
    const replaced = objectAt(event, 'surfaceOp')
    if (event.surfaceOp === 'append') this.place(event, this.message(type, data, line))
    else if (replaced !== undefined && type === 'user/message') this.compaction(data, replaced, line)
    else if (replaced !== undefined) this.builder.skip(`rewrite of an older message by ${type}`, line)
    else if (type === 'request/header') this.header(objectAt(data, 'header') ?? {}, line)
    else if (!MADE_AGAIN.has(type) && !/^compact(ion)?\//.test(type)) this.builder.skip(`event ${type}`, line)
  }

  private message(type: string, data: JsonObject, line: number): ItemDraft | undefined {
    const { builder } = this
    const message = objectAt(data, 'message') ?? data
    const source = objectAt(message, 'source') ?? {}
    switch (type) {
      case 'user/message':
        return builder.input(soundBlocks(builder, message, line), source.kind === 'user' ? 'person' : 'context', line)
      case 'assistant/message': {
        const answer = builder.answer({ content: soundBlocks(builder, message, line), line, model: stringAt(source, 'model') })
        answer.usage = ownUsage(objectAt(data, 'usage') ?? {})
        return answer
      }
      case 'tool/result': {
        const result = arrayAt(message, 'content').find(isObject) ?? {}
        return builder.result(stringAt(result, 'toolCallId') ?? '', soundBlocks(builder, result, line), result.isError === true, line)
      }
      default:
        builder.skip(`message of an event ${type}`, line)
        return undefined
    }
  }

  private compaction(data: JsonObject, { start, end }: JsonObject, line: number): void {
    const { builder, places } = this
    if (typeof start !== 'number' || typeof end !== 'number' || places.length === 0) return builder.skip('compaction of a span that the log does not tell', line)
    if (places.some(({ seq }) => seq < start)) builder.skip('beginning that was kept in front of a summary', line)
    while (places[0] !== undefined && places[0].seq <= end) places.shift()
    builder.compaction({ content: soundBlocks(builder, data, line), keptFrom: places[0]?.draft ?? null, tokensBefore: undefined, line })
  }

  private header(header: JsonObject, line: number): void {
    const system = this.withoutPlaceholder(stringAt(header, 'system'), 'system prompt', line)
    this.withoutPlaceholder(stringAt(header, 'tools'), 'set of tools', line)
    this.builder.envelope({ system, tools: chatTools(this.builder, arrayAt(header, 'tools')) }, line)
  }

  private withoutPlaceholder(text: string | undefined, what: string, line: number): string | undefined {
    if (text === undefined || !/^\{\{\w+\}\}$/.test(text)) return text
    this.builder.skip(`placeholder of a ${what}`, line)
    return undefined
  }

  private place(event: JsonObject, draft: ItemDraft | undefined): void {
    const seq = numberAt(event, 'seq')
    if (draft !== undefined && seq !== undefined) this.places.push({ seq, draft })
  }
}
