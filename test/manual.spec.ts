/** A person asks for a compaction: what is held still, what is written in which order, and what they are told. */
import type { ScriptedReply } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { story } from '../packages/core/agent-loop/test/harness.ts'
import { bracketsOf, checkpoints, eventsOf, expectSound, gate, house, play, rejection, ROUTE, say, SUMMARY, surfaceOf, text, turnEnds, typesOf, until, type House, type HouseInit } from './house.ts'

const PICTURE = 'u3000 a900 u500 a400'
const never = () => new AbortController().signal
const compactNow = ({ ctx, agent }: House, signal = never()) => ctx.get('compaction')!.compactNow(agent, signal)
/** `/compact` as a person types it. */
const compact = async ({ ctx, agent }: House, args = '', signal?: AbortSignal): Promise<string> => {
  const outcome = await ctx.get('commands')!.execute(`/compact${args}`, agent, signal)
  return 'text' in outcome ? outcome.text! : outcome.error!
}

/** A conversation that rests, and a summary that waits. */
async function waiting(init: HouseInit = {}): Promise<House & { readonly asked: Promise<void>; finish(reply?: ScriptedReply): void }> {
  const asked = gate()
  const written = gate<ScriptedReply>()
  const all = await house({ ...init, summary: () => (asked.open(), written.passed) })
  await play(all, PICTURE)
  return { ...all, asked: asked.passed, finish: (reply = SUMMARY) => written.open(reply) }
}

describe('order', () => {
  it('start, summary, checkpoint, end; nothing between the last three, no turn around them, and a flush behind them', async () => {
    const all = await house()
    await play(all, PICTURE)
    const flushed: number[] = []
    all.ctx.on('session/flush', session => void flushed.push(session.log.length))
    const before = all.session.log.length
    const result = await compactNow(all)
    expect(typesOf(all.session, before)).toEqual(['compaction/start', 'compaction/summary', 'user/message', 'compaction/end'])
    expect(result).toMatchObject({ startSeq: before, summarySeq: before + 1, replacementSeq: before + 2, endSeq: before + 3, converged: true })
    for (const { data } of [...eventsOf(all.session, 'compaction/start'), ...eventsOf(all.session, 'compaction/end')]) expect(data.turn).toBeNull()
    expect(flushed.at(-1)).toBe(before + 4)
    expect(all.store.durable('s')).toHaveLength(before + 4)
    expectSound(all)
  })

  it('the agent is running from before the start until after the end, and idle then', async () => {
    const all = await house()
    await play(all, PICTURE)
    const told: string[] = []
    all.ctx.on('agent/status', (_agent, status) => void told.push(status))
    all.ctx.on('session/event', (_session, { type }) => void (type.startsWith('compaction/') && told.push(type.slice(11))))
    await compactNow(all)
    expect(told).toEqual(['running', 'start', 'summary', 'end', 'idle'])
    expect(all.agent.status).toBe('idle')
    expectSound(all)
  })

  it('/compact is in the log with what came of it, around all that', async () => {
    const all = await house()
    await play(all, PICTURE)
    const before = all.session.log.length
    const said = await compact(all)
    expect(typesOf(all.session, before)).toEqual(['command/run', 'compaction/start', 'compaction/summary', 'user/message', 'compaction/end', 'command/done'])
    expect(eventsOf(all.session, 'command/done')[0]!.data).toMatchObject({ text: said })
    expectSound(all)
  })

  it('a region goes the same way on an agent that rests, with its own trigger', async () => {
    const all = await house()
    await play(all, `${PICTURE} u1000 a500`)
    const { entries } = all.session.surface
    await all.ctx.get('compaction')!.compactRegion(entries[0]!, entries[3]!, all.agent)
    expect(bracketsOf(all.session)).toBe('start(region) summary(replay) checkpoint end')
    expect(surfaceOf(all.session)).toBe('S u1000 a500')
    expectSound(all)
  })
})

describe('a region of a turn that runs', () => {
  it('goes through between two steps, owned by the turn, which goes on', async () => {
    const all = await house()
    await play(all, PICTURE)
    const { ctx, session } = all
    const off = ctx.on('agent/pre-step', async (event, next) => {
      const { entries } = session.surface
      if (event.step === 2) await ctx.get('compaction')!.compactRegion(entries[0]!, entries[2]!, event.agent, event.signal)
      return next()
    })
    await play(all, 'u100 ca10 ra300 a10')
    off()
    expect(eventsOf(session, 'compaction/start').map(({ data }) => data)).toEqual([{ turn: 3, trigger: 'region' }])
    expect(surfaceOf(session)).toBe('S a400 u100 ca10 ra300 a10')
    expect(turnEnds(session).at(-1)).toBe('completed')
    expectSound(all)
  })

  it.each<[string, (entries: readonly number[]) => readonly [number, number], RegExp]>([
    ['one that parts a call from its result', entries => [entries[0]!, entries[5]!], /part a call from its result/],
    ['one that ends before it starts', entries => [entries[2]!, entries[0]!], /behind its end/],
    ['one that is not there', () => [0, 1], /no current entry/],
  ])('is refused before anything is written: %s', async (_title, edges, message) => {
    const all = await house()
    await play(all, `${PICTURE} u100 ca10 ra300 a10`)
    const before = all.session.log.length
    const error = await rejection(all.ctx.get('compaction')!.compactRegion(...edges(all.session.surface.entries), all.agent))
    expect(error).toMatchObject({ name: 'Error', message: expect.stringMatching(message) })
    expect([all.session.log.length, all.agent.status, all.summaryRequests().length]).toEqual([before, 'idle', 0])
    expectSound(all)
  })
})

