/**
 * The naive session: a plain list of events and a plain list of seqs, everything recomputed from scratch.
 *
 * What the real one is compared with; it shares no code with it.
 */
import type { Message } from '@deepseek-ai/dsh-llm'
import { isDeepStrictEqual } from 'node:util'
import type { Fold, Seq, SessionEvent } from '../src/index.ts'

export interface NaiveSurface {
  readonly entries: Seq[]
  readonly generation: number
}

const surfaceTypes = ['user/message', 'assistant/message', 'tool/result']

/** The surface after all of `events`; null where the last one must be refused. */
export function naiveSurface(events: readonly SessionEvent[]): NaiveSurface | null {
  let entries: Seq[] = []
  let generation = 0
  for (const event of events) {
    const op = event.surfaceOp
    if (!surfaceTypes.includes(event.type)) {
      if (op !== undefined || event.sourceEventSeqs !== undefined) return null
      continue
    }
    const sources: readonly Seq[] = event.sourceEventSeqs ?? []
    if (sources.some((source, index) => source < 0 || source >= event.seq || sources.indexOf(source) !== index)) return null
    if (op === undefined) return null
    if (op === 'append') {
      entries.push(event.seq)
      continue
    }
    const [from, to] = [entries.indexOf(op.start), entries.indexOf(op.end)]
    if (from < 0 || to < 0 || from > to) return null
    const shadowed = entries.slice(from, to + 1)
    if (!shadowed.every(seq => sources.includes(seq))) return null
    if (event.type === 'tool/result') {
      const original = events[shadowed[0]!]!
      if (shadowed.length > 1 || original.type !== 'tool/result') return null
      if (!isDeepStrictEqual({ ...event.data, content: [] }, { ...original.data, content: [] })) return null
    }
    entries = [...entries.slice(0, from), event.seq, ...entries.slice(to + 1)]
    generation += 1
  }
  return { entries, generation }
}

export function naiveMessages(events: readonly SessionEvent[], entries: readonly Seq[]): Message[] {
  return entries.flatMap((seq): Message[] => {
    const event = events[seq]!
    if (event.type === 'user/message') return [{ role: 'user', content: event.data.content }]
    if (event.type === 'assistant/message' && event.data.content.length > 0) {
      return [{ role: 'assistant', content: event.data.content, provider: event.data.provider, model: event.data.model }]
    }
    if (event.type === 'tool/result') {
      const { callId, content, isError } = event.data
      return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, content, ...(isError === true ? { isError } : {}) }] }]
    }
    return []
  })
}

/** Follows the surface through nothing but the changes it is told of. */
export const followingFold: Fold<{ entries: Seq[] }> = {
  init: () => ({ entries: [] }),
  apply(state, event, change) {
    if (change === null) return state
    const left = state.entries.splice(change.at, change.removed.length, event.seq)
    if (!isDeepStrictEqual(left, change.removed)) throw new Error(`told that ${change.removed.join()} left, and ${left.join()} did`)
    return state
  },
}

/** Remembers every event and change in order, in states that are never mutated. */
export const historyFold: Fold<string> = {
  init: () => '',
  apply: (state, { seq, type }, change) => `${state} ${seq}:${type}${change === null ? '' : `@${change.at}-${change.removed.join()}`}`,
}

/** What {@link historyFold} comes to, each change worked out from the surfaces before and after. */
export function naiveHistory(events: readonly SessionEvent[]): string {
  let history = ''
  let before: readonly Seq[] = []
  for (const { seq, type } of events) {
    const after = naiveSurface(events.slice(0, seq + 1))!.entries
    const removed = before.filter(entry => !after.includes(entry))
    history += ` ${seq}:${type}${after.includes(seq) ? `@${after.indexOf(seq)}-${removed.join()}` : ''}`
    before = after
  }
  return history
}
