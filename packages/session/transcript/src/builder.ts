/**
 * Builder: what every importer needs to know about conversations, so that a format's file only has to know its format.
 *
 * Pure. Calls and results are paired by id and occurrence: a result answers the nearest preceding answer that has an open
 * call of that id, and there the first one. Nothing given to the builder vanishes: it becomes part of an item, or it is
 * counted with a reason.
 */
import { uniqueCallId } from '@deepseek-ai/dsh-llm'
import type { ContentBlock, FinishReason, ReasoningBlock, TextBlock, TokenUsage, ToolCallBlock, ToolSchema } from '@deepseek-ai/dsh-llm'
import { isObject, parseJson, type JsonObject } from './json.ts'
import type { InputItem, RecordedResult, Skipped, Transcript, TranscriptFormat, TranscriptItem } from './model.ts'

interface AnswerInit {
  /** Calls as the recording has them: ids may be empty or repeated, arguments may be no JSON. */
  readonly content: readonly ContentBlock[]
  readonly line: number
  readonly model?: string | undefined
  /** Where the recording tells none: `tool-calls` with calls, otherwise `stop`. */
  readonly finish?: FinishReason | undefined
}

/** An answer under construction; what the recording tells later may still be set. */
export interface AnswerDraft {
  readonly kind: 'answer'
  readonly content: readonly ContentBlock[]
  readonly results: (RecordedResult | null)[]
  readonly line: number
  readonly model: string | undefined
  readonly finish: FinishReason | undefined
  usage?: TokenUsage | undefined
  interrupted?: boolean
}

interface CompactionDraft {
  readonly kind: 'compaction'
  readonly content: readonly ContentBlock[]
  readonly keptFrom: ItemDraft | null
  readonly tokensBefore: number | undefined
  readonly boundary?: true
  readonly line: number
}

/** A place in the conversation, before it is known which drafts become items. */
export type ItemDraft = InputItem | AnswerDraft | CompactionDraft

interface Envelope {
  readonly system?: string | undefined
  readonly tools?: readonly ToolSchema[] | undefined
}

interface OpenCall {
  readonly answer: AnswerDraft
  readonly slot: number
}

const ANOTHER_CONVERSATION = 'Another recorded conversation begins here; nothing of the one before was shown in it.'

export class TranscriptBuilder {
  private readonly format: TranscriptFormat
  private readonly drafts: ItemDraft[] = []
  private readonly skips = new Map<string, { count: number; line: number }>()
  private readonly usedCallIds = new Set<string>()
  private readonly openCalls = new Map<string, OpenCall[]>()
  private first: Envelope | null = null
  /** Where another conversation begins, until something of it is known. */
  private boundaryLine: number | null = null

  constructor(format: TranscriptFormat) {
    this.format = format
  }

  /** Count what cannot be expressed; `reason` says what it is, in the singular. */
  skip(reason: string, line: number, count = 1): void {
    const skipped = this.skips.get(reason)
    if (skipped === undefined) this.skips.set(reason, { count, line })
    else skipped.count += count
  }

  /** Undefined, and counted, where nothing of it can be put to a model. */
  input(content: readonly ContentBlock[], from: InputItem['from'], line: number): InputItem | undefined {
    const written = this.withoutBlankText(content, line)
    if (written.length === 0) {
      this.skip('input without text or image', line)
      return undefined
    }
    const item: InputItem = { kind: 'input', content: written, from, line }
    this.push(item)
    return item
  }

  answer(init: AnswerInit): AnswerDraft {
    const results: (RecordedResult | null)[] = []
    const calls: { id: string; slot: number }[] = []
    const content = this.withoutBlankText(init.content, init.line).map(block => {
      if (block.type !== 'tool-call') return block
      calls.push({ id: block.id, slot: results.length })
      results.push(null)
      const id = uniqueCallId(block.id, this.usedCallIds)
      this.usedCallIds.add(id)
      return { ...block, id, arguments: this.argumentsText(block.arguments, init.line) }
    })
    const answer: AnswerDraft = { kind: 'answer', content, results, line: init.line, model: init.model, finish: init.finish }
    for (const { id, slot } of calls) {
      const open = this.openCalls.get(id)
      if (open === undefined) this.openCalls.set(id, [{ answer, slot }])
      else open.push({ answer, slot })
    }
    this.push(answer)
    return answer
  }

  /** The answer that it belongs to, or undefined, and counted, where no open call has this id. */
  result(callId: string, content: readonly ContentBlock[], isError: boolean, line: number): AnswerDraft | undefined {
    const open = this.openCalls.get(callId)
    const nearest = open?.at(-1)?.answer
    if (open === undefined || nearest === undefined) {
      this.skip(open === undefined ? 'tool result without its call' : 'second result of one tool call', line)
      return undefined
    }
    const [call] = open.splice(open.findIndex(({ answer }) => answer === nearest), 1)
    const written = content.filter(block => block.type !== 'text' || block.text !== '')
    nearest.results[call!.slot] = { content: written, ...(isError ? { isError: true } : {}) }
    return nearest
  }

  /** `keptFrom` null: none of the older part was seen any more. With nothing before it, it is ordinary first input. */
  compaction(init: Omit<CompactionDraft, 'kind'>): void {
    const content = this.withoutBlankText(init.content, init.line)
    if (content.length === 0) this.skip('compaction without a summary', init.line)
    else if (this.drafts.length === 0) this.input(content, 'context', init.line)
    else this.push({ kind: 'compaction', ...init, content })
  }

  /** What a request had around its messages: the first is the transcript's, others are counted. */
  envelope(envelope: Envelope, line: number): void {
    this.first ??= envelope
    if (envelope.system !== this.first.system) this.skip('later system prompt', line)
    if (JSON.stringify(envelope.tools) !== JSON.stringify(this.first.tools)) this.skip('later set of tools', line)
  }

