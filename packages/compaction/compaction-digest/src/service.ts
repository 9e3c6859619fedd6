/**
 * The same engine, with the model-free digest as its summarizer: works without a key, costs nothing, and never fails to
 * answer.
 */
import type { CompactionAgent } from '@deepseek-ai/dsh-compaction'
import { BasicCompactionEngine, summarizeByDigest, type Summary, type SummaryInput } from '@deepseek-ai/dsh-compaction-basic'

export class DigestCompactionEngine extends BasicCompactionEngine {
  protected override async summarize(input: SummaryInput, _agent: CompactionAgent, _signal?: AbortSignal): Promise<Summary> {
    return summarizeByDigest(input, this.estimateText)
  }
}
