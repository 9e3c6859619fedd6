/**
 * The failure table, while a summary is written: the conversation changes, or somebody gives up.
 */
import { Cancelled } from '@deepseek-ai/dsh-agent'
import type { ScriptedReply } from '@deepseek-ai/dsh-llm'
import type { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { BasicCompactionEngine, type Summary } from '../src/index.ts'
import { bracketsOf, COMPACTED, conversation, endOf, expectSameSurface, expectSound, gate, never, preStep, rejection, remember, SUMMARY, surfaceOf, underPressure, until, type Harness, type HarnessInit } from './harness.ts'

describe('the conversation changed meanwhile: start and failed end, same surface', () => {
  /** Says its summary after `change` was done to the session. */
  async function changing(change: (session: Session) => void, init: HarnessInit = {}): Promise<Harness> {
    const all: Harness = await conversation({ ...init, summary: () => { change(all.session); return SUMMARY } })
    return all
  }
  const rewrite = (seqAt: number) => (session: Session) => {
    const seq = session.surface.entries[seqAt]!
    session.append('user/message', { content: [{ type: 'text', text: 'rewritten' }], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] })
  }
  const append = (session: Session) => void session.append('user/message', { content: [{ type: 'text', text: 'x' }], source: { kind: 'context' } }, { surfaceOp: 'append' })

  it.each<[string, (session: Session) => void]>([
    ['an entry of the span was rewritten', rewrite(0)],
    ['an entry behind the span was rewritten', rewrite(6)],
    ['an entry was added', append],
  ])('automatic, %s: warned, the run goes on', async (_title, change) => {
    const all = await changing(change)
    await underPressure(all)
    expect(bracketsOf(all.session).replace('checkpoint ', '')).toBe('start(pressure) end(changed)')
    expect(all.warnings()).toEqual([expect.stringContaining('the conversation changed while its summary was written')])
    expectReplays(all.session)
  })

  it('manual, an entry of the span was rewritten: changed', async () => {
    const all = await changing(rewrite(2))
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'changed' })
    expect(bracketsOf(all.session)).toBe('start(manual) checkpoint end(changed)')
  })

  it('manual, an entry before the span left, so that its places moved: changed', async () => {
    const all: Harness = await conversation({
      summary: () => {
        const { session } = all
        const [a, b] = session.surface.entries
        session.append('user/message', { content: [{ type: 'text', text: 'merged' }], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: a!, end: b! }, sourceEventSeqs: [a!, b!] })
        return SUMMARY
      },
    })
    const { entries } = all.session.surface
    expect(await rejection(all.engine.compactRegion(entries[2]!, entries[5]!, all.agent))).toMatchObject({ code: 'changed' })
  })

  it.each<[string, (session: Session) => void]>([
    ['an entry behind the span was rewritten', rewrite(7)],
    ['an entry was added', append],
  ])('manual, %s: what was selected is still there, so it is committed', async (_title, change) => {
    const all = await changing(change)
    expect(await all.engine.compactNow(all.agent, never)).not.toBe(null)
    expect(bracketsOf(all.session)).toMatch(/summary\(replay\) checkpoint end$/)
    expectReplays(all.session)
  })

  it('what lands in the log alone is no change', async () => {
    const all: Harness = await conversation({ summary: () => { all.agent.inject('later'); return SUMMARY } })
    await underPressure(all)
    expect(surfaceOf(all.session)).toBe(COMPACTED)
    expectSound(all.session)
  })
})