  /**
   * What follows is another conversation, whose model saw nothing of the ones before. A Transcript is one conversation, so
   * its begin is a compaction that keeps nothing; call ids are only known within a conversation.
   */
  beginConversation(line: number): void {
    this.openCalls.clear()
    if (this.drafts.length > 0) this.boundaryLine = line
  }

  finish({ model }: { model?: string | undefined } = {}): Transcript {
    const items = this.items()
    const { system = '', tools = [] } = this.first ?? {}
    return {
      format: this.format,
      model: mostFrequentModel(items) ?? model ?? null,
      ...(system === '' ? {} : { system }),
      ...(tools.length === 0 ? {} : { tools }),
      items,
      skipped: [...this.skips].map(([reason, { count, line }]): Skipped => ({ reason, count, line })),
    }
  }

  private items(): TranscriptItem[] {
    const items: TranscriptItem[] = []
    const indexOf = new Map<ItemDraft, number>() // of a draft that became no item: the next one's
    for (const draft of this.drafts) {
      const item = this.itemOf(draft, indexOf, items.length)
      if (items.length === 0 && item?.kind === 'answer') items.push(this.beginning(item.line))
      indexOf.set(draft, items.length)
      if (item !== null) items.push(item)
    }
    return items
  }

  private push(draft: ItemDraft): void {
    if (this.boundaryLine !== null) {
      this.skip('boundary to another conversation of the file, replayed as a compaction', this.boundaryLine)
      this.drafts.push({ kind: 'compaction', content: [textBlock(ANOTHER_CONVERSATION)], keptFrom: null, tokensBefore: undefined, boundary: true, line: this.boundaryLine })
      this.boundaryLine = null
    }
    this.drafts.push(draft)
  }

  private itemOf(draft: ItemDraft, indexOf: ReadonlyMap<ItemDraft, number>, ownIndex: number): TranscriptItem | null {
    switch (draft.kind) {
      case 'input':
        return draft
      case 'answer':
        return this.answerItem(draft)
      case 'compaction': {
        const { kind, content, tokensBefore, boundary, line } = draft
        const keptFrom = draft.keptFrom === null ? ownIndex : (indexOf.get(draft.keptFrom) ?? ownIndex)
        if (keptFrom > 0) return { kind, content, keptFrom, ...(tokensBefore === undefined ? {} : { tokensBefore }), ...(boundary === undefined ? {} : { boundary }), line }
        if (ownIndex > 0) this.skip('recorded compaction that replaced nothing', line)
        return { kind: 'input', content, from: 'context', line }
      }
    }
  }

  private answerItem(draft: AnswerDraft): TranscriptItem | null {
    const { content, results, line, model, usage } = draft
    const interrupted = draft.interrupted === true && results.every(result => result === null)
    const kept = interrupted ? content.filter(block => block.type !== 'tool-call') : content
    if (kept.length < content.length) this.skip('tool call of an interrupted answer', line, content.length - kept.length)
    if (kept.length === 0) {
      this.skip('answer without text, call or readable reasoning', line)
      if (usage !== undefined) this.skip('usage of an answer without content', line)
      return null
    }
    const finish = interrupted ? 'other' : (draft.finish ?? (results.length > 0 ? 'tool-calls' : 'stop'))
    return {
      kind: 'answer',
      content: kept,
      results: interrupted ? [] : results,
      ...(model === undefined ? {} : { model }),
      finish,
      ...(usage === undefined ? {} : { usage }),
      ...(interrupted ? { interrupted: true } : {}),
      line,
    }
  }

  private argumentsText(given: string, line: number): string {
    if (parseJson(given) !== undefined) return given
    this.skip('tool call arguments that are no JSON, kept as {"input": text}', line)
    return JSON.stringify({ input: given })
  }

  private beginning(line: number): InputItem {
    this.skip('beginning of the conversation, which the recording does not have', line)
    const text = 'The recording of this conversation begins here, in its middle.'
    return { kind: 'input', content: [{ type: 'text', text }], from: 'context', line }
  }

  private withoutBlankText(content: readonly ContentBlock[], line: number): ContentBlock[] {
    return content.filter(block => {
      if ((block.type !== 'text' && block.type !== 'reasoning') || block.text.trim() !== '') return true
      if (block.text !== '') this.skip('blank text', line)
      return false
    })
  }
}

/** Content as most formats have it: a text, or a list of blocks that `read` knows. Anything else holds none. */
export function contentBlocks(content: unknown, read: (block: JsonObject) => ContentBlock[]): ContentBlock[] {
  if (typeof content === 'string') return [textBlock(content)]
  return Array.isArray(content) ? content.filter(isObject).flatMap(read) : []
}

export function textBlock(text: string): TextBlock {
  return { type: 'text', text }
}

export function reasoningBlock(text: string): ReasoningBlock {
  return { type: 'reasoning', text }
}

/** A call as the recording has it; no arguments at all are an empty object, and an object is written out. */
export function callBlock(id: string | undefined, name: string | undefined, given: unknown): ToolCallBlock {
  const written = typeof given === 'string' ? given : JSON.stringify(given ?? {})
  return { type: 'tool-call', id: id ?? '', name: name ?? '', arguments: written === '' ? '{}' : written }
}

function mostFrequentModel(items: readonly TranscriptItem[]): string | undefined {
  const answers = new Map<string, number>()
  for (const item of items) {
    if (item.kind === 'answer' && item.model !== undefined) answers.set(item.model, (answers.get(item.model) ?? 0) + 1)
  }
  let best: string | undefined
  for (const [model, count] of answers) if (best === undefined || count > answers.get(best)!) best = model
  return best
}
