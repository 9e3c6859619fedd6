/**
 * `ctx.compaction`: what every compaction engine offers, whatever makes its summaries.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { registerInvariant, type Seq, type Session } from '@deepseek-ai/dsh-session'
import type { ShadowedRange } from './events.ts'
import { compactionInvariant } from './invariant.ts'
import { liveCompaction } from './lock.ts'
import { openCallsAt } from './pairing.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    compaction: CompactionEngine
  }
  interface Events {
    /** Something about the size of their conversation that a person should know, in a sentence; told, never logged. */
    'compaction/notice'(session: Session, notice: string): void
  }
}

/** What an engine needs of an agent; `dsh-agent` has more. */
export interface CompactionAgent {
  readonly id: string
  readonly session: Session
  readonly status: 'idle' | 'running'
  readonly options: { readonly provider?: string; readonly model?: string; readonly maxTokens?: number }
  /** Runs `task` while the agent is idle and holds its input back; throws at once when it is not idle. */
  runMaintenance<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T>
}

export interface CompactionResult {
  /** Identifies the compaction. */
  readonly startSeq: Seq
  readonly summarySeq: Seq
  /** The checkpoint. */
  readonly replacementSeq: Seq
  readonly endSeq: Seq
  /** Unframed. */
  readonly summary: readonly ContentBlock[]
  readonly shadowedRange: ShadowedRange
  /** Surface order; authoritative. */
  readonly shadowedSeqs: readonly Seq[]
  readonly shadowedTokens: number
  readonly checkpointTokens: number
  /** Whether the next request is under the threshold that asked for it; true where none did. */
  readonly converged: boolean
}

export abstract class CompactionEngine extends Service {
  constructor(ctx: Context) {
    super(ctx, 'compaction')
    registerInvariant(ctx, compactionInvariant)
    ctx.on('session/loading', log => {
      liveCompaction(log)
      openCallsAt(log, 0)
    })
  }

  /** The size of a request at which this engine acts by itself, in tokens; null where it does not, or nobody knows the window. */
  thresholdTokens(_agent: CompactionAgent): number | null {
    return null
  }

  /**
   * Compacts if the next request would be too large (`pressure`), or because a provider said that the last one was
   * (`context-overflow`). Null when there is nothing useful to do, or when pruning alone sufficed.
   *
   * @throws the cause of a failed attempt; {@link ManualCompactionError} `busy` under a live lock; the signal's exact reason.
   */
  abstract compactIfNeeded(agent: CompactionAgent, trigger: 'pressure' | 'context-overflow', signal: AbortSignal): Promise<CompactionResult | null>

  /**
   * One useful reduction on an idle agent, whatever the pressure; null, and nothing written, when there is none.
   *
   * @throws ManualCompactionError, or the caller's own abort reason.
   */
  abstract compactNow(agent: CompactionAgent, signal: AbortSignal): Promise<CompactionResult | null>

  /**
   * Compacts the span from entry `start` to entry `end`, both included.
   *
   * @throws Error before any write for a span that is not there, parts a call from its result or lies in an open step;
   * ManualCompactionError, or the caller's own abort reason, afterwards.
   */
  abstract compactRegion(start: Seq, end: Seq, agent: CompactionAgent, signal?: AbortSignal): Promise<CompactionResult>
}

export type ManualCompactionCode = 'busy' | 'cancelled' | 'changed' | 'summary' | 'commit' | 'persistence'

/** Why a compaction that somebody asked for did not happen. */
export class ManualCompactionError extends Error {
  override readonly name = 'ManualCompactionError'
  readonly code: ManualCompactionCode
  /** Who is busy, for `busy`. */
  readonly reason?: 'agent' | 'compaction'

  constructor(code: ManualCompactionCode, message: string, options: { readonly reason?: 'agent' | 'compaction'; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    if (options.reason !== undefined) this.reason = options.reason
  }
}
