/**
 * Orders: where a process is to stop, by what a compaction appends.
 */
import type { SessionEvent } from '@deepseek-ai/dsh-session'

/** In the order in which a compaction appends them. */
export const MOMENTS = ['start', 'summary', 'replacement', 'end'] as const
export const WHENS = ['appended', 'durable'] as const

export interface Stop {
  readonly moment: (typeof MOMENTS)[number]
  readonly when: (typeof WHENS)[number]
}

export interface Order {
  /** Nowhere by default. */
  readonly stop?: Stop
}

/** Every boundary of a compaction. */
export const STOPS: readonly Stop[] = MOMENTS.flatMap(moment => WHENS.map(when => ({ moment, when })))

export function momentOf(event: SessionEvent): Stop['moment'] | null {
  switch (event.type) {
    case 'compaction/start':
      return 'start'
    case 'compaction/summary':
      return 'summary'
    case 'compaction/end':
      return 'end'
    case 'user/message':
      return event.surfaceOp === 'append' ? null : 'replacement'
    default:
      return null
  }
}