describe('aborted before the commit: start and failed end, same surface', () => {
  async function waiting(init: HarnessInit = {}) {
    let asked = 0
    const all = await conversation({ ...init, summary: async () => { asked += 1; return new Promise<never>(() => {}) } })
    return { all, before: remember(all), asked: () => until(() => asked > 0) }
  }

  it('under pressure: quietly, the request aborted as well', async () => {
    const { all, before, asked } = await waiting()
    const controller = new AbortController()
    const step = preStep(all, controller.signal)
    await asked()
    controller.abort(new Cancelled('escape'))
    expect(await step).toBe(true)
    expect(all.summaryRequests()[0]!.signal!.aborted).toBe(true)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(aborted)')
    expectSameSurface(all, before)
    expect(all.warnings()).toEqual([])
    expectSound(all.session)
  })

  it('by the caller: the exact reason, whatever it is', async () => {
    for (const reason of [new Error('enough'), 'a string', { an: 'object' }]) {
      for (const start of [
        ({ engine, agent }: Harness, signal: AbortSignal) => engine.compactNow(agent, signal),
        ({ engine, agent }: Harness, signal: AbortSignal) => engine.compactIfNeeded(agent, 'pressure', signal),
        ({ engine, agent, session }: Harness, signal: AbortSignal) => engine.compactRegion(session.surface.entries[0]!, session.surface.entries[1]!, agent, signal),
      ]) {
        const { all, before, asked } = await waiting()
        const controller = new AbortController()
        const running = start(all, controller.signal)
        await asked()
        controller.abort(reason)
        expect(await rejection(running)).toBe(reason)
        expect(bracketsOf(all.session)).toMatch(/^start\(\w+\) end\(aborted\)$/)
        expectSameSurface(all, before)
      }
    }
  })

  it('by the agent’s own cancel, when somebody asked for it: cancelled', async () => {
    const { all, before, asked } = await waiting()
    const running = all.engine.compactNow(all.agent, never)
    await asked()
    all.agent.cancel('escape')
    expect(await rejection(running)).toMatchObject({ name: 'ManualCompactionError', code: 'cancelled' })
    expect(bracketsOf(all.session)).toBe('start(manual) end(aborted)')
    expectSameSurface(all, before)
    await all.agent.whenIdle()
    expectSound(all.session)
  })

  it('after the summary was said and before it was committed: it is not committed', async () => {
    const controller = new AbortController()
    class Late extends BasicCompactionEngine {
      protected override async summarize(): Promise<Summary> {
        queueMicrotask(() => controller.abort('too late'))
        return { summary: [{ type: 'text', text: SUMMARY }] }
      }
    }
    const all = await conversation({ engine: Late })
    const before = remember(all)
    expect(await rejection(all.engine.compactNow(all.agent, controller.signal))).toBe('too late')
    expect(bracketsOf(all.session)).toBe('start(manual) end(aborted)')
    expectSameSurface(all, before)
  })

  it('a summarizer that does not listen is not waited for, and what it says later changes nothing', async () => {
    const late = gate<Summary>()
    class Deaf extends BasicCompactionEngine {
      protected override summarize(): Promise<Summary> {
        return late.passed
      }
    }
    const all = await conversation({ engine: Deaf })
    const controller = new AbortController()
    const running = all.engine.compactNow(all.agent, controller.signal)
    controller.abort('now')
    expect(await rejection(running)).toBe('now')
    late.open({ summary: [{ type: 'text', text: SUMMARY }] })
    await new Promise(resolve => setImmediate(resolve))
    expect(bracketsOf(all.session)).toBe('start(manual) end(aborted)')
    expectSound(all.session)
  })

  it('by the unloading of the engine, which waits until the bracket is closed', async () => {
    const { all, before, asked } = await waiting()
    const step = preStep(all)
    await asked()
    await all.unload()
    expect(bracketsOf(all.session)).toBe('start(pressure) end(aborted)')
    expect(endOf(all.session)).toMatchObject({ error: 'the compaction engine was unloaded' })
    expectSameSurface(all, before)
    expect(await step).toBe(true)
    expect(all.ctx.get('compaction')).toBeUndefined()
    await preStep(all) // and nobody listens any more
    expect(bracketsOf(all.session)).toBe('start(pressure) end(aborted)')
    expectSound(all.session)
  })

  it('by the unloading, of a session that is closed already: no end can be written, and none is', async () => {
    const { all, asked } = await waiting()
    const running = all.engine.compactNow(all.agent, never)
    await asked()
    all.session.close()
    await all.unload()
    await rejection(running)
    expect(bracketsOf(all.session)).toBe('start(manual)')
  })

  it('a later one works', async () => {
    const replies: ScriptedReply[] = [() => new Promise<never>(() => {}), SUMMARY]
    const all = await conversation({ summary: () => replies.shift()! })
    const controller = new AbortController()
    const running = all.engine.compactNow(all.agent, controller.signal)
    await until(() => replies.length === 1)
    controller.abort('no')
    await rejection(running)
    expect(await all.engine.compactNow(all.agent, never)).not.toBe(null)
    expect(bracketsOf(all.session)).toBe('start(manual) end(aborted) start(manual) summary(replay) checkpoint end')
    expectSound(all.session)
  })
})
