/**
 * Markdown in pieces: a growing answer is drawn anew only from the piece that grows.
 *
 * Pure. A piece ends at a blank line after which nothing before it can change any more: outside a fence, before a line that
 * neither goes on with a list nor is indented. Drawn whole or as it grows, an answer looks the same.
 */
import { Markdown } from '@earendil-works/pi-tui'
import { fit } from './text.ts'
import type { Theme } from './theme.ts'

/** The pieces of a clean text, without the blank lines between them. */
export function piecesOf(text: string): string[] {
  const pieces: string[] = []
  let piece: string[] = []
  let fence: string | null = null
  let blank = false
  for (const line of text.split('\n')) {
    if (fence === null && line.trim() === '') {
      blank = true
      piece.push(line)
      continue
    }
    if (blank && fence === null && !continues(line)) {
      pieces.push(piece.join('\n').trimEnd())
      piece = []
    }
    blank = false
    piece.push(line)
    fence = fenceAfter(line, fence)
  }
  pieces.push(piece.join('\n').trimEnd())
  return pieces.filter(text => text.trim() !== '')
}

function continues(line: string): boolean {
  return /^(?:\s|[-*+] |\d+[.)] )/.test(line)
}

function fenceAfter(line: string, open: string | null): string | null {
  const [, marks, info = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
  if (marks === undefined) return open
  if (open === null) return marks[0] === '`' && info.includes('`') ? null : marks
  return marks[0] === open[0] && marks.length >= open.length && info.trim() === '' ? null : open
}

/**
 * The parts in which a long piece is laid out while it grows: one never changes once the next has begun. A part ends before a
 * line that does not go on with a list item or a table, in a longer line before a word, and never inside a fence.
 */
export function partsOf(piece: string): string[] {
  const parts: string[] = []
  let start = 0
  let safe = 0
  let at = 0
  let fence: string | null = null
  const end = (part: number): void => {
    parts.push(piece.slice(start, part).trimEnd())
    start = part
  }
  for (const line of piece.split('\n')) {
    if (piece.length - at < PART_CHARS) break // what may still change decides nothing
    const next = at + line.length + 1
    if (fence === null && /^[^\s|]/.test(line)) safe = at
    fence = fenceAfter(line, fence)
    if (next - start > PART_CHARS && safe > start) end(safe)
    if (fence === null && !/^\s*\|/.test(line)) while (Math.min(next, piece.length) - start > 2 * PART_CHARS) end(wordBefore(piece, start + PART_CHARS, start))
    at = next
  }
  return [...parts, piece.slice(start)]
}

/** About a screen of words; what is laid out anew with every frame is at most about twice as much. UTF-16 units. */
const PART_CHARS = 4_000

/** Where the last word before `end` begins; `end` itself where there is none, but for half a character. */
function wordBefore(text: string, end: number, start: number): number {
  const space = text.lastIndexOf(' ', end - 1)
  if (space >= start) return space + 1
  return /[\ud800-\udbff]/.test(text[end - 1]!) ? end - 1 : end
}

/** Lines of pieces and parts that were drawn before, by their text; for one width and theme. */
export type PieceCache = Map<string, readonly string[]>

/** With a cache for a text that grows: then it is laid out in parts, and may look a little different where one ends. */
export function markdownLines(text: string, width: number, theme: Theme, cache: PieceCache | null = null): string[] {
  const draw = (part: string): readonly string[] => new Markdown(part, 0, 0, theme.markdown).render(width).map(line => fit(line.trimEnd(), width))
  const pieces = piecesOf(text)
  const lines: string[] = []
  for (const [index, piece] of pieces.entries()) {
    if (lines.length > 0) lines.push('')
    const parts = cache === null ? [piece] : partsOf(piece)
    for (const [order, part] of parts.entries()) {
      const drawn = cache?.get(part) ?? draw(part)
      // The last one may still grow: to keep every length it ever had would cost more than the answer.
      if (index < pieces.length - 1 || order < parts.length - 1) cache?.set(part, drawn)
      for (const line of drawn) lines.push(line)
    }
  }
  return lines
}
