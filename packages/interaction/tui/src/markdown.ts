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

/** Lines of pieces that were drawn before, by their text; for one width and theme. */
export type PieceCache = Map<string, readonly string[]>

export function markdownLines(text: string, width: number, theme: Theme, cache: PieceCache = new Map()): string[] {
  const lines: string[] = []
  const pieces = piecesOf(text)
  for (const [index, piece] of pieces.entries()) {
    let drawn = cache.get(piece)
    if (drawn === undefined) {
      drawn = new Markdown(piece, 0, 0, theme.markdown).render(width).map(line => fit(line.trimEnd(), width))
      // The last piece may still grow: to keep every length it ever had would cost more than the answer.
      if (index < pieces.length - 1) cache.set(piece, drawn)
    }
    if (lines.length > 0) lines.push('')
    for (const line of drawn) lines.push(line)
  }
  return lines
}
