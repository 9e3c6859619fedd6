/**
 * Drawing what was shortened for the model: a folded line, which opens to the calls and messages; the whole stays with each.
 *
 * Pure.
 */
import { messageOfEvent, type LogView, type Seq, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import type { ShortenedBlock } from './blocks.ts'
import { argumentsLine } from './call-words.ts'
import { folded, type Canvas } from './canvas.ts'
import { callOfResult, entryWords } from './entry-words.ts'
import { fit, oneLine } from './text.ts'
import { counted, tokens } from './words.ts'

export function drawShortened({ views }: ShortenedBlock, canvas: Canvas): string[] {
  const { log, theme, width, open } = canvas
  const sized = views.map(({ beforeSeq, seq }) => ({ seq, before: tokensAt(beforeSeq, canvas), after: tokensAt(seq, canvas) }))
  const sum = (of: 'before' | 'after'): number => sized.reduce((all, view) => all + view[of], 0)
  const sizes = `${tokens(sum('before'))} → ${tokens(sum('after'))} tokens`
  const title = fit(theme.dim(`${open ? '▾' : '▸'} shortened ${what(log, views)} · ${sizes}`), width)
  if (!open) return [title]
  const facts = sized.map(({ seq, before, after }) => ({ words: viewWords(log, seq), size: ` · ${tokens(before)} → ${tokens(after)}` }))
  return [title, ...folded(facts.map(({ words, size }) => theme.dim(fit(words, Math.max(1, width - 4 - size.length)) + size)), canvas)]
}

/** Estimated, as an entry of the surface. */
function tokensAt(seq: Seq, { log, estimateMessage }: Canvas): number {
  const message = messageOfEvent(log.at(seq) as SurfaceEvent)
  return message === null ? 0 : estimateMessage(message)
}

const NOUNS = [['tool/result', 'result'], ['user/message', 'message'], ['assistant/message', 'answer']] as const

function what(log: LogView, views: ShortenedBlock['views']): string {
  const count = (type: string): number => views.filter(({ seq }) => log.at(seq).type === type).length
  return NOUNS.flatMap(([type, noun]) => (count(type) === 0 ? [] : [counted(count(type), noun)])).join(', ')
}

function viewWords(log: LogView, seq: Seq): string {
  let event = log.at(seq)
  // Of the call itself, not of a view after it.
  while (event.type === 'tool/result' && event.surfaceOp !== 'append') event = log.at(event.surfaceOp.start)
  const call = event.type === 'tool/result' ? callOfResult(log, event) : null
  return call === null ? entryWords(log, seq) : `${oneLine(call.name)}  ${argumentsLine(call.arguments)}`
}
