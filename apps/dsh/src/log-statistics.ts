/**
 * Log statistics: what a session log says about itself, counted from its first event to its last.
 *
 * Pure.
 */
import type { Estimator } from '@deepseek-ai/dsh-token-meter'
import { isSurfaceEvent, messageOfEvent, type LogView, type Seq, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import type { OversizedRow } from './replay-report.ts'

export interface LogStatistics {
  readonly messages: number
  readonly steps: number
  readonly toolCalls: number
  readonly prunes: { readonly results: number; readonly tokens: number }
  readonly oversized: readonly OversizedRow[]
}

export function logStatistics(log: LogView, estimate: Estimator, windowTokens: number): LogStatistics {
  let messages = 0
  let steps = 0
  let toolCalls = 0
  let envelopeTokens = 0
  const prunes = { results: 0, tokens: 0 }
  const oversized = new Map<Seq, OversizedRow>()
  const priceOf = (event: SurfaceEvent): number => {
    const message = messageOfEvent(event)
    return message === null ? 0 : estimate.message(message)
  }
  for (const event of log.from(0)) {
    if (event.type === 'step/start') steps += 1
    else if (event.type === 'tool/call') toolCalls += 1
    else if (event.type === 'request/header') envelopeTokens = estimate.envelope(event.data.system, event.data.tools)
    if (!isSurfaceEvent(event)) continue
    if (event.surfaceOp === 'append') {
      messages += 1
      const tokens = priceOf(event)
      if (tokens + envelopeTokens > windowTokens) oversized.set(event.seq, { step: steps, seq: event.seq, tokens, shortened: false })
      continue
    }
    const { start, end } = event.surfaceOp
    if (start !== end) continue
    const rewritten = oversized.get(start)
    if (rewritten !== undefined) oversized.set(start, { ...rewritten, shortened: true })
    const original = log.at(start)
    if (event.type !== 'tool/result' || !isSurfaceEvent(original)) continue
    prunes.results += 1
    prunes.tokens += priceOf(original) - priceOf(event)
  }
  return { messages, steps, toolCalls, prunes, oversized: [...oversized.values()] }
}