describe('input meanwhile', () => {
  it('waits, whatever its kind, and arrives once, in order, behind the checkpoint', async () => {
    const all = await waiting()
    const said = compact(all)
    await all.asked
    all.agent.inject('I1', { kind: 'context' })
    for (const words of ['U1', 'U2', 'U3']) all.agent.send(words)
    all.agent.steer('S1')
    const before = all.session.log.length
    expect(eventsOf(all.session, 'turn/start')).toHaveLength(2)
    all.finish()
    expect(await said).toMatch(/^Compacted 3 entries/)
    await all.agent.whenIdle()
    expect(surfaceOf(all.session)).toBe('S a400 I1 U1 S1 Done. U2 Done. U3 Done.')
    expect(story(all.session, before).match(/turn\d/g)!.filter((_, index) => index % 2 === 0)).toEqual(['turn3', 'turn4', 'turn5'])
    const entered = eventsOf(all.session, 'user/message').flatMap(({ data }) => data.source.inputId ?? [])
    expect(new Set(entered).size).toBe(entered.length)
    expectSound(all)
  })

  it.each<[string, (all: Awaited<ReturnType<typeof waiting>>, caller: AbortController) => void]>([
    ['fails', ({ finish }) => finish('')],
    ['is cancelled', ({ agent }) => agent.cancel('Escape')],
    ['is given up', (_all, caller) => caller.abort(new Error('enough'))],
  ])('is not lost when the compaction %s: the turn it opens has everything', async (_title, end) => {
    const all = await waiting()
    const caller = new AbortController()
    const said = compact(all, '', caller.signal)
    await all.asked
    all.agent.send('U1')
    end(all, caller)
    await said
    await until(() => turnEnds(all.session).length === 3)
    await all.agent.whenIdle()
    expect(surfaceOf(all.session)).toBe(`${PICTURE} U1 Done.`)
    expectSound(all)
  })

  it('injected while it rests is kept for the next turn, and wakes nobody', async () => {
    const all = await house()
    await play(all, PICTURE)
    all.agent.inject('before', { kind: 'context' })
    await compactNow(all)
    all.agent.inject('after', { kind: 'context' })
    await all.agent.whenIdle()
    expect(surfaceOf(all.session)).toBe('S a400')
    await say(all, 'now')
    expect(surfaceOf(all.session)).toBe('S a400 before after now Done.')
    expectSound(all)
  })

  it('that somebody takes back does not come', async () => {
    const all = await waiting()
    const compaction = compactNow(all)
    await all.asked
    const inputId = all.agent.send('U1')
    expect(all.agent.withdraw(inputId)).toBe(true)
    all.finish()
    await compaction
    await all.agent.whenIdle()
    expect(surfaceOf(all.session)).toBe('S a400')
    expectSound(all)
  })
})

describe('a start without an end', () => {
  /** The log of a conversation whose compaction was begun and never ended. */
  async function begun() {
    const all = await house()
    await play(all, PICTURE)
    all.session.append('compaction/start', { turn: null, trigger: 'manual' })
    return all
  }

  it('that lives refuses every entry point before anything is written, and by itself nothing is compacted', async () => {
    const all = await begun()
    const compaction = all.ctx.get('compaction')!
    const { entries } = all.session.surface
    const before = all.session.log.length
    const busy = { code: 'busy', reason: 'compaction' }
    expect(await rejection(compactNow(all))).toMatchObject(busy)
    expect(await rejection(compaction.compactRegion(entries[0]!, entries[1]!, all.agent))).toMatchObject(busy)
    expect(await rejection(compaction.compactIfNeeded(all.agent, 'pressure', never()))).toMatchObject(busy)
    expect(await rejection(compaction.compactIfNeeded(all.agent, 'context-overflow', never()))).toMatchObject(busy)
    expect(all.session.log.length).toBe(before)
    expect(all.summaryRequests()).toEqual([])
    expect(await compact(all)).toMatch(/^Another compaction of this conversation is running/)
    expect(all.session.surface.replaceGeneration).toBe(0)
  })

  it('that died with its process is no lock: resumed, forked, compacted', async () => {
    const dead = await begun()
    const all = await house({ left: [...dead.session.log.from(0)] })
    const fork = await all.ctx.get('sessions')!.fork(all.session)
    expect(await compactNow(all)).not.toBeNull()
    const agent = all.ctx.get('agents')!.create(fork, { ...ROUTE, maxTokens: 1_000 })
    expect(await all.ctx.get('compaction')!.compactNow(agent, never())).not.toBeNull()
    expect(checkpoints(fork)).toHaveLength(1)
    expectSound(all)
    expectSound({ ...all, session: fork })
  })
})

