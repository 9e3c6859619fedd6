/**
 * Events: what a compaction leaves in the log, and how its checkpoint is recognized.
 *
 *     … compaction/start ─ summarize ─ compaction/summary · user/message (replaces the span) · compaction/end …
 *     … compaction/start ─ ✗ ───────────────────────────── compaction/end {error} …
 *
 * The seq of `compaction/start` identifies a compaction. The three are log-only; the one surface mutation is the replacing
 * `user/message`, whose source is {@link COMPACT_CHECKPOINT_SOURCE}.
 */
import type { ContentBlock, TokenUsage } from '@deepseek-ai/dsh-llm'
import type { MessageSource, Seq } from '@deepseek-ai/dsh-session'

/** Why a compaction runs; `recorded` is one found in an imported conversation. */
export type CompactionTrigger = 'pressure' | 'context-overflow' | 'manual' | 'region' | 'recorded'

/** What made a summary: an exact prefix of the last request, flattened text, the model-free digest, the recording, or a subclass. */
export type SummaryStrategy = 'replay' | 'transcript' | 'digest' | 'recorded' | 'custom'

export type CompactionFailureCode = 'aborted' | 'summary' | 'not-smaller' | 'changed' | 'commit'

/** A span by its first and last entry, in surface order; `start` may be the larger seq. */
export interface ShadowedRange {
  readonly start: Seq
  readonly end: Seq
}

declare module '@deepseek-ai/dsh-session' {
  interface SessionEventMap {
    /** The lock. `turn` is the open turn, null for a standalone run. */
    'compaction/start': { readonly turn: number | null; readonly trigger: CompactionTrigger }
    /** The record of what was said about what. */
    'compaction/summary': {
      readonly startSeq: Seq
      /** Unframed. */
      readonly summary: readonly ContentBlock[]
      /** The reply as it came, where it differs from `summary` or a model service made it. */
      readonly rawOutput?: readonly ContentBlock[]
      /** Exactly one call through this context's `ctx.llm.stream()` made it. */
      readonly llmStreamCall?: true
      readonly shadowedRange: ShadowedRange
      /** Surface order; authoritative. */
      readonly shadowedSeqs: readonly Seq[]
      /** Estimated tokens of what left the surface. */
      readonly shadowedTokens: number
      readonly provider?: string
      readonly model?: string
      readonly maxTokens?: number
      readonly usage?: TokenUsage
      readonly strategy: SummaryStrategy
    }
    /** Releases the lock; `error` tells failure. */
    'compaction/end': {
      readonly startSeq: Seq
      readonly turn: number | null
      readonly error?: string
      readonly code?: CompactionFailureCode
    }
  }
}

/** The source of every checkpoint; recognize one by {@link isCompactCheckpointSource}, never by its text. */
export const COMPACT_CHECKPOINT_SOURCE: MessageSource = Object.freeze({ kind: 'plugin', plugin: 'compact' })

/** Holds for persisted and cloned sources as well. */
export function isCompactCheckpointSource(source: MessageSource): boolean {
  return source.kind === COMPACT_CHECKPOINT_SOURCE.kind && source['plugin'] === COMPACT_CHECKPOINT_SOURCE['plugin']
}
