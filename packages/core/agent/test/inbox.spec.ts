import { hasSteering, isPending, nextInput, pendingInput, wakingInput } from '@deepseek-ai/dsh-agent'
import { Session, type InputKind } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import fc from 'fast-check'
import { expect, it } from 'vitest'

function session(parentSeq?: number) {
  return new Session({ header: { id: 's', createdAt: 0, ...(parentSeq === undefined ? {} : { parent: { id: 'p', seq: parentSeq } }) } })
}

function accept(on: Session, kind: InputKind, inputId: string) {
  on.append('inbox/spliced', { inserted: [{ inputId, kind, content: [], source: { kind: 'user' } }] })
}

const ids = (items: readonly { inputId: string }[]) => items.map(({ inputId }) => inputId).join(' ')

it('claims steering, injected context and, where a turn opens, one queued message, in the order they were accepted', () => {
  const s = session()
  for (const [kind, id] of [['send', 'a'], ['inject', 'b'], ['send', 'c'], ['steer', 'd']] as const) accept(s, kind, id)
  expect(ids(pendingInput(s))).toBe('a b c d')
  expect(ids(nextInput(s, true))).toBe('a b d')
  expect(ids(nextInput(s, false))).toBe('b d')
  expect(wakingInput(s)?.inputId).toBe('a')
})

it('is left by entering the surface, and by a withdrawal', () => {
  const s = session()
  accept(s, 'send', 'a')
  accept(s, 'steer', 'b')
  s.append('user/message', { content: [], source: { kind: 'user', inputId: 'a' } }, { surfaceOp: 'append' })
  expect([isPending(s, 'a'), isPending(s, 'b'), hasSteering(s)]).toEqual([false, true, true])
  s.append('inbox/spliced', { removed: ['b'] })
  expect(pendingInput(s)).toEqual([])
  expect(wakingInput(s)).toBeNull()
})

it('wakes for queued messages and steering, not for injected context', () => {
  const s = session()
  accept(s, 'inject', 'a')
  expect(wakingInput(s)).toBeNull()
  accept(s, 'steer', 'b')
  expect(wakingInput(s)?.inputId).toBe('b')
  accept(s, 'send', 'c')
  expect(wakingInput(s)?.inputId).toBe('c')
})

it('of a fork begins empty, whatever its parent still has', () => {
  const s = session(2)
  accept(s, 'send', 'a')
  accept(s, 'steer', 'b')
  accept(s, 'send', 'c')
  expect(ids(pendingInput(s))).toBe('c')
  expect(ids(nextInput(s, true))).toBe('c')
  expect([isPending(s, 'a'), hasSteering(s)]).toEqual([false, false])
})

it('equals its definition on random logs: accepted, and neither entered nor withdrawn', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('accept' as const), kind: fc.constantFrom('send' as const, 'steer' as const, 'inject' as const) }),
    fc.record({ do: fc.constantFrom('enter' as const, 'withdraw' as const), which: fc.nat(6) }),
  )
  let withdrawn = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 40 }), steps => {
      const s = session()
      const gone = new Set<string>()
      const accepted: string[] = []
      for (const what of steps) {
        if (what.do === 'accept') {
          const inputId = `i${accepted.length}`
          accepted.push(inputId)
          accept(s, what.kind, inputId)
        } else {
          const inputId = `i${what.which}` // often one that never was, or is gone already: nothing happens then
          if (accepted.includes(inputId)) gone.add(inputId)
          if (what.do === 'enter') s.append('user/message', { content: [], source: { kind: 'user', inputId } }, { surfaceOp: 'append' })
          else s.append('inbox/spliced', { removed: [inputId] })
        }
        const expected = accepted.filter(inputId => !gone.has(inputId))
        expect(ids(pendingInput(s))).toBe(expected.join(' '))
      }
      withdrawn += gone.size
      expectReplays(s)
    }),
    { seed: 7, numRuns: 300 },
  )
  expect(withdrawn).toBeGreaterThan(300)
})
