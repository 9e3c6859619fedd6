/**
 * Replay report: what `dsh replay --json` prints, key by key.
 *
 * Pure types, but for the verdict.
 */
import type { CompactionTrigger } from '@deepseek-ai/dsh-compaction'
import type { Rung } from '@deepseek-ai/dsh-compaction-basic'
import type { Skipped } from '@deepseek-ai/dsh-transcript'
import type { SummarizerFault } from './summarizer-faults.ts'

export interface CompactionRow {
  /** The step that it made room for, counted over the whole conversation. */
  readonly step: number
  readonly trigger: CompactionTrigger
  readonly pressureBefore: number
  readonly pressureAfter: number
  readonly shadowedEntries: number
  readonly shadowedTokens: number
  readonly checkpointTokens: number
  readonly summarizer: 'digest' | 'model' | 'recorded'
  /** In the order they were tried; left out where no ladder was climbed. */
  readonly rungs?: readonly Rung[]
  readonly ms: number
  readonly ok: boolean
  readonly error?: string
}

/** An entry that with the envelope exceeds the window, or was shortened because with its neighbours it did. */
export interface OversizedRow {
  readonly step: number
  readonly seq: number
  readonly tokens: number
  /** Whether a rewrite put a shorter one in its place. */
  readonly shortened: boolean
}

export interface ReplayReport {
  /** As given on the command line. */
  readonly file: string
  readonly format: string
  readonly model: string | null
  /** Tokens, as are all sizes here. */
  readonly window: number
  readonly threshold: number
  /** Entries that were appended to the surface, checkpoints and rewrites not counted. */
  readonly messages: number
  readonly steps: number
  readonly toolCalls: number
  /** Ordinary and summary requests. */
  readonly requests: number
  readonly overWindowRequests: number
  readonly peakRequestTokens: number
  readonly finalRequestTokens: number
  readonly compactions: readonly CompactionRow[]
  /** Results rewritten in place, and the tokens that saved. */
  readonly prunes: { readonly results: number; readonly tokens: number }
  readonly oversized: readonly OversizedRow[]
  readonly skipped: readonly Skipped[]
  /** Over all requests. */
  readonly orphanResults: number
  readonly unansweredCalls: number
  /** The log, read back from its file, gives the same surface, messages and folds. */
  readonly replayIdentical: boolean
  readonly logEvents: number
  readonly wallMs: number
  /** What we cost beside model, tools and the replay's own bookkeeping. */
  readonly overheadMs: number
  /** What the summarizer was told to do wrong. */
  readonly summarizerFaults?: readonly SummarizerFault[]
  /** Why the conversation could not go on to its end. */
  readonly stopped?: string
}

/**
 * Everything that makes a replay a failed one, a sentence each. Where the summarizer was told to fail, a request over the window
 * is none: it goes out with full history, is refused, and is made to fit then, or the conversation stops.
 */
export function violationsOf(report: ReplayReport): string[] {
  const { overWindowRequests, orphanResults, unansweredCalls, replayIdentical, summarizerFaults = [], stopped } = report
  return [
    ...(overWindowRequests > 0 && summarizerFaults.length === 0 ? [`${overWindowRequests} of ${report.requests} requests over the window`] : []),
    ...(orphanResults > 0 ? [`${orphanResults} tool results without their call`] : []),
    ...(unansweredCalls > 0 ? [`${unansweredCalls} tool calls without a result`] : []),
    ...(replayIdentical ? [] : ['the log, read back, does not give the same state']),
    ...(stopped === undefined ? [] : [`the conversation stopped before its end: ${stopped}`]),
  ]
}
