/**
 * Log statistics: what a session log says about itself, counted from its first event to its last.
 *
 * Pure.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { Estimator } from '@deepseek-ai/dsh-token-meter'
import { isSurfaceEvent, messageOfEvent, type LogView, type Seq, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import type { OversizedRow } from './replay-report.ts'

export interface LogStatistics {
  readonly messages: number
  readonly steps: number
  readonly toolCalls: number
  /** Results that were rewritten, and what all rewrites of them saved. */
  readonly prunes: { readonly results: number; readonly tokens: number }
  /** Entries that alone exceed the window, and those that were shortened before any model had answered them. */
  readonly oversized: readonly OversizedRow[]
}

export function logStatistics(log: LogView, estimate: Estimator, windowTokens: number): LogStatistics {
  let messages = 0
  let steps = 0
  let toolCalls = 0
  let envelopeTokens = 0
  const pruned = new Set<Seq>()
  let prunedTokens = 0
  const oversized = new Map<Seq, OversizedRow>()
  /** Where each rewritten entry began, by its newest rewrite. */
  const origins = new Map<Seq, OversizedRow>()
  let answerSeq = -1
  const priceOf = (event: SurfaceEvent): number => {
    const message = messageOfEvent(event)
    return message === null ? 0 : estimate.message(message)
  }
  const rowOf = (event: SurfaceEvent): OversizedRow => ({ step: steps, seq: event.seq, tokens: priceOf(event), shortened: false })
  for (const event of log.from(0)) {
    if (event.type === 'step/start') steps += 1
    else if (event.type === 'tool/call') toolCalls += 1
    else if (event.type === 'request/header') envelopeTokens = estimate.envelope(event.data.system, event.data.tools)
    if (!isSurfaceEvent(event)) continue
    if (event.surfaceOp === 'append') {
      messages += 1
      if (event.type === 'assistant/message') answerSeq = event.seq
      const row = rowOf(event)
      if (row.tokens + envelopeTokens > windowTokens) oversized.set(event.seq, row)
      continue
    }
    const { start, end } = event.surfaceOp
    const replaced = log.at(start)
    if (start !== end || replaced.type !== event.type || !isSurfaceEvent(replaced) || isCheckpoint(event)) continue
    const origin = origins.get(start) ?? rowOf(replaced)
    origins.set(event.seq, origin)
    if (origin.seq >= answerSeq || oversized.has(origin.seq)) oversized.set(origin.seq, { ...(oversized.get(origin.seq) ?? origin), shortened: true })
    if (event.type !== 'tool/result') continue
    pruned.add(origin.seq)
    prunedTokens += priceOf(replaced) - priceOf(event)
  }
  const prunes = { results: pruned.size, tokens: prunedTokens }
  return { messages, steps, toolCalls, prunes, oversized: [...oversized.values()] }
}

function isCheckpoint(event: SurfaceEvent): boolean {
  return event.type === 'user/message' && isCompactCheckpointSource(event.data.source)
}
