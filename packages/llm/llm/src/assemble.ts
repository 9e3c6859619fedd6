/**
 * Assembly: stream chunks become whole blocks.
 *
 *     start 0 · text 0 "Let me " · start 1 call · text 0 "look." · args 1 '{"path"' · end 0 · args 1 ':"a"}' · end 1 · finish
 *     → [ text "Let me look." ] [ tool-call {"path":"a"} ]
 *
 * Pure. Blocks stand in the order of their index, however their chunks arrive or interleave.
 */
import type { BlockStart, ContentBlock, FinishReason, ImageBlock, ProviderMetadata, StreamChunk, TokenUsage } from './content.ts'

type FinishChunk = Extract<StreamChunk, { type: 'finish' }>

/** A block under construction. */
interface Draft {
  readonly index: number
  readonly type: BlockStart['type']
  /** Unknown while only deltas have come; they may overtake their start. */
  start: BlockStart | undefined
  /** Text, or the arguments of a call. */
  text: string
  ended: boolean
  providerMetadata: ProviderMetadata | undefined
}

/**
 * The id a tool call gets: its own, or a deterministic one if that is empty or in `used`. Callers add it to `used` before
 * they ask for the next, in the model's order.
 */
export function uniqueCallId(id: string, used: ReadonlySet<string>): string {
  if (id !== '' && !used.has(id)) return id
  const stem = id === '' ? 'call' : id
  for (let n = id === '' ? 1 : 2; ; n++) {
    const candidate = `${stem}_${n}`
    if (!used.has(candidate)) return candidate
  }
}

/** Assembles one answer. `push` throws on chunks that contradict each other: a bug of the adapter, not of the model. */
export class BlockAssembler {
  private readonly drafts = new Map<number, Draft>()
  private readonly usedCallIds: Iterable<string>
  private lastUsage: TokenUsage | undefined
  private lastFinish: FinishChunk | undefined

  /** `usedCallIds` are taken already; ids need to be unique within a step only, so it is usually left out. */
  constructor(usedCallIds: Iterable<string> = []) {
    this.usedCallIds = usedCallIds
  }

  /** The newest usage reported; a later report replaces an earlier one. */
  get usage(): TokenUsage | undefined {
    return this.lastUsage
  }

  /** Undefined until the answer is finished. */
  get finish(): FinishChunk | undefined {
    return this.lastFinish
  }

  push(chunk: StreamChunk): void {
    switch (chunk.type) {
      case 'block-start':
        this.begin(chunk.index, chunk.block)
        break
      case 'text-delta':
        this.draft(chunk.index, 'text').text += chunk.text
        break
      case 'reasoning-delta':
        this.draft(chunk.index, 'reasoning').text += chunk.text
        break
      case 'tool-call-delta':
        this.draft(chunk.index, 'tool-call').text += chunk.arguments
        break
      case 'block-end': {
        const draft = this.drafts.get(chunk.index)
        if (draft === undefined) throw new Error(`block ${chunk.index} ends but never began`)
        draft.ended = true
        draft.providerMetadata = chunk.providerMetadata
        break
      }
      case 'usage':
        this.lastUsage = chunk.usage
        break
      case 'finish':
        this.lastFinish = chunk
    }
  }

  /**
   * The whole answer. A finish ends every block still open, but a call that the output limit or a content filter cut off is
   * not kept. Text and reasoning that say nothing and carry no provider metadata are left out. Every call has its own id.
   */
  content(): ContentBlock[] {
    const used = new Set(this.usedCallIds)
    const drafts = this.inOrder()
    const content: ContentBlock[] = []
    for (const draft of drafts) {
      if (draft.type === 'tool-call' && isCutOff(draft, draft === drafts.at(-1), this.lastFinish?.reason)) continue
      const block = blockOf(draft, used)
      if (block?.type === 'tool-call') used.add(block.id)
      if (block !== null) content.push(block)
    }
    return content
  }

  /**
   * What a cancelled answer leaves: its text as far as it came. Many providers end a block only with the whole answer, and
   * what a person has read is said.
   */
  interrupted(): ContentBlock[] {
    const content: ContentBlock[] = []
    for (const draft of this.inOrder()) {
      const block = draft.type === 'text' ? blockOf(draft, new Set()) : null
      if (block !== null) content.push(block)
    }
    return content
  }

  private begin(index: number, start: BlockStart): void {
    const draft = this.draft(index, start.type)
    if (draft.start !== undefined) throw new Error(`block ${index} begins twice`)
    draft.start = start
  }

  private draft(index: number, type: BlockStart['type']): Draft {
    const known = this.drafts.get(index)
    if (known === undefined) {
      const draft: Draft = { index, type, start: undefined, text: '', ended: false, providerMetadata: undefined }
      this.drafts.set(index, draft)
      return draft
    }
    if (known.type !== type) throw new Error(`block ${index} is ${known.type}, but a chunk of it is ${type}`)
    return known
  }

  private inOrder(): Draft[] {
    return [...this.drafts.values()].sort((a, b) => a.index - b.index)
  }
}

/** Only the last call can be cut; many providers end it all the same, so its arguments must be whole as well. */
function isCutOff(draft: Draft, isLast: boolean, finish: FinishReason | undefined): boolean {
  if (finish !== 'max-tokens' && finish !== 'content-filter') return false
  return !draft.ended || (isLast && !isJson(draft.text))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Null for a block that says nothing. */
function blockOf(draft: Draft, usedCallIds: ReadonlySet<string>): ContentBlock | null {
  const { type, start, text, providerMetadata } = draft
  const metadata = providerMetadata === undefined ? {} : { providerMetadata }
  switch (type) {
    case 'text':
    case 'reasoning':
      return text === '' && providerMetadata === undefined ? null : { type, text, ...metadata }
    case 'tool-call': {
      if (start?.type !== 'tool-call') throw new Error(`block ${draft.index} has the arguments of a call that never began`)
      return { type, id: uniqueCallId(start.id, usedCallIds), name: start.name, arguments: text, ...metadata }
    }
    case 'image':
      return start as ImageBlock
  }
}
