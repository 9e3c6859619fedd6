/**
 * Passages: a recording parted at its answers.
 *
 *     input · input · ANSWER(calls, results) · compaction · input · ANSWER · input
 *     └──────── passage 0 ─────────────────┘ └───── passage 1 ─────────┘ └ 2, the end
 *
 * Pure. An index is an item's place in the recording; it outlives what is left out.
 */
import type { AnswerItem, CompactionItem, InputItem, TranscriptItem } from '@deepseek-ai/dsh-transcript'

export interface Placed<T extends TranscriptItem> {
  readonly index: number
  readonly item: T
}

export type Lead = Placed<InputItem> | Placed<CompactionItem>

export interface Passage {
  /** What the model was told before it answered. */
  readonly lead: readonly Lead[]
  /** Null for the end of the recording. */
  readonly answer: Placed<AnswerItem> | null
}

/** The last passage is the end of the recording, usually an empty one. */
export function passagesOf(items: readonly TranscriptItem[], { ignoreCompactions }: { readonly ignoreCompactions: boolean }): Passage[] {
  const passages: Passage[] = []
  let lead: Lead[] = []
  for (const [index, item] of items.entries()) {
    if (item.kind === 'answer') {
      passages.push({ lead, answer: { index, item } })
      lead = []
    } else if (item.kind === 'input') lead.push({ index, item })
    else if (!ignoreCompactions) lead.push({ index, item })
  }
  passages.push({ lead, answer: null })
  return passages
}

export function isInput(lead: Lead): lead is Placed<InputItem> {
  return lead.item.kind === 'input'
}

export function isCompaction(lead: Lead): lead is Placed<CompactionItem> {
  return lead.item.kind === 'compaction'
}

export interface Opening {
  /** Takes its place, in order, while the agent rests: what a compaction before the waking input refers to. */
  readonly settled: readonly Lead[]
  /** Put to the agent; the last of them wakes it. None when the recording has an answer nobody asked for. */
  readonly waking: readonly Placed<InputItem>[]
  /** Happens once the turn is open, before its first step. */
  readonly compactions: readonly Placed<CompactionItem>[]
}

/** How a passage begins a turn. */
export function openingOf(lead: readonly Lead[]): Opening {
  const lastInput = lead.findLastIndex(isInput)
  if (lastInput < 0) return { settled: lead, waking: [], compactions: [] }
  const wakingFrom = lead.slice(0, lastInput).findLastIndex(isCompaction) + 1
  return {
    settled: lead.slice(0, wakingFrom),
    waking: lead.slice(wakingFrom, lastInput + 1).filter(isInput),
    compactions: lead.slice(lastInput + 1).filter(isCompaction),
  }
}

/** Whether the turn goes on after this answer: it called tools, and every call has its result. */
export function leadsOn({ results, interrupted }: AnswerItem): boolean {
  return interrupted !== true && results.length > 0 && results.every(result => result !== null)
}
