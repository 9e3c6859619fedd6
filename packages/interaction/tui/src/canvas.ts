/**
 * Canvas: what a block is drawn with, and what all drawings share.
 *
 * Pure.
 */
import type { Message } from '@deepseek-ai/dsh-llm'
import type { LogView, Seq, SessionEvent, SessionEventType } from '@deepseek-ai/dsh-session'
import type { Words } from './blocks.ts'
import type { Live } from './live.ts'
import type { PieceCache } from './markdown.ts'
import { fit } from './text.ts'
import type { Theme } from './theme.ts'
import { counted } from './words.ts'

export interface Canvas {
  readonly log: LogView
  /** Where a fork parts from its parent. */
  readonly forkSeq?: Seq
  readonly theme: Theme
  /** Columns. */
  readonly width: number
  /** Whether the block shows what is folded away. */
  readonly open: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The spinner's current glyph. */
  readonly spinner: string
  readonly live: Pick<Live, 'outputs' | 'runs' | 'ranMs' | 'rungs'>
  /** Of what still grows; null for what does not. */
  readonly pieces: PieceCache | null
  estimateMessage(message: Message): number
}

/** Lines of what is opened, at most; a terminal is no pager. */
const MAX_OPEN_LINES = 1_000

/** The event at a place that is known to hold one of its type. */
export function eventAt<T extends SessionEventType>(log: LogView, seq: Seq, type: T): SessionEvent<T> {
  const event = log.at(seq)
  if (event.type !== type) throw new Error(`event ${seq} is a ${event.type}, not a ${type}`)
  return event as unknown as SessionEvent<T>
}

export function wordsIn(log: LogView, words: Words): string {
  if ('text' in words) return words.text
  const block = eventAt(log, words.seq, 'assistant/message').data.content[words.index]
  return block?.type === 'text' || block?.type === 'reasoning' ? block.text : ''
}

/** Columns beside the gutter. */
export function inside({ width }: Pick<Canvas, 'width'>): number {
  return Math.max(1, width - 2)
}

/** What was opened, behind a rule; what is too long is counted. */
export function folded(lines: readonly string[], { theme, width }: Pick<Canvas, 'theme' | 'width'>): string[] {
  const shown = lines.slice(0, MAX_OPEN_LINES)
  const rest = lines.length - shown.length
  return [...shown, ...(rest === 0 ? [] : [theme.dim(`… ${counted(rest, 'more line')}`)])].map(line => fit(theme.dim('  │ ') + line, width))
}
