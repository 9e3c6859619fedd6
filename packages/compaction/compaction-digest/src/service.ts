/**
 * The same engine, with the model-free digest as its summarizer: works without a key, costs nothing, and never fails to
 * answer.
 */
import type { CompactionAgent } from '@deepseek-ai/dsh-compaction'
import { BasicCompactionEngine, digest, type Summary, type SummaryInput } from '@deepseek-ai/dsh-compaction-basic'

/** A digest takes at most this share of what it stands for: beyond it, keeping more words beats having more room no longer. */
const LARGEST_SHARE = 0.25

export class DigestCompactionEngine extends BasicCompactionEngine {
  protected override async summarize(input: SummaryInput, _agent: CompactionAgent, _signal?: AbortSignal): Promise<Summary> {
    const budgetTokens = Math.min(input.maxTokens, Math.floor(input.spanTokens * LARGEST_SHARE))
    const text = digest(input.entries, budgetTokens, this.estimateText)
    return { summary: [{ type: 'text', text }], strategy: 'digest' }
  }
}
