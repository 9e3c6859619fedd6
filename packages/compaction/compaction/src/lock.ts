/**
 * Lock: whether a compaction is running, read from the log.
 *
 * Pure. The live lock is the newest `compaction/start` without its `compaction/end`, newer than the newest
 * `session/end-seed`: what an earlier lifecycle left unfinished blocks nobody.
 */
import type { Fold, FoldReader, Seq } from '@deepseek-ai/dsh-session'
import type { CompactionTrigger } from './events.ts'

export interface LiveCompaction {
  readonly startSeq: Seq
  readonly turn: number | null
  readonly trigger: CompactionTrigger
  /** Its `compaction/summary` stands in the log. */
  readonly summarized: boolean
}

export interface LockState {
  live: LiveCompaction | null
}

export const lockFold: Fold<LockState> = {
  init: () => ({ live: null }),
  apply(state, event) {
    switch (event.type) {
      case 'compaction/start':
        state.live = { startSeq: event.seq, ...event.data, summarized: false }
        break
      case 'compaction/summary':
        if (state.live?.startSeq === event.data.startSeq) state.live = { ...state.live, summarized: true }
        break
      case 'compaction/end':
        if (state.live?.startSeq === event.data.startSeq) state.live = null
        break
      case 'session/end-seed':
        state.live = null
        break
    }
    return state
  },
}

/** The compaction that is running on this session, if any. */
export function liveCompaction(session: FoldReader): LiveCompaction | null {
  return session.read(lockFold).live
}