describe('what a person is told', () => {
  it.each<[string, string, (init: HouseInit) => Promise<string>]>([
    ['done', 'Compacted 3 entries: about 4,400 → 1,', async init => compact(await played(init))],
    ['nothing to do', 'Nothing to compact yet.', async init => compact(await house(init))],
    ['an argument', 'Usage: /compact (it takes no argument)', async init => compact(await played(init), ' hard')],
    ['busy: the agent', 'The agent is working. Compact once it is idle.', async init => {
      const all = await played(init)
      const answered = gate<string>()
      all.replies.push(() => answered.passed)
      all.agent.send('wait')
      await until(() => all.requests().length === 3)
      const said = await compact(all)
      answered.open('Done.')
      return said
    }],
    ['busy: another compaction', 'Another compaction of this conversation is running. Wait until it has ended.', async init => {
      const all = await waiting(init)
      void compactNow(all)
      await all.asked
      const said = await compact(all)
      all.finish()
      await all.agent.whenIdle()
      return said
    }],
    ['cancelled', 'The compaction was cancelled. The conversation is as it was.', async init => {
      const all = await waiting(init)
      const said = compact(all)
      await all.asked
      all.agent.cancel('Escape')
      return said
    }],
    ['changed', 'The conversation changed while its summary was written, so nothing was compacted. Try again.', async init => {
      const all = await waiting(init)
      const said = compact(all)
      await all.asked
      const [seq] = all.session.surface.entries
      all.session.append('user/message', { content: [text('edited')], source: { kind: 'context' } }, { surfaceOp: { op: 'replace', start: seq!, end: seq! }, sourceEventSeqs: [seq!] })
      all.finish()
      return said
    }],
    ['summary', 'No summary that would help could be made (', async init => compact(await played({ ...init, summary: { failure: { code: 'AUTH', message: 'down' } } }))],
    ['commit', 'The compaction could not be written to the log (', async init => {
      const all = await played(init)
      all.store.refuses = ({ type }) => type === 'compaction/end'
      const said = await compact(all)
      all.store.refuses = () => false
      return said
    }],
    ['persistence', 'The conversation was compacted, but that is not safely on disk yet (', async init => {
      const all = await played(init)
      all.store.failsFlush = true
      const said = await compact(all)
      all.store.failsFlush = false
      return said
    }],
  ])('%s: %s', async (_title, words, story) => {
    const said = await story({})
    expect(said.startsWith(words), said).toBe(true)
  })

  async function played(init: HouseInit): Promise<House> {
    const all = await house(init)
    await play(all, PICTURE)
    return all
  }
})

describe('a store that fails', () => {
  it('at the end of the bracket: commit, the checkpoint stands, the lock stays until the session is opened anew', async () => {
    const all = await house()
    await play(all, PICTURE)
    all.store.refuses = ({ type }) => type === 'compaction/end'
    expect(await rejection(compactNow(all))).toMatchObject({ code: 'commit' })
    all.store.refuses = () => false
    expect(surfaceOf(all.session)).toBe('S a400')
    expect(await rejection(compactNow(all))).toMatchObject({ code: 'busy', reason: 'compaction' })
    const again = await house({ left: [...all.session.log.from(0)] })
    await play(again, 'u3000 a500')
    expect(await compactNow(again)).not.toBeNull()
    expectSound(again)
  })

  it('at the flush behind it: persistence, the bracket is whole, and a later flush stores it', async () => {
    const all = await house()
    await play(all, PICTURE)
    all.store.failsFlush = true
    expect(await rejection(compactNow(all))).toMatchObject({ code: 'persistence', cause: expect.objectContaining({ message: 'the disk is gone' }) })
    all.store.failsFlush = false
    expect(bracketsOf(all.session)).toBe('start(manual) summary(replay) checkpoint end')
    expect(all.store.durable('s')).not.toContain('compaction/end')
    await say(all, 'go on')
    expect(all.store.durable('s')).toContain('compaction/end')
    expectSound(all)
  })

  it('at the start: nothing is written, and nothing is asked', async () => {
    const all = await house()
    await play(all, PICTURE)
    all.store.refuses = ({ type }) => type === 'compaction/start'
    const before = all.session.log.length
    expect(await rejection(compactNow(all))).toBeInstanceOf(Error)
    expect([all.session.log.length, all.summaryRequests().length]).toEqual([before, 0])
    all.store.refuses = () => false
    expect(await compactNow(all)).not.toBeNull()
    expectSound(all)
  })
})

it('maintenance of another kind and compactions wait for nobody: the second is refused at once', async () => {
  const all = await house()
  await play(all, PICTURE)
  const held = gate()
  const task = all.agent.runMaintenance(() => held.passed)
  expect(await rejection(compactNow(all))).toMatchObject({ code: 'busy', reason: 'agent' })
  held.open()
  await task
  expect(await compactNow(all)).not.toBeNull()
  expectSound(all)
})
