/**
 * Breaker: when pressure stops trying what has not helped.
 *
 * Pure. The first fruitless attempt (failed, or saving under a tenth of what it shadowed; aborts do not count) is free. From
 * the second in a row pressure waits until the conversation has grown by half the retained budget, then by twice that, and
 * so on. A useful attempt starts over.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, messageOfEvent, type Fold } from '@deepseek-ai/dsh-session'

/** A compaction that saves less than this share of what it shadowed was fruitless. */
const USEFUL_SHARE = 0.1

export function isUseful(shadowedTokens: number, checkpointTokens: number): boolean {
  return shadowedTokens - checkpointTokens >= shadowedTokens * USEFUL_SHARE
}

interface BreakerState {
  /** The newest bracket is one that was found in an imported conversation: nobody's attempt. */
  recorded: boolean
  /** Fruitless attempts in a row. */
  fruitless: number
  /** Estimated tokens appended since the last of them. */
  grownTokens: number
  shadowedTokens: number
  checkpointTokens: number
  /** Why the last one was fruitless. */
  reason: string
}

export interface Breaker {
  readonly fold: Fold<BreakerState>
  /** Why pressure must wait, in words; null when it need not. */
  holds(state: BreakerState, retainTokens: number): string | null
}

export function breaker(estimateMessage: (message: Message) => number): Breaker {
  return {
    fold: {
      init: () => ({ recorded: false, fruitless: 0, grownTokens: 0, shadowedTokens: 0, checkpointTokens: 0, reason: '' }),
      apply(state, event, change) {
        switch (event.type) {
          case 'compaction/start':
            state.recorded = event.data.trigger === 'recorded'
            state.shadowedTokens = 0
            state.checkpointTokens = 0
            return state
          case 'compaction/summary':
            state.shadowedTokens = event.data.shadowedTokens
            return state
          case 'compaction/end':
            return ended(state, event.data)
        }
        if (change === null || !isSurfaceEvent(event)) return state
        if (event.type === 'user/message' && event.surfaceOp !== 'append' && isCompactCheckpointSource(event.data.source)) {
          state.checkpointTokens = estimateMessage({ role: 'user', content: event.data.content })
        } else if (state.fruitless > 0 && event.surfaceOp === 'append') {
          const message = messageOfEvent(event)
          state.grownTokens += message === null ? 0 : estimateMessage(message)
        }
        return state
      },
    },
    holds({ fruitless, grownTokens, reason }, retainTokens) {
      if (fruitless < 2) return null
      const neededTokens = Math.ceil((retainTokens / 2) * 2 ** (fruitless - 2))
      if (grownTokens >= neededTokens) return null
      return `the last ${fruitless} compactions did not help (${reason}); trying again after ${neededTokens - grownTokens} more tokens`
    },
  }
}

function ended(state: BreakerState, { error, code }: { readonly error?: string; readonly code?: string }): BreakerState {
  if (code === 'aborted' || state.recorded) return state
  if (error === undefined && isUseful(state.shadowedTokens, state.checkpointTokens)) {
    state.fruitless = 0
    state.reason = ''
  } else {
    state.fruitless += 1
    state.reason = error ?? `only ${state.shadowedTokens - state.checkpointTokens} of ${state.shadowedTokens} tokens saved`
  }
  state.grownTokens = 0
  return state
}
