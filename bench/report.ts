/** The one way in which a benchmark speaks: a table for people on stdout and, where asked for, lines of JSON in a file. */
import { appendFileSync, writeFileSync } from 'node:fs'

export type Cell = string | number | null

let jsonPath: string | undefined

/** From now on each figure is also a line of this file, which starts empty. */
export function recordInto(path: string): void {
  writeFileSync(path, '')
  jsonPath = path
}

export function record(figure: object): void {
  if (jsonPath !== undefined) appendFileSync(jsonPath, `${JSON.stringify(figure)}\n`)
}

/** A table as Markdown reads it, aligned for the terminal; numbers get three digits that count. */
export function table(title: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const lines = [head, ...rows.map(row => row.map(text))]
  const widths = head.map((_, column) => Math.max(...lines.map(line => (line[column] ?? '').length)))
  const print = (line: readonly string[]): void =>
    console.log(`| ${widths.map((width, column) => (column === 0 ? (line[column] ?? '').padEnd(width) : (line[column] ?? '').padStart(width))).join(' | ')} |`)
  console.log(`\n${title}\n`)
  print(head)
  console.log(`|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`)
  for (const line of lines.slice(1)) print(line)
}

function text(cell: Cell): string {
  if (cell === null) return '–'
  if (typeof cell === 'string') return cell
  if (cell >= 100 || Number.isInteger(cell)) return Math.round(cell).toLocaleString('en-US').replaceAll(',', ' ')
  return cell >= 10 ? cell.toFixed(1) : cell.toFixed(2)
}
