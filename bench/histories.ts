/** Conversations as they happen, drawn from a seed: steps that no textbook shows. */
import { TOOL, type Entry } from './workload.ts'

export const KINDS = ['plain', 'talk', 'parallel', 'out of order', 'interrupted', 'repeated ids'] as const
export type Kind = (typeof KINDS)[number]

/** Every number below `limit` alike often. */
export type Draw = (limit: number) => number

/** Mulberry32. */
export function drawing(seed: number): Draw {
  let state = seed >>> 0
  return limit => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

/**
 * A stretch of conversation of about so many characters, which ends with an answer of the assistant.
 *
 * talk: long answers and no tools · parallel: steps of up to four calls · out of order: the same, results in another order than the calls · interrupted: every
 * third turn was cut off before all its calls were answered, and the person went on · repeated ids: a provider that counts its
 * calls anew in each answer.
 */
export function stretch(kind: Kind, name: string, characters: number, draw: Draw): Entry[] {
  const entries: Entry[] = []
  let size = 0
  for (let turn = 1; size < characters; turn++) {
    const push = (entry: Entry): void => {
      entries.push(entry)
      size += entry.text.length
    }
    push({ role: 'user', text: `Request ${name}.${turn}: please see to part ${draw(1_000)} of ${name}.` })
    const steps = kind === 'talk' ? 0 : 1 + draw(8)
    for (let step = 1; step <= steps; step++) {
      const count = kind === 'plain' || kind === 'repeated ids' ? 1 : 1 + draw(4)
      const calls = Array.from({ length: count }, (_, index) => ({ id: kind === 'repeated ids' ? `call_${index}` : `${name}-${turn}-${step}-${index}`, name: TOOL, arguments: '{}' }))
      push({ role: 'assistant', text: draw(2) === 0 ? '' : `I look at ${step}.`, calls })
      const answered = kind === 'interrupted' && turn % 3 === 0 && step === steps ? calls.slice(0, draw(count)) : calls
      const order = kind === 'out of order' ? answered.toSorted(() => draw(3) - 1) : answered
      for (const { id } of order) push({ role: 'tool', callId: id, name: TOOL, text: `Line ${draw(1_000)} says so. `.repeat(40 + draw(400)) })
      if (answered.length < count) break
    }
    if (!(kind === 'interrupted' && turn % 3 === 0)) push({ role: 'assistant', text: kind === 'talk' ? `Of ${draw(1_000)} there is this to say. `.repeat(40 + draw(200)) : `Part ${turn} is done.`, calls: [] })
  }
  return entries
}
