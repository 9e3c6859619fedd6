/**
 * The compaction invariant: brackets have an owner, do not nest and end before their turn does; checkpoints stand in them.
 *
 * Pure.
 */
import { turnFold, type Invariant, type TurnState } from '@deepseek-ai/dsh-session'
import { isCompactCheckpointSource } from './events.ts'
import { lockFold, type LockState } from './lock.ts'

interface CompactionInvariantState {
  turns: TurnState
  lock: LockState
}

export const compactionInvariant: Invariant<CompactionInvariantState> = {
  name: 'compaction',
  init: () => ({ turns: turnFold.init(), lock: lockFold.init() }),
  apply(state, event, change) {
    state.turns = turnFold.apply(state.turns, event, change)
    state.lock = lockFold.apply(state.lock, event, change)
    return state
  },
  violations({ turns, lock: { live } }, event) {
    switch (event.type) {
      case 'compaction/start': {
        const owner = turns.turnOpen ? turns.turn : null
        return [
          ...(live === null ? [] : [`a compaction starts inside the one that started at ${live.startSeq}`]),
          ...(event.data.turn === owner ? [] : [`its owner is ${turnName(event.data.turn)}, but ${turnName(owner)} is open`]),
        ]
      }
      case 'compaction/summary':
        return live?.startSeq === event.data.startSeq ? [] : [`a summary for start ${event.data.startSeq}, which is not running`]
      case 'compaction/end':
        return [
          ...(live?.startSeq === event.data.startSeq ? [] : [`an end for start ${event.data.startSeq}, which is not running`]),
          ...(live === null || live.turn === event.data.turn ? [] : [`it names ${turnName(event.data.turn)}, its start ${turnName(live.turn)}`]),
        ]
      case 'turn/start':
      case 'turn/end':
        return live === null ? [] : [`a turn boundary inside the compaction that started at ${live.startSeq}`]
      case 'user/message':
        if (event.surfaceOp === 'append' || !isCompactCheckpointSource(event.data.source)) return []
        return live?.summarized ? [] : ['a checkpoint replaces entries outside a compaction that has its summary']
      default:
        return []
    }
  },
}

function turnName(turn: number | null): string {
  return turn === null ? 'no turn' : `turn ${turn}`
}
