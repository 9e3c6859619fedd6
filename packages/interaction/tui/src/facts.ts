/**
 * Facts: what a status line says of a session, derived from its log.
 *
 * Pure. Tokens are summed by route, since prices differ; what they cost is a question to whoever knows the prices.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { TokenPrices, TokenUsage } from '@deepseek-ai/dsh-llm'
import { isPersonSource, type Fold, type FoldReader, type Seq } from '@deepseek-ai/dsh-session'

interface RouteUsage {
  readonly provider: string
  readonly model: string
  readonly usage: { inputTokens: number; cacheReadTokens: number; cacheWriteTokens: number; outputTokens: number }
}

export interface LastCompaction {
  /** Null for one between turns. */
  readonly turn: number | null
  /** Milliseconds since the epoch. */
  readonly endedAt: number
  /** Estimated tokens of what left the surface. */
  readonly shadowedTokens: number
  readonly checkpointSeq: Seq
}

interface FactsState {
  readonly routes: Map<string, RouteUsage>
  readonly saidSeqs: Seq[]
  /** Of the compaction that is running: what is known when its end is logged. */
  summary: { readonly startSeq: Seq; readonly shadowedTokens: number } | null
  checkpointSeq: Seq | null
  lastCompaction: LastCompaction | null
}

const factsFold: Fold<FactsState> = {
  init: () => ({ routes: new Map(), saidSeqs: [], summary: null, checkpointSeq: null, lastCompaction: null }),
  apply(state, event) {
    switch (event.type) {
      case 'user/message':
        if (event.surfaceOp === 'append' && isPersonSource(event.data.source)) state.saidSeqs.push(event.seq)
        else if (event.surfaceOp !== 'append' && isCompactCheckpointSource(event.data.source)) state.checkpointSeq = event.seq
        break
      case 'assistant/message':
        if (event.surfaceOp === 'append') spend(state, event.data)
        break
      case 'compaction/summary':
        spend(state, event.data)
        state.summary = { startSeq: event.data.startSeq, shadowedTokens: event.data.shadowedTokens }
        break
      case 'compaction/end':
        if (event.data.error === undefined && state.summary?.startSeq === event.data.startSeq && state.checkpointSeq !== null) {
          const { shadowedTokens } = state.summary
          state.lastCompaction = { turn: event.data.turn, endedAt: event.time, shadowedTokens, checkpointSeq: state.checkpointSeq }
        }
        state.summary = null
    }
    return state
  },
}

function spend({ routes }: FactsState, by: { readonly provider?: string; readonly model?: string; readonly usage?: TokenUsage }): void {
  const { provider, model, usage } = by
  if (usage === undefined || provider === undefined || model === undefined) return
  const key = JSON.stringify([provider, model])
  const route = routes.get(key) ?? { provider, model, usage: { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 } }
  routes.set(key, route)
  route.usage.inputTokens += usage.inputTokens
  route.usage.cacheReadTokens += usage.cacheReadTokens ?? 0
  route.usage.cacheWriteTokens += usage.cacheWriteTokens ?? 0
  route.usage.outputTokens += usage.outputTokens
}

export function lastCompaction(session: FoldReader): LastCompaction | null {
  return session.read(factsFold).lastCompaction
}

/** What a person said, by seq, the oldest first. */
export function saidSeqs(session: FoldReader): readonly Seq[] {
  return session.read(factsFold).saidSeqs
}

/** US dollars for all answers and summaries so far; null where nothing was spent or a price is not known. */
export function costOf(session: FoldReader, prices: (provider: string, model: string) => TokenPrices | undefined): number | null {
  const routes = [...session.read(factsFold).routes.values()]
  let dollars = 0
  for (const { provider, model, usage } of routes) {
    const price = prices(provider, model)
    if (price === undefined) return null
    const { input, output, cacheRead = input, cacheWrite = input } = price
    const millionths = usage.inputTokens * input + usage.cacheReadTokens * cacheRead + usage.cacheWriteTokens * cacheWrite + usage.outputTokens * output
    dollars += millionths / 1_000_000
  }
  return routes.length === 0 ? null : dollars
}
