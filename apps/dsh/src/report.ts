/**
 * Report: a replay in words, a table and a picture, for a person.
 *
 * Pure. Lines without colors, so that a pipe gets what a terminal shows.
 */
import { ANSWERED } from '@deepseek-ai/dsh-compaction-basic'
import { chart, compactTokens, type ChartPoint } from './chart.ts'
import { violationsOf, type CompactionRow, type ReplayReport } from './replay-report.ts'

export interface ReportInit {
  readonly report: ReplayReport
  /** The size of each step's request. */
  readonly points: readonly ChartPoint[]
  /** Characters a line. */
  readonly columns: number
}

const CHART_ROWS = 16

export function renderReport({ report, points, columns }: ReportInit): string {
  const sections = [headline(report), compactionTable(report.compactions), picture(report, points, columns), losses(report), verdict(report)]
  return sections.filter(lines => lines.length > 0).map(lines => `${lines.join('\n')}\n`).join('\n')
}

function headline(report: ReplayReport): string[] {
  const { file, format, model, steps, toolCalls, messages, compactions } = report
  const shadowed = compactions.reduce((sum, { ok, shadowedTokens }) => sum + (ok ? shadowedTokens : 0), 0)
  return [
    `${file}  (${format}${model === null ? '' : `, ${model}`})`,
    facts([`${messages} messages`, `${steps} steps`, `${toolCalls} tool calls`, `${report.requests} requests`]),
    facts([
      `window ${compactTokens(report.window)}`,
      `threshold ${compactTokens(report.threshold)}`,
      `largest request ${compactTokens(report.peakRequestTokens)}`,
      `last ${compactTokens(report.finalRequestTokens)}`,
    ]),
    facts([
      `${compactions.length} compactions, ${compactTokens(shadowed)} tokens shadowed`,
      `${report.logEvents} events in the log`,
      `${seconds(report.wallMs)}, of it ${seconds(report.overheadMs)} ours`,
    ]),
  ]
}

const TABLE_HEAD = ['step', 'trigger', 'before', 'after', 'entries', 'shadowed', 'checkpoint', 'summarizer', 'ms']
const TEXT_COLUMNS = new Set([1, 7])

function compactionTable(rows: readonly CompactionRow[]): string[] {
  if (rows.length === 0) return []
  const cells = rows.map(row => [
    String(row.step),
    row.trigger,
    compactTokens(row.pressureBefore),
    row.ok ? compactTokens(row.pressureAfter) : '–',
    String(row.shadowedEntries),
    compactTokens(row.shadowedTokens),
    compactTokens(row.checkpointTokens),
    row.summarizer,
    String(Math.round(row.ms)),
  ])
  const widths = TABLE_HEAD.map((title, column) => Math.max(title.length, ...cells.map(line => line[column]!.length)))
  const layOut = (line: readonly string[]): string =>
    line.map((cell, column) => (TEXT_COLUMNS.has(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  ').trimEnd()
  return [
    layOut(TABLE_HEAD),
    ...cells.flatMap((line, index) => {
      const { error, rungs = [] } = rows[index]!
      const told = rungs.some(({ outcome }) => outcome !== ANSWERED) ? rungs : []
      return [
        layOut(line),
        ...told.map(({ strategy, outcome }) => `      ${strategy.padEnd(10)} ${outcome}`),
        ...(error === undefined || error === told.at(-1)?.outcome ? [] : [`      failed: ${error}`]),
      ]
    }),
  ]
}

function picture(report: ReplayReport, points: readonly ChartPoint[], columns: number): string[] {
  const marks = report.compactions.map(({ step, ok, trigger }) => ({ step, sign: ok ? (trigger === 'recorded' ? '△' : '▲') : '×' }))
  const lines = chart({ points, marks, windowTokens: report.window, thresholdTokens: report.threshold, columns, rows: CHART_ROWS })
  if (lines.length === 0) return []
  const legend = [
    'Tokens of each request; ─ window, ┄ threshold',
    ...(marks.some(({ sign }) => sign === '▲') ? ['▲ compaction'] : []),
    ...(marks.some(({ sign }) => sign === '△') ? ['△ recorded compaction'] : []),
    ...(marks.some(({ sign }) => sign === '×') ? ['× failed compaction'] : []),
  ]
  return [legend.join(', '), ...lines]
}

function losses({ skipped, prunes, oversized }: ReplayReport): string[] {
  return [
    ...(prunes.results > 0 ? [`${prunes.results} results shortened, ${compactTokens(prunes.tokens)} tokens saved`] : []),
    ...oversized.map(({ step, seq, tokens, shortened }) =>
      `step ${step}: event ${seq}, ${compactTokens(tokens)} tokens, is too large for the window${shortened ? ' and was shortened' : ''}`),
    ...(skipped.length > 0 ? ['Not in the conversation as recorded:'] : []),
    ...skipped.map(({ reason, count, line }) => `  ${count} × ${reason} (first at ${line})`),
  ]
}

function verdict(report: ReplayReport): string[] {
  const violations = violationsOf(report)
  if (violations.length > 0) return violations.map(violation => `✗ ${violation}`)
  const { overWindowRequests } = report
  const fitting = overWindowRequests === 0 ? 'every request' : `${overWindowRequests} requests refused for their size and made to fit, all others`
  return [`✓ ${fitting} inside the window, every call answered, nothing lost: the log gives the same state when it is read back`]
}

function facts(parts: readonly string[]): string {
  return `  ${parts.join(' · ')}`
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}
