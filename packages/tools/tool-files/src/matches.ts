/**
 * Matches: what a search found, whoever searched, and how it is shown.
 *
 * Pure.
 */

export interface SearchRequest {
  /** The folder that is searched, or that of the one file. */
  readonly folder: string
  /** The one file, by its name; null for all below the folder. */
  readonly file: string | null
  readonly pattern: string
  readonly ignoreCase: boolean
  readonly contextLines: number
  /** Whether to look into a file; by its path below the folder. */
  readonly isWanted: (path: string) => boolean
  /** Name patterns that no wanted file lacks, for whoever can make use of them; null for none. */
  readonly names: readonly string[] | null
  /** Nobody wants to hear of more matches in one file. */
  readonly maxMatches: number
  readonly maxFileBytes: number
  readonly signal: AbortSignal
}

export interface FileMatches {
  /** Below the folder that was searched. */
  readonly path: string
  /** In order, each once. */
  readonly lines: readonly FoundLine[]
}

export interface FoundLine {
  readonly number: number
  readonly text: string
  /** Where the first match in it begins; null for a line of context. */
  readonly at: number | null
}

/** Files in the order of their paths. */
export type Searcher = (request: SearchRequest) => AsyncGenerator<FileMatches, void, undefined>

/** Longer lines are shown around their match. */
const MAX_LINE_CHARS = 300
/** Of which so many before it. */
const BEFORE_MATCH_CHARS = 60

/** The path once, then its lines: `12: a match`, `13- context`, `--` where lines are left out between contexts. */
export function shownMatches(path: string, lines: readonly FoundLine[], hasContext: boolean): string {
  const shown = lines.flatMap(({ number, text, at }, index) => {
    const gap = hasContext && index > 0 && lines[index - 1]!.number < number - 1 ? ['--'] : []
    return [...gap, `${number}${at === null ? '-' : ':'} ${shownLine(text, at ?? 0)}`]
  })
  return `${path}\n${shown.join('\n')}\n`
}

function shownLine(text: string, at: number): string {
  if (text.length <= MAX_LINE_CHARS) return text
  const start = Math.max(0, Math.min(at - BEFORE_MATCH_CHARS, text.length - MAX_LINE_CHARS))
  const part = text.slice(start, start + MAX_LINE_CHARS).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
  return `${start > 0 ? '…' : ''}${part}${start + MAX_LINE_CHARS < text.length ? '…' : ''}`
}

/** The lines before the match that is one too many. */
export function upTo(lines: readonly FoundLine[], maxMatches: number): readonly FoundLine[] {
  let matches = 0
  const end = lines.findIndex(({ at }) => at !== null && ++matches > maxMatches)
  return end < 0 ? lines : lines.slice(0, end)
}

export function matchCount(lines: readonly FoundLine[]): number {
  return lines.reduce((sum, { at }) => sum + (at === null ? 0 : 1), 0)
}
