import { expect, it } from 'vitest'
import { endSeedSeq, lastTurn, latestContext, latestHeader, openStep, openTurn, pendingCalls, Session } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { eventsOf, sessionOf, TIME } from './notation.ts'

it.each([
  ['nothing yet', '', 0, null, null, ''],
  ['a message outside any turn', 'u', 0, null, null, ''],
  ['a turn before its first step', 'T1 u', 1, 1, null, ''],
  ['a step', 'T1 u S1', 1, 1, '1.1', ''],
  ['calls wait for their results, in the model\'s order', 'T1 u S1 a(x,y,z) y! y=', 1, 1, '1.1', 'x z'],
  ['begun is not answered', 'T1 u S1 a(x) x!', 1, 1, '1.1', 'x'],
  ['a rewritten result answers nothing again', 'T1 u S1 a(x,y) x! x= x=[5..5]', 1, 1, '1.1', 'y'],
  ['nor does it answer another call of its id', 'T1 S1 a(x,x) x= x=[3..3]', 1, 1, '1.1', 'x'],
  ['a rewritten answer asks nothing again', 'T1 u S1 a(x) x= a(x)[3..3]', 1, 1, '1.1', ''],
  ['one result answers one of two calls of one id', 'T1 S1 a(x,x) x=', 1, 1, '1.1', 'x'],
  ['the next step', 'T1 u S1 a(x) x= s1 S2', 1, 1, '1.2', ''],
  ['between steps', 'T1 u S1 a s1', 1, 1, null, ''],
  ['after the turn', 'T1 u S1 a s1 t1', 1, null, null, ''],
  ['the next turn begins without a step', 'T1 S1 a s1 t1 T2', 2, 2, null, ''],
  ['a turn that ends takes its open step along', 'T1 S1 a(x) t1', 1, null, null, ''],
  ['a turn that begins leaves no step open', 'T1 S1 a(x) T2', 2, 2, null, ''],
  ['a seed does not end the turn', 'T1 S1 a(x) E', 1, 1, '1.1', 'x'],
])('%s', (_name, drawing, last, turn, step, waiting) => {
  const session = sessionOf(drawing)
  expect(lastTurn(session)).toBe(last)
  expect(openTurn(session)).toBe(turn)
  const open = openStep(session)
  expect(open === null ? null : `${open.turn}.${open.step}`).toBe(step)
  expect(pendingCalls(session).map(call => call.id).join(' ')).toBe(waiting)
  expectReplays(session)
})

it('the latest header, context and end of seed are those of the log', () => {
  const session = sessionOf('T1')
  expect([latestHeader(session), latestContext(session), endSeedSeq(session)]).toEqual([null, null, -1])
  const header = session.append('request/header', { config: { provider: 'p', model: 'm' }, reason: 'initial' })
  const context = session.append('request/context', { provider: 'p', model: 'm', contextWindow: 1_000 })
  expect([latestHeader(session), latestContext(session)]).toEqual([header, context])
  const changed = session.append('request/header', { config: { provider: 'p', model: 'n' }, reason: 'change' })
  expect(latestHeader(session)).toBe(changed)
  expect(endSeedSeq(new Session({ header: { id: 'next', createdAt: TIME }, seed: eventsOf('T1 t1 u') }))).toBe(3)
})
