/**
 * Scripted summarizer: a model that writes checkpoints, well or in every way that models have been seen to do it badly.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { CompactionAgent } from '@deepseek-ai/dsh-compaction'
import { BasicCompactionEngine, summarizeByDigest, type Summary, type SummaryInput } from '@deepseek-ai/dsh-compaction-basic'
import { textOf, type GenerateOptions, type RetryPolicy } from '@deepseek-ai/dsh-llm'
import type { RecordedAnswer } from '@deepseek-ai/dsh-llm-recorded'
import { FAULTS, type SummarizerFault } from './summarizer-faults.ts'

/** Long enough for a script, short enough for whoever waits for a replay. */
const IDLE_MS = 100
/** A fault is an answer: asked again, an error would never show. */
const NO_RETRY: RetryPolicy = { maxRetries: 0, maxElapsedMs: 0, firstWaitMs: 0 }

export interface ScriptedSummarizer {
  /** Asks a model for its summaries, and gives a silent one up at once. */
  readonly loadEngine: (ctx: Context) => PromiseLike<unknown>
  /** The model's answer to each request for one. */
  readonly answer: (request: GenerateOptions, index: number) => RecordedAnswer
}

/** Every other answer is a fault, in turn and over again; those between are sensible: the digest of the span. */
export function scriptedSummarizer(faults: readonly SummarizerFault[]): ScriptedSummarizer {
  let sensible = ''
  return {
    loadEngine: ctx => ctx.plugin(class extends BasicCompactionEngine {
      protected override readonly idleMs: number = IDLE_MS
      protected override readonly retry: RetryPolicy = NO_RETRY

      protected override summarize(input: SummaryInput, agent: CompactionAgent, signal?: AbortSignal): Promise<Summary> {
        sensible = textOf(summarizeByDigest(input, this.estimateText).summary)
        return super.summarize(input, agent, signal)
      }
    }),
    answer: (request, index) => {
      const fault = index % 2 === 0 ? faults[(index / 2) % faults.length] : undefined
      return fault === undefined ? { content: [{ type: 'text', text: sensible }] } : FAULTS[fault](sensible, request)
    },
  }
}
