/**
 * pi: a session line, then one entry a line; from version 2 on entries form a tree by `id` and `parentId`.
 *
 * Pure. The conversation is the branch that ends in the last entry.
 */
import type { ContentBlock, FinishReason } from '@deepseek-ai/dsh-llm'
import { callBlock, contentBlocks, reasoningBlock, textBlock, type ItemDraft, type TranscriptBuilder } from './builder.ts'
import type { LinesFormat } from './format.ts'
import { imageBlock } from './images.ts'
import { numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import type { Line } from './lines.ts'
import { tokenUsage } from './usage.ts'

export const piSession: LinesFormat = {
  name: 'pi-session',
  expected: 'a pi session (JSON Lines beginning with {"type":"session","id":…,"timestamp":…,"cwd":…})',

  claims({ line, value }) {
    return line === 1 && value.type === 'session' && typeof value.timestamp === 'string' && typeof value.id === 'string' ? 'yes' : 'no'
  },

  read(lines, builder) {
    const reader = new Reader(builder)
    const live = liveBranch(lines)
    for (const entry of lines.slice(1)) {
      if (live.has(entry)) reader.entry(entry)
      else builder.skip('entry on a branch that was left', entry.line)
    }
    return builder.finish({ model: stringAt(lines[0]!.value, 'modelId') })
  },
}

/** Every entry of a file without ids; otherwise the last one and its ancestors. */
function liveBranch(lines: readonly Line[]): ReadonlySet<Line> {
  const byId = new Map<string, Line>()
  for (const entry of lines.slice(1)) {
    const id = stringAt(entry.value, 'id')
    if (id !== undefined) byId.set(id, entry)
  }
  if (byId.size === 0) return new Set(lines)
  const live = new Set<Line>()
  let entry = lines.at(-1)
  while (entry !== undefined && !live.has(entry)) {
    live.add(entry)
    entry = byId.get(stringAt(entry.value, 'parentId') ?? '')
  }
  return live
}

class Reader {
  private readonly builder: TranscriptBuilder
  private readonly drafts: { line: number; draft: ItemDraft }[] = []
  private readonly lineOfId = new Map<string, number>()

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  entry({ line, value }: Line): void {
    const id = stringAt(value, 'id')
    if (id !== undefined) this.lineOfId.set(id, line)
    switch (value.type) {
      case 'message':
        return this.message(objectAt(value, 'message') ?? {}, line)
      case 'compaction':
        return this.compaction(value, line)
      case 'custom_message':
        return this.place(line, this.builder.input(this.blocks(value.content, line), 'context', line))
      case 'branch_summary':
        return this.place(line, this.builder.input([textBlock(stringAt(value, 'summary') ?? '')], 'context', line))
      default:
        this.builder.skip(`entry of type ${String(value.type)}`, line)
    }
  }

  private message(message: JsonObject, line: number): void {
    switch (message.role) {
      case 'user':
        return this.place(line, this.builder.input(this.blocks(message.content, line), 'person', line))
      case 'assistant':
        return this.answer(message, line)
      case 'toolResult': {
        if (message.details !== undefined) this.builder.skip('details of a tool result, not shown to the model', line)
        const content = this.blocks(message.content, line)
        return this.place(line, this.builder.result(stringAt(message, 'toolCallId') ?? '', content, message.isError === true, line))
      }
      case 'bashExecution':
        if (message.excludeFromContext === true) return this.builder.skip('command of the person, hidden from the model', line)
        return this.place(line, this.builder.input([textBlock(executionText(message))], 'context', line))
      default:
        this.builder.skip(`message of role ${String(message.role)}`, line)
    }
  }

  private answer(message: JsonObject, line: number): void {
    const stopReason = stringAt(message, 'stopReason')
    const finish = finishOf(stopReason)
    const answer = this.builder.answer({ content: this.blocks(message.content, line), line, model: stringAt(message, 'model'), finish })
    const usage = objectAt(message, 'usage') ?? {}
    answer.usage = tokenUsage({
      input: numberAt(usage, 'input') ?? 0,
      cacheRead: numberAt(usage, 'cacheRead'),
      cacheWrite: numberAt(usage, 'cacheWrite'),
      output: numberAt(usage, 'output'),
    })
    if (stopReason === 'aborted' || stopReason === 'error') answer.interrupted = true
    if (stringAt(message, 'errorMessage') !== undefined) this.builder.skip('error message of a failed answer', line)
    this.place(line, answer)
  }

  private compaction(entry: JsonObject, line: number): void {
    const firstKeptIndex = numberAt(entry, 'firstKeptEntryIndex') // a 0-based line of the file
    const keptLine = firstKeptIndex === undefined ? this.lineOfId.get(stringAt(entry, 'firstKeptEntryId') ?? '') : firstKeptIndex + 1
    const kept = keptLine === undefined ? undefined : this.drafts.find(place => place.line >= keptLine)
    const content = [textBlock(stringAt(entry, 'summary') ?? '')]
    this.builder.compaction({ content, keptFrom: kept?.draft ?? null, tokensBefore: numberAt(entry, 'tokensBefore'), line })
  }

  /** A result's place is its answer, so that a kept start inside a unit finds the unit. */
  private place(line: number, draft: ItemDraft | undefined): void {
    if (draft !== undefined) this.drafts.push({ line, draft })
  }

  private blocks(content: unknown, line: number): ContentBlock[] {
    return contentBlocks(content, block => this.block(block, line))
  }

  private block(block: JsonObject, line: number): ContentBlock[] {
    switch (block.type) {
      case 'text':
        return [textBlock(stringAt(block, 'text') ?? '')]
      case 'thinking':
        if (block.thinkingSignature !== undefined) this.builder.skip('signature of reasoning', line)
        return [reasoningBlock(stringAt(block, 'thinking') ?? '')]
      case 'toolCall':
        return [callBlock(stringAt(block, 'id'), stringAt(block, 'name'), block.arguments)]
      case 'image':
        return [imageBlock(stringAt(block, 'mimeType') ?? 'image/png', stringAt(block, 'data') ?? '')]
      default:
        this.builder.skip(`content of type ${String(block.type)}`, line)
        return []
    }
  }
}

/** What a person ran in the shell, as the model is shown it. */
function executionText(message: JsonObject): string {
  const exitCode = numberAt(message, 'exitCode')
  const outcome = message.cancelled === true ? 'cancelled' : `exit code ${exitCode ?? 'unknown'}`
  return `Ran \`${stringAt(message, 'command') ?? ''}\` (${outcome})\n${stringAt(message, 'output') ?? ''}`
}

function finishOf(stopReason: string | undefined): FinishReason | undefined {
  switch (stopReason) {
    case 'stop':
      return 'stop'
    case 'toolUse':
      return 'tool-calls'
    case 'length':
      return 'max-tokens'
    default:
      return undefined
  }
}
