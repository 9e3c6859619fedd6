/**
 * Progress: where a replay stands, for whoever waits for it. One live line on a terminal, a line now and then otherwise.
 */
import { compactTokens } from './chart.ts'
import type { ReplayProgress } from './replay.ts'

/** What progress is written to; `process.stderr` is one. */
export interface ProgressStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const LIVE_INTERVAL_MS = 80
const SPARSE_INTERVAL_MS = 5_000
const CLEAR_LINE = '\r\u001b[K'

export class Progress {
  private readonly stream: ProgressStream
  private readonly intervalMs: number
  private nextAtMs: number

  constructor(stream: ProgressStream) {
    this.stream = stream
    this.intervalMs = stream.isTTY ? LIVE_INTERVAL_MS : SPARSE_INTERVAL_MS
    this.nextAtMs = performance.now() + (stream.isTTY ? 0 : SPARSE_INTERVAL_MS)
  }

  tell({ answers, of, tokens, compactions }: ReplayProgress): void {
    if (performance.now() < this.nextAtMs) return
    this.nextAtMs = performance.now() + this.intervalMs
    const line = `replaying: ${answers} of ${of} answers, ${compactTokens(tokens)} tokens in the last request, ${compactions} compactions`
    this.stream.write(this.stream.isTTY ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }

  done(): void {
    if (this.stream.isTTY) this.stream.write(CLEAR_LINE)
  }
}
