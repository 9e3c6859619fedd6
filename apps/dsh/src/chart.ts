/**
 * Chart: how full the window was, step by step, as text.
 *
 *     32.0k ┬──────────────────  the window
 *     25.6k ┤┄┄┄┄┄▆█┄┄┄┄▄█┄┄┄┄┄  the threshold, behind the columns
 *           │   ▅███  ▃▇██   ▄▆
 *         0 ┴──────────────────
 *                  ▲     ▲       compactions
 *
 * Pure. Where several steps share a column, it is filled to the last of them and shaded up to the fullest.
 */

export interface ChartPoint {
  /** 1-based; ascending. */
  readonly step: number
  readonly tokens: number
}

export interface ChartMark {
  /** The step that it made room for. */
  readonly step: number
  /** One column wide. */
  readonly sign: string
}

export interface ChartInit {
  readonly points: readonly ChartPoint[]
  readonly marks: readonly ChartMark[]
  readonly windowTokens: number
  readonly thresholdTokens: number
  /** Characters available in each line, the axis included. */
  readonly columns: number
  /** Lines, the axis and the marks included. */
  readonly rows: number
}

const EIGHTHS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
const LABEL_COLUMNS = 7
const MAX_COLUMNS_PER_STEP = 3

/** Lines without trailing blanks; none when there is nothing to show. */
export function chart({ points, marks, windowTokens, thresholdTokens, columns, rows }: ChartInit): string[] {
  const lastStep = points.at(-1)?.step ?? 0
  if (lastStep === 0) return []
  const bars = Math.max(8, columns - LABEL_COLUMNS - 1)
  const width = Math.min(bars, lastStep * MAX_COLUMNS_PER_STEP)
  const columnOf = (step: number): number => Math.min(width - 1, Math.floor(((step - 1) * width) / lastStep))
  const levels = columnLevels(points, width, columnOf)
  const topTokens = Math.max(windowTokens, ...points.map(({ tokens }) => tokens))
  const plotRows = Math.max(4, rows - 3)
  const rowTokens = topTokens / plotRows
  const rowOf = (tokens: number): number => Math.min(plotRows - 1, Math.max(0, Math.ceil(tokens / rowTokens) - 1))
  const labels = new Map([[rowOf(thresholdTokens), thresholdTokens], [rowOf(windowTokens), windowTokens]])

  const lines: string[] = []
  for (let row = plotRows - 1; row >= 0; row--) {
    const label = labels.get(row)
    const behind = label === undefined ? ' ' : label === windowTokens ? '─' : '┄'
    const cells = levels.map(level => cell(level, row, rowTokens, behind))
    lines.push(axis(label === undefined ? '' : compactTokens(label), label === undefined ? '│' : '┤') + cells.join(''))
  }
  lines.push(axis('0', '┴') + '─'.repeat(width))
  const signs = Array.from({ length: width }, () => ' ')
  for (const { step, sign } of marks) signs[columnOf(Math.min(step, lastStep))] = sign
  lines.push(axis('', ' ') + signs.join(''))
  lines.push(axis('step', ' ') + scale(lastStep, width))
  return lines.map(line => line.trimEnd())
}

interface Level {
  /** Tokens at the last step of the column. */
  last: number
  peak: number
}

/** One level a column; a column without a step of its own shows the one before it. */
function columnLevels(points: readonly ChartPoint[], width: number, columnOf: (step: number) => number): Level[] {
  const own: (Level | undefined)[] = Array.from({ length: width }, () => undefined)
  for (const { step, tokens } of points) {
    const column = columnOf(step)
    own[column] = { last: tokens, peak: Math.max(tokens, own[column]?.peak ?? 0) }
  }
  let before: Level = { last: 0, peak: 0 }
  return own.map(level => {
    before = level ?? { last: before.last, peak: before.last }
    return before
  })
}

function cell({ last, peak }: Level, row: number, rowTokens: number, behind: string): string {
  const eighths = Math.round((last / rowTokens - row) * 8)
  if (eighths >= 1) return EIGHTHS[Math.min(8, eighths)]!
  return peak / rowTokens - row >= 0.5 ? '░' : behind
}

function axis(label: string, tick: string): string {
  return label.padStart(LABEL_COLUMNS - 1) + ' ' + tick
}

/** `1` on the left, the last step on the right. */
function scale(lastStep: number, width: number): string {
  const last = String(lastStep)
  return width > last.length + 1 ? '1' + last.padStart(width - 1) : last
}

/** `950`, `24.0k`, `1.25M`. */
export function compactTokens(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  if (tokens < 999_950) return `${(tokens / 1_000).toFixed(1)}k`
  return `${(tokens / 1_000_000).toFixed(2)}M`
}
