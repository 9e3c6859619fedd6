/**
 * Units: what an engine takes away or keeps as a whole, in the shapes that conversations really have.
 */
import { callsOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { completeInterruptedTurn, isSurfaceEvent, lastTurn, Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, converse, expectSound, harness, ROUTE, sized, surfaceOf, type Harness } from './harness.ts'

const never = new AbortController().signal
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

/** Every call of what is left is answered once, after it. */
function expectWhole({ session }: Harness): void {
  const open: string[] = []
  for (const seq of session.surface.entries) {
    const event = session.log.at(seq)
    if (event.type === 'assistant/message') open.push(...callsOf(event.data.content).map(({ id }) => id))
    if (event.type === 'tool/result') open.splice(open.lastIndexOf(event.data.callId), 1)
  }
  expect(open).toEqual([])
  expectSound(session)
}

/** One step whose answer calls these ids and is answered in the order of `answered`, each with so many tokens. */
function step(session: Session, n: number, ids: readonly string[], answered: readonly string[], tokens: number): void {
  const at = { turn: lastTurn(session), step: n }
  session.append('step/start', at)
  const calls = ids.map((id): ContentBlock => ({ type: 'tool-call', id, name: 'look', arguments: '{}' }))
  session.append('assistant/message', { ...at, content: calls, ...ROUTE, finish: 'tool-calls' }, { surfaceOp: 'append' })
  for (const callId of ids) session.append('tool/call', { ...at, callId })
  for (const callId of answered) session.append('tool/result', { ...at, callId, content: [{ type: 'text', text: sized(`r${callId}`, tokens) }] }, { surfaceOp: 'append' })
  session.append('step/end', at)
}

describe('a step of thirty parallel calls, answered out of order', () => {
  const ids = [...ALPHABET, ...'abcd']
  const call = `c${ids.join('')}20`
  const results = ids.toReversed().map(id => `r${id}100`).join(' ')

  it('stays as a whole where the budget ends among its results', async () => {
    const all = await harness()
    converse(all.session, `u4000 a1000 ${call} ${results}`)
    expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
    expect(surfaceOf(all.session)).toBe(`S ${call} ${results}`)
    expectWhole(all)
  })

  it('goes as a whole where it is older', async () => {
    const all = await harness()
    converse(all.session, `u3000 ${call} ${results} a1000 u500 a500`)
    expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
    expect(surfaceOf(all.session)).toBe('S a1000 u500 a500')
    expectWhole(all)
  })
})

describe.each([
  ['the same ids in every step', ['x', 'y'], ['y', 'x']],
  ['one id several times in one message', ['x', 'x', 'x'], ['x', 'x', 'x']],
  ['an empty id', ['', 'x'], ['x', '']],
  ['empty ids only', ['', ''], ['', '']],
])('%s', (_title, ids, answered) => {
  it('belong to their own step, wherever the cut falls', async () => {
    for (const retainTokens of [50, 1_000, 2_000, 3_500]) {
      const all = await harness({ config: { retainTokens } })
      converse(all.session, 'u2000 a2000')
      for (let n = 2; n <= 5; n++) step(all.session, n, ids, answered, Math.floor(1_200 / answered.length))
      expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
      const kept = all.session.surface.entries.slice(1).map(seq => all.session.log.at(seq)).filter(isSurfaceEvent)
      expect(kept[0]!.type).toBe('assistant/message')
      expect(kept.length % (1 + ids.length)).toBe(0)
      expectWhole(all)
    }
  })
})

it('an answer of reasoning only is a unit like any other', async () => {
  const all = await harness()
  converse(all.session, 'u4000 a2000')
  const at = { turn: 1, step: 2 }
  all.session.append('step/start', at)
  all.session.append('assistant/message', { ...at, content: [{ type: 'reasoning', text: sized('thought', 2_000) }], ...ROUTE, finish: 'stop' }, { surfaceOp: 'append' })
  all.session.append('step/end', at)
  converse(all.session, 'u100 a1600')
  expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
  expect(surfaceOf(all.session)).toBe('S a1600')
  expectWhole(all)
})

describe('a step that was interrupted', () => {
  async function interrupted(): Promise<Harness> {
    const first = await harness()
    converse(first.session, 'u5000 a1500 cabc10 rb300')
    const events: SessionEvent[] = JSON.parse(JSON.stringify([...first.session.log.from(0)]))
    const all = await harness({ seed: events })
    completeInterruptedTurn(all.session)
    return all
  }

  it('is closed on reload, and goes or stays with all its results', async () => {
    for (const more of ['u1500 a100', 'u100 a1800']) {
      const all = await interrupted()
      converse(all.session, more)
      expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
      expect(bracketsOf(all.session)).toContain('checkpoint end')
      expectWhole(all)
    }
  })
})

it('a step that is open stays, whatever is older than it', async () => {
  const all = await harness()
  converse(all.session, 'u5000 a1500 cabc10 rb1800')
  expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
  expect(surfaceOf(all.session)).toBe('S cabc10 rb1800')
  converse(all.session, 'ra50 rc50')
  expectWhole(all)
})
