/**
 * Call words: a tool call, and what became of it, in a few words.
 *
 * Pure. Tools are known by nothing but their names and arguments, so this holds for any.
 */
import { textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { clean, oneLine } from './text.ts'
import { counted } from './words.ts'

/** Arguments that say most by themselves, in this order. */
const TELLING = ['command', 'cmd', 'pattern', 'query', 'file_path', 'path', 'url', 'name']

/** The first telling argument of a call that is still being written, as far as it is. */
const PARTIAL = new RegExp(`"(?:${TELLING.join('|')})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`)

/** What a call is about, on one line, also while it is being written; empty where its arguments say nothing. */
export function argumentsLine(written: string): string {
  const args = parsed(written)
  if (args === null) return oneLine(PARTIAL.exec(written)?.[1]?.replace(/\\n/g, ' ').replace(/\\(.)/g, '$1') ?? '')
  const telling = TELLING.filter(key => typeof args[key] === 'string' && args[key] !== '')
  const [first, second] = telling.map(key => oneLine(String(args[key])))
  if (first === undefined) return Object.keys(args).length === 0 ? '' : oneLine(JSON.stringify(args))
  return second === undefined ? first : `${first}  ${second}`
}

/** The arguments, one a paragraph, as a person would write them down. */
export function argumentsText(written: string): string {
  const args = parsed(written)
  if (args === null) return clean(written)
  return Object.entries(args)
    .map(([key, value]) => {
      const text = clean(typeof value === 'string' ? value : JSON.stringify(value))
      return text.includes('\n') ? `${oneLine(key)}:\n${text.replace(/^/gm, '  ')}` : `${oneLine(key)}: ${text}`
    })
    .join('\n')
}

export interface Outcome {
  readonly content: readonly ContentBlock[]
  readonly isError?: true
  readonly error?: { readonly code: string }
  readonly meta?: { readonly [key: string]: unknown }
}

/** Calls that came to nothing for a reason that a word says. */
const KNOWN: { readonly [code: string]: string | undefined } = {
  ABORTED: 'cancelled',
  PERMISSION_DENIED: 'not allowed',
  TOOL_NOT_STARTED: 'not begun',
  TOOL_OUTCOME_UNKNOWN: 'interrupted, outcome unknown',
}

/** What came of a call, on one line. */
export function outcomeLine(outcome: Outcome): string {
  const { content, isError, error, meta } = outcome
  const known = error === undefined ? undefined : KNOWN[error.code]
  if (known !== undefined) return known
  const text = clean(textOf(content)).trim()
  if (isError) return text === '' ? (error?.code ?? 'failed') : oneLine(text.split('\n', 1)[0]!)
  const diff = diffOf(meta)
  if (diff !== null) {
    const { added, removed } = diffCounts(diff)
    return `+${added} −${removed}`
  }
  const exit = isFine(outcome) ? [] : [`exit ${String(meta!['exitCode'])}`]
  return [...exit, figureOf(meta) ?? sizeOf(text, content)].join(' · ')
}

/** False for a command that ran and said no. */
export function isFine({ meta }: Outcome): boolean {
  const exitCode = meta?.['exitCode']
  return typeof exitCode !== 'number' || exitCode === 0
}

/** What a tool counted itself. */
function figureOf(meta: Outcome['meta']): string | null {
  const { matches, entries } = meta ?? {}
  if (typeof matches === 'number') return counted(matches, 'match', 'matches')
  return typeof entries === 'number' ? counted(entries, 'entry', 'entries') : null
}

function sizeOf(text: string, content: Outcome['content']): string {
  const lines = text === '' ? 0 : text.split('\n').length
  if (lines === 1 && text.length <= SHORT_CHARS) return text
  const images = content.filter(({ type }) => type === 'image').length
  if (lines === 0) return images === 0 ? 'nothing' : counted(images, 'image')
  return counted(lines, 'line')
}

/** A result so short is told whole. */
const SHORT_CHARS = 60

/** A unified diff that a tool left for people. */
export function diffOf(meta: Outcome['meta']): string | null {
  return typeof meta?.['diff'] === 'string' && meta['diff'] !== '' ? meta['diff'] : null
}

function diffCounts(diff: string): { added: number; removed: number } {
  const lines = diff.split('\n')
  return { added: lines.filter(line => /^\+(?!\+\+ )/.test(line)).length, removed: lines.filter(line => /^-(?!-- )/.test(line)).length }
}

function parsed(written: string): { readonly [key: string]: unknown } | null {
  try {
    const value: unknown = JSON.parse(written === '' ? '{}' : written)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as { [key: string]: unknown }) : null
  } catch {
    return null
  }
}
