/**
 * JSON Lines, parted at `\n` alone: U+2028 and U+2029 are ordinary characters inside a JSON string.
 *
 * Pure.
 */
import { TranscriptError } from './error.ts'
import { isObject, type JsonObject } from './json.ts'

export interface Line {
  /** 1-based; blank lines count. */
  readonly line: number
  readonly value: JsonObject
}

export interface JsonLines {
  readonly lines: readonly Line[]
  /** The number of a last line that was cut off while it was written. */
  readonly tornLine?: number
}

/** Throws a {@link TranscriptError} at the first line, other than a torn last one, that holds no JSON object. */
export function readJsonLines(text: string): JsonLines {
  const lines: Line[] = []
  const rows = text.split('\n')
  for (const [index, row] of rows.entries()) {
    if (row.trim() === '') continue
    const line = index + 1
    const value = parseObject(row)
    if (value !== undefined) lines.push({ line, value })
    else if (line === rows.length && lines.length > 0) return { lines, tornLine: line }
    else throw new TranscriptError({ expected: 'JSON Lines, one object a line', line, found: 'no JSON object' })
  }
  return { lines }
}

function parseObject(row: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(row)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
