/**
 * Compaction rows: each compaction of a session as one line of a report, gathered while it happens.
 */
import { isCompactCheckpointSource, type CompactionTrigger } from '@deepseek-ai/dsh-compaction'
import type { Rung } from '@deepseek-ai/dsh-compaction-basic'
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { messageOfEvent } from '@deepseek-ai/dsh-session'
import type { CompactionRow } from './replay-report.ts'

interface Running {
  readonly trigger: CompactionTrigger
  readonly step: number
  readonly startedAtMs: number
  readonly pressureBefore: number
  shadowedEntries: number
  shadowedTokens: number
  checkpointTokens: number
  summarizer: CompactionRow['summarizer']
  readonly rungs: Rung[]
}

export class CompactionRows {
  readonly rows: CompactionRow[] = []
  private readonly meter: TokenMeter
  private running: Running | null = null

  constructor(meter: TokenMeter) {
    this.meter = meter
  }

  /** One that answered or did not, of the compaction that runs. */
  rung(rung: Rung): void {
    const { running } = this
    if (running === null) return
    running.rungs.push(rung)
    running.summarizer = rung.strategy === 'digest' ? 'digest' : 'model'
  }

  /** `step` is the one that a compaction would make room for. */
  observe(session: Session, event: SessionEvent, step: number): void {
    if (event.type === 'compaction/start') {
      this.running = {
        trigger: event.data.trigger,
        step,
        startedAtMs: performance.now(),
        pressureBefore: this.meter.measure(session).totalTokens,
        shadowedEntries: 0,
        shadowedTokens: 0,
        checkpointTokens: 0,
        summarizer: event.data.trigger === 'recorded' ? 'recorded' : 'digest',
        rungs: [],
      }
      return
    }
    const { running } = this
    if (running === null) return
    if (event.type === 'compaction/summary') {
      const { shadowedSeqs, shadowedTokens, strategy } = event.data
      running.shadowedEntries = shadowedSeqs.length
      running.shadowedTokens = shadowedTokens
      running.summarizer = strategy === 'digest' || strategy === 'recorded' ? strategy : 'model'
    } else if (event.type === 'user/message' && isCompactCheckpointSource(event.data.source)) {
      const message = messageOfEvent(event)
      running.checkpointTokens = message === null ? 0 : this.meter.estimateMessage(message)
    } else if (event.type === 'compaction/end') {
      const { startedAtMs, rungs, ...row } = running
      const { error } = event.data
      this.rows.push({
        ...row,
        ...(rungs.length === 0 ? {} : { rungs }),
        pressureAfter: this.meter.measure(session).totalTokens,
        ms: Math.round((performance.now() - startedAtMs) * 10) / 10,
        ok: error === undefined,
        ...(error === undefined ? {} : { error }),
      })
      this.running = null
    }
  }
}
