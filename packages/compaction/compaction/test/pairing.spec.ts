import fc from 'fast-check'
import { deepStrictEqual, throws } from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import type { Seq, Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { openCallsAt, toolPairingBalancedAfter, toolPairingBalancedBefore } from '../src/index.ts'
import { draw, newSession, picture, redraw } from './notation.ts'

const cutsOf = (session: Session) => Array.from({ length: session.surface.entries.length + 1 }, (_, cut) => cut)
const safeCutsOf = (session: Session) => cutsOf(session).filter(cut => openCallsAt(session, cut) === 0)

describe('safe cuts', () => {
  it.each([
    ['of an empty surface: the only one', '|'],
    ['messages are parted anywhere', '| u | a | u |'],
    ['a call stays with its result', '| u | ca ra | a |'],
    ['parallel calls stay with all their results', '| u | cab ra rb | a |'],
    ['results may come in any order', '| u | cab rb ra | a |'],
    ['steps of one turn are parted', '| u | ca ra | cb rb |'],
    ['an open call leaves no safe cut behind it', '| u | cab ra'],
    ['an id used again is a call of its own', '| ca ra | ca ra | u |'],
    ['the nearest open occurrence is answered, so the earlier one stays open', '| ca u ca ra u'],
    ['two results answer two calls of one id', '| ca ca ra ra | u |'],
    ['one message may call one id twice', '| caa ra ra | u |'],
    ['a late result closes what stood open', '| ca u ra | u |'],
  ])('%s', (_title, text) => {
    const { session, safeCuts } = picture(text)
    expect(safeCutsOf(session)).toEqual(safeCuts)
  })

  it('follow the surface, not the numbers: a rewritten result stays inside its step', () => {
    const { session } = picture('| u | cab ra rb | u |')
    expect(safeCutsOf(session)).toEqual([0, 1, 4, 5])
    const rewritten = redraw(session, 3, 3, 'rb')
    redraw(session, 2, 2, 'ra')
    expect(session.surface.entries[3]).toBe(rewritten)
    expect(safeCutsOf(session)).toEqual([0, 1, 4, 5])
    expectReplays(session)
  })
})

describe('toolPairingBalancedBefore and …After', () => {
  it('speak of the cut at either side of an entry', () => {
    const { session } = picture('| u | cab ra rb | u |')
    const { entries } = session.surface
    expect(entries.map(seq => toolPairingBalancedBefore(session, seq))).toEqual([true, true, false, false, true])
    expect(entries.map(seq => toolPairingBalancedAfter(session, seq))).toEqual([true, false, false, true, true])
  })

  it.each([
    ['unknown', 99],
    ['no number', Number.NaN],
    ['shadowed', 1],
    ['of an event that no model sees', 0],
  ])('refuse a seq that is %s, again on every call', (_title, seq) => {
    const session = newSession()
    session.append('turn/start', { turn: 1 })
    for (const word of ['u', 'a']) draw(session, word)
    redraw(session, 0, 0, 'u')
    for (const _ of [1, 2]) {
      expect(() => toolPairingBalancedBefore(session, seq)).toThrow('is no current entry of the surface of session drawn')
      expect(() => toolPairingBalancedAfter(session, seq)).toThrow('is no current entry of the surface of session drawn')
    }
  })

  it('refuse a surface with a result that answers nothing, again on every call, until it is gone', () => {
    const session = newSession()
    const orphan = draw(session, 'ra')
    const message = draw(session, 'u')
    for (const _ of [1, 2]) {
      expect(() => toolPairingBalancedBefore(session, message)).toThrow(`the tool result at seq ${orphan} of session drawn answers no call`)
      expect(() => toolPairingBalancedAfter(session, message)).toThrow(`the tool result at seq ${orphan} of session drawn answers no call`)
    }
    expect(openCallsAt(session, 1)).toBe(0) // the bare count has no opinion
    redraw(session, 0, 0, 'u')
    expect(toolPairingBalancedBefore(session, message)).toBe(true)
    expectReplays(session)
  })

  it('know an orphan that a replace has made', () => {
    const { session } = picture('| ca ra | u |')
    redraw(session, 0, 0, 'u')
    expect(() => toolPairingBalancedAfter(session, 2)).toThrow('the tool result at seq 1')
    expectReplays(session)
  })
})

// ── against the definition ───────────────────────────────────────────────────────────────────────────────────────────────

interface Paired {
  /** Calls that cross each cut 0..n. */
  readonly crossing: number[]
  readonly orphans: Seq[]
}

/** Marries every result to the nearest preceding call of its id that is still free, then counts what crosses each cut. */
function naivePairing(session: Session): Paired {
  const { entries } = session.surface
  const marriages: { id: string; call: number; result: number }[] = []
  const orphans: Seq[] = []
  entries.forEach((seq, position) => {
    const event = session.log.at(seq)
    if (event.type === 'assistant/message') {
      for (const block of event.data.content) if (block.type === 'tool-call') marriages.push({ id: block.id, call: position, result: Infinity })
    } else if (event.type === 'tool/result') {
      const free = marriages.filter(({ id, result }) => id === event.data.callId && result === Infinity)
      if (free.length === 0) orphans.push(seq)
      else free.at(-1)!.result = position
    }
  })
  const crossing = cutsOf(session).map(cut => marriages.filter(({ call, result }) => call < cut && result >= cut).length)
  return { crossing, orphans }
}

function expectPairing(session: Session): void {
  const { entries } = session.surface
  const { crossing, orphans } = naivePairing(session)
  deepStrictEqual(cutsOf(session).map(cut => openCallsAt(session, cut)), crossing)
  if (entries.length === 0) return
  if (orphans.length > 0) {
    throws(() => toolPairingBalancedBefore(session, entries[0]!), /answers no call/)
    throws(() => toolPairingBalancedAfter(session, entries[0]!), /answers no call/)
    return
  }
  deepStrictEqual(entries.map(seq => toolPairingBalancedBefore(session, seq)), crossing.slice(0, -1).map(calls => calls === 0))
  deepStrictEqual(entries.map(seq => toolPairingBalancedAfter(session, seq)), crossing.slice(1).map(calls => calls === 0))
}

it('agrees with its definition on every surface of up to five entries', () => {
  let checked = 0
  for (let length = 1; length <= 5; length++) {
    for (const words of everyDrawing(['u', 'ca', 'caab', 'ra', 'rb'], length)) {
      const session = newSession()
      for (const word of words) draw(session, word)
      expectPairing(session)
      checked += 1
    }
  }
  expect(checked).toBeGreaterThan(3_900)
})

it('agrees with its definition after every replace of every surface of up to four entries', () => {
  let checked = 0
  for (let length = 1; length <= 4; length++) {
    for (const words of everyDrawing(['u', 'cab', 'ra', 'rb'], length)) {
      for (let from = 0; from < length; from++) {
        for (let to = from; to < length; to++) {
          for (const word of from === to && words[from]!.startsWith('r') ? ['u', 'ca', words[from]!] : ['u', 'ca']) {
            const session = newSession()
            for (const drawn of words) draw(session, drawn)
            openCallsAt(session, 0)
            redraw(session, from, to, word)
            expectPairing(session)
            checked += 1
          }
        }
      }
    }
  }
  expect(checked).toBeGreaterThan(6_000)
})

it('agrees with its definition through random appends and replaces, wherever reads fall', () => {
  const word = fc.constantFrom('u', 'a', 'ca', 'cb', 'cab', 'caa', 'ra', 'rb', 'rc')
  const operation = fc.record({
    word,
    /** Two of three are appends; a replace reaches from one place to another. */
    replace: fc.integer({ min: 0, max: 2 }).map(roll => roll === 0),
    from: fc.nat({ max: 15 }),
    span: fc.constantFrom(0, 0, 0, 1, 2, 5),
    head: fc.integer({ min: 0, max: 3 }).map(roll => roll === 0),
    read: fc.boolean(),
  })
  let replaced = 0
  fc.assert(
    fc.property(fc.array(operation, { minLength: 8, maxLength: 24 }), operations => {
      const session = newSession()
      for (const { word, replace, from, span, head, read } of operations) {
        const { length } = session.surface.entries
        if (!replace || length === 0) draw(session, word)
        else {
          const first = head ? 0 : from % length
          const last = Math.min(length - 1, first + span)
          const old = session.log.at(session.surface.entries[first]!)
          // A result may only take the place of one result, and keeps its call.
          const isRewrite = first === last && old.type === 'tool/result'
          redraw(session, first, last, isRewrite ? `r${old.data.callId}` : word.startsWith('r') ? 'u' : word)
          replaced += 1
        }
        if (read) expectPairing(session)
      }
      expectPairing(session)
      expectReplays(session)
    }),
    { numRuns: 500, seed: 20_250_101 },
  )
  expect(replaced).toBeGreaterThan(2_000)
})

function* everyDrawing(alphabet: readonly string[], length: number): Generator<readonly string[]> {
  if (length === 0) yield []
  else for (const rest of everyDrawing(alphabet, length - 1)) for (const word of alphabet) yield [...rest, word]
}
