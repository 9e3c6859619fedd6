/**
 * JSON Lines, parted at `\n` alone: U+2028 and U+2029 are ordinary characters inside a JSON string.
 *
 * Pure.
 */
import { isObject, parseJson, type JsonObject } from './json.ts'

export interface Line {
  /** 1-based; blank lines count. */
  readonly line: number
  readonly value: JsonObject
}

export interface JsonLines {
  /** Everything before the fault. */
  readonly lines: readonly Line[]
  /** The first line that holds no JSON object; `torn` where it is the last one, cut off while it was written. */
  readonly fault?: { readonly line: number; readonly torn: boolean }
}

export function readJsonLines(text: string): JsonLines {
  const lines: Line[] = []
  const rows = text.split('\n')
  for (const [index, row] of rows.entries()) {
    if (row.trim() === '') continue
    const line = index + 1
    const value = parseJson(row)
    if (!isObject(value)) return { lines, fault: { line, torn: line === rows.length && value === undefined } }
    lines.push({ line, value })
  }
  return { lines }
}
