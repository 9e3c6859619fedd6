import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openingOf, passagesOf } from '../src/passages.ts'
import { recording } from './recording.ts'

const pictures = fc.array(fc.constantFrom('u', 'x', 'a', 'c', 'cc', 'c?', 'i', 'K'), { minLength: 1, maxLength: 12 }).map(words => words.join(' '))
const check = (law: (picture: string) => void): void => fc.assert(fc.property(pictures, law), { seed: 1, numRuns: 1_000 })

it('keeps every item, once, in order', () => {
  check(picture => {
    const { items } = recording(picture)
    const passages = passagesOf(items, { ignoreCompactions: false })
    const played = passages.flatMap(({ lead, answer }) => [...lead, ...(answer === null ? [] : [answer])])
    expect(played.map(({ item }) => item)).toEqual(items)
    expect(played.map(({ index }) => index)).toEqual(items.map((_, index) => index))
  })
})

it('ends with one passage without an answer', () => {
  check(picture => {
    const passages = passagesOf(recording(picture).items, { ignoreCompactions: false })
    expect(passages.map(({ answer }) => answer === null)).toEqual([...passages.slice(1).map(() => false), true])
  })
})

it('leaves out nothing but compactions when told to ignore them', () => {
  check(picture => {
    const { items } = recording(picture)
    const passages = passagesOf(items, { ignoreCompactions: true })
    const played = passages.flatMap(({ lead, answer }) => [...lead, ...(answer === null ? [] : [answer])])
    expect(played.map(({ index }) => index)).toEqual(items.flatMap((item, index) => (item.kind === 'compaction' ? [] : [index])))
  })
})

it('opens with all of a lead, in order, and wakes with the last input', () => {
  check(picture => {
    for (const { lead } of passagesOf(recording(picture).items, { ignoreCompactions: false })) {
      const { settled, waking, compactions } = openingOf(lead)
      expect([...settled, ...waking, ...compactions]).toEqual(lead)
      const hasInput = lead.some(({ item }) => item.kind === 'input')
      expect(waking.length > 0).toBe(hasInput)
      expect(settled.at(-1)?.item.kind ?? 'compaction').toBe('compaction')
    }
  })
})
