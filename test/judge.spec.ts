/** The judge of `npm run bench -- correctness`, judged. */
import { describe, expect, it } from 'vitest'
import { drawing, KINDS, stretch } from '../bench/histories.ts'
import { givesOnce, isPaired } from '../bench/judge.ts'
import type { Entry } from '../bench/workload.ts'

/** `u cab ra rb u`: a message, an answer that calls a and b, their results, a message; `c` alone is an answer without calls. */
function picture(text: string): Entry[] {
  return text.split(' ').map((word): Entry => {
    const names = word.slice(1)
    if (word[0] === 'u') return { role: 'user', text: '' }
    if (word[0] === 'r') return { role: 'tool', callId: names, name: 'noop', text: names }
    return { role: 'assistant', text: '', calls: [...names].map(id => ({ id, name: 'noop', arguments: '{}' })) }
  })
}

describe('pairs', () => {
  it.each(['u c', 'u ca ra c', 'u cab ra rb c', 'u cab rb ra c', 'u ca ra ca ra c', 'u caa ra ra c'])('hold in %s', text => {
    expect(isPaired(picture(text))).toBe(true)
  })

  it.each(['u ra c', 'u ca c', 'u cab ra u', 'u ca u ra', 'u ca ra ra', 'u cab ra ca rb ra', 'u ca'])('are torn in %s', text => {
    expect(isPaired(picture(text))).toBe(false)
  })
})

it('a result that stands twice was given to another call too', () => {
  const said = new Map([['a', 1], ['b', 2]])
  expect(givesOnce(picture('ca ra cb rb cb rb'), said)).toBe(true)
  expect(givesOnce(picture('ca ra cb rb ca ra'), said)).toBe(false)
})

it.each(KINDS)('conversations of a kind hold what the kind is named after: %s', kind => {
  const all = Array.from({ length: 20 }, (_, seed) => stretch(kind, `s${seed}`, 40_000, drawing(seed)))
  expect(all.every(isPaired)).toBe(kind !== 'interrupted')
  const calls = all.flat().map(entry => (entry.role === 'assistant' ? entry.calls : []))
  expect(calls.some(({ length }) => length > 1)).toBe(!['plain', 'talk', 'repeated ids'].includes(kind))
  const ids = all[0]!.flatMap(entry => (entry.role === 'assistant' ? entry.calls.map(({ id }) => id) : []))
  expect(new Set(ids).size < ids.length).toBe(kind === 'repeated ids')
})
