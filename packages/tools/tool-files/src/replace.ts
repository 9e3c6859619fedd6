/**
 * Replace: the edits of one call, in order, all of them or none.
 *
 * Pure.
 */
import { replaceInView, viewOf } from './text.ts'

export interface Edit {
  readonly old: string
  readonly new: string
  /** Every occurrence; by default there must be one. */
  readonly all?: boolean | undefined
}

/** The file's new text, or what a model has to know to do better. */
export type Edited = { readonly raw: string } | { readonly refusal: string }

export function applyEdits(raw: string, edits: readonly Edit[]): Edited {
  let changed = raw
  for (const [index, edit] of edits.entries()) {
    const done = applyEdit(changed, edit)
    if ('refusal' in done) return edits.length === 1 ? done : { refusal: `Edit ${index + 1} of ${edits.length}: ${done.refusal} None of the edits was made.` }
    changed = done.raw
  }
  return { raw: changed }
}

function applyEdit(raw: string, { old, new: text, all = false }: Edit): Edited {
  const view = viewOf(raw)
  const wanted = viewOf(old)
  if (wanted === viewOf(text)) return { refusal: 'The old and the new text are the same.' }
  // Of two that overlap, either may be meant; replaced are only such as do not.
  const starts = occurrences(view, wanted, all ? wanted.length : 1)
  if (starts.length === 0) return { refusal: notFound(view, wanted) }
  if (starts.length > 1 && !all) return { refusal: notUnique(view, starts) }
  let changed = raw
  for (const start of starts.toReversed()) changed = replaceInView(changed, start, start + wanted.length, text)
  return { raw: changed }
}

function occurrences(text: string, wanted: string, stepChars: number): number[] {
  const starts: number[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + stepChars)) starts.push(at)
  return starts
}

/** Line numbers beyond this many help nobody. */
const MAX_NAMED_LINES = 10

function notUnique(view: string, starts: readonly number[]): string {
  const lines = starts.slice(0, MAX_NAMED_LINES).map(start => lineNumber(view, start))
  const more = starts.length > MAX_NAMED_LINES ? ', …' : ''
  return `The old text is there ${starts.length} times, at lines ${lines.join(', ')}${more}. Give more of the lines around the one that is meant, or set all to change every one.`
}

function lineNumber(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

function notFound(view: string, wanted: string): string {
  const near = nearest(view.split('\n'), wanted.replace(/\n$/, '').split('\n'))
  if (near === null) return 'The old text is not in the file, nor anything like it. Read the file again.'
  const { start, lines, spaceOnly } = near
  const place = lines.length === 1 ? `line ${start + 1}` : `lines ${start + 1} to ${start + lines.length}`
  return `The old text is not in the file${spaceOnly ? ', only with other white space' : ''}. Nearest to it, at ${place}, is:\n${lines.join('\n')}\n`
}

interface Near {
  readonly start: number
  readonly lines: readonly string[]
  /** Whether nothing but white space differs. */
  readonly spaceOnly: boolean
}

/** Work on the way to a hint is bounded: lines of the file looked at, and lines of it shown. */
const MAX_SCANNED_LINES = 50_000
const MAX_SHOWN_LINES = 20
/** Of the words of a line, at least so many must be in one that is called near. */
const MIN_SIMILARITY = 0.5

/** Where the lines differ least from those wanted, judged by the most telling of these; null where nothing is near. */
function nearest(lines: readonly string[], wanted: readonly string[]): Near | null {
  const shown = (start: number, spaceOnly: boolean): Near => {
    const from = Math.max(0, start)
    return { start: from, lines: lines.slice(from, Math.max(from, start) + Math.min(wanted.length, MAX_SHOWN_LINES)), spaceOnly }
  }
  const folded = wanted.map(withoutSpace)
  const key = folded.reduce((best, line, index) => (line.length > folded[best]!.length ? index : best), 0)
  const keyWords = wordsOf(wanted[key]!)
  let best = { similarity: 0, start: 0 }
  for (let index = 0; index < Math.min(lines.length, MAX_SCANNED_LINES); index++) {
    const start = index - key
    if (folded[key] !== '' && withoutSpace(lines[index]!) === folded[key]) {
      if (folded.every((line, offset) => withoutSpace(lines[start + offset] ?? '') === line)) return shown(start, true)
      if (best.similarity < 1) best = { similarity: 1, start }
    }
    const similarity = similarityOf(keyWords, wordsOf(lines[index]!))
    if (similarity > best.similarity) best = { similarity, start }
  }
  return best.similarity >= MIN_SIMILARITY ? shown(best.start, false) : null
}

function withoutSpace(line: string): string {
  return line.replace(/\s+/g, '')
}

function wordsOf(line: string): ReadonlySet<string> {
  return new Set(line.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu))
}

/** The share of common words in all words of both. */
function similarityOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0
  for (const word of one) if (other.has(word)) common += 1
  const all = one.size + other.size - common
  return all === 0 ? 0 : common / all
}
