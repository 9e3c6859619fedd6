/**
 * Run tally: how a headless run ended, and what it cost, from the events it added to its session.
 *
 * Pure.
 */
import { callsOf, textOf } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-compaction'
import type { TokenUsage } from '@deepseek-ai/dsh-llm'
import type { SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'

/** Sums over what providers reported, summaries included. Tokens. */
export type UsageSum = { -readonly [K in keyof Required<TokenUsage>]: number }

export class RunTally {
  /** The newest turn's; null before one has ended. */
  end: TurnEndReason | null = null
  /** The words of the newest answer that called nothing: what the run was for. Empty when there is none. */
  answer = ''
  readonly usage: UsageSum = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 }

  observe(event: SessionEvent): void {
    switch (event.type) {
      case 'turn/start':
        this.end = null
        this.answer = ''
        break
      case 'turn/end':
        this.end = event.data
        break
      case 'assistant/message':
        if (event.surfaceOp !== 'append') break
        this.answer = callsOf(event.data.content).length === 0 ? textOf(event.data.content) : ''
        this.add(event.data.usage)
        break
      case 'compaction/summary':
        this.add(event.data.usage)
        break
    }
  }

  private add(usage: TokenUsage | undefined): void {
    if (usage === undefined) return
    for (const bucket of Object.keys(this.usage) as (keyof UsageSum)[]) this.usage[bucket] += usage[bucket] ?? 0
  }
}
