/** Calls and their results stay together: D01–D03, and what was reported of PAIR and ROLE. */
import { openCallsAt } from '@deepseek-ai/dsh-compaction'
import { isSurfaceEvent, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, checkpoints, eventsOf, expectSound, gate, house, meter, play, rejection, say, sized, surfaceOf, text, turnEnds, until, type House } from './house.ts'

const RETAIN_TOKENS = 1_600

/** What is kept verbatim behind the checkpoint, without what came after the compaction. */
function keptTokens({ session }: House): number {
  const last = eventsOf(session, 'compaction/end').at(-1)!.seq
  const kept = session.surface.entries.filter((seq, position) => position > 0 && seq < last)
  return kept.reduce((sum, seq) => sum + meter.tokensAt(session, session.surface.positionOf(seq)!), 0)
}

describe('the tail begins where a unit begins, wherever its budget ends', () => {
  it.each([
    ['D01 inside the results of a step', 'u6000 cab10 ra900 rb900 cc10 rc100 a300', 'S cab10 ra900 rb900 cc10 rc100 a300'],
    ['PAIR-01 exactly between two results', 'u5700 cab10 ra900 rb1188 cc10 rc100 a300', 'S cab10 ra900 rb1188 cc10 rc100 a300'],
    ['PAIR-05 at a result, its call before it', 'u6050 ca10 ra1500 a300', 'S ca10 ra1500 a300'],
    ['PAIR-03 at the second of two runs of results', 'u5900 cab10 ra300 rb300 cc10 rc1000 a300', 'S cab10 ra300 rb300 cc10 rc1000 a300'],
    ['PAIR-09 exactly at a call, which is a cut', 'u6200 ca10 ra1288 a300', 'S ca10 ra1288 a300'],
    ['PAIR-13 in the seventh of thirteen results', 'u5700 cabcdefghijklm10 ra150 rb150 rc150 rd150 re150 rf150 rg150 rh150 ri150 rj150 rk150 rl150 rm150 a300', 'S cabcdefghijklm10 ra150 rb150 rc150 rd150 re150 rf150 rg150 rh150 ri150 rj150 rk150 rl150 rm150 a300'],
    ['a neighbour: at an answer without calls', 'u6000 ca10 ra500 a200 u100 a1600', 'S a1600'],
    ['a neighbour: ids that come again in every step', 'u5250 ca10 ra900 ca10 ra900 ca10 ra700 a100', 'S ca10 ra900 ca10 ra700 a100'],
  ])('%s', async (_title, picture, expected) => {
    const all = await house()
    await play(all, picture)
    expect(bracketsOf(all.session)).toBe('')
    await say(all, sized('next', 250))
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
    expect(surfaceOf(all.session)).toBe(`${expected} next Done.`)
    expect(keptTokens(all)).toBeGreaterThanOrEqual(RETAIN_TOKENS)
    expectSound(all)
  })

  it('PAIR-18 one turn of forty steps, for every retained budget', async () => {
    for (let retainTokens = 50; retainTokens <= 7_000; retainTokens += 700) {
      const all = await house({ compaction: { retainTokens } })
      await play(all, `u100 ${'cab10 ra90 rb90 '.repeat(50)}a10`)
      expect(eventsOf(all.session, 'compaction/summary').length, `${retainTokens}`).toBeGreaterThan(0)
      expectSound(all)
    }
  })
})

describe('D02 a process that was killed while calls ran', () => {
  /** The log of a process that died in the second turn, once `isTime`. */
  async function killed(isTime: (session: Session) => boolean): Promise<SessionEvent[]> {
    const all = await house()
    await play(all, 'u5500 a2000')
    all.replies.push({ content: [text(sized('cab', 10)), call('a'), call('b')] })
    const answers = [gate<string>(), gate<string>()]
    all.results.push(...answers.map(answer => answer.passed))
    all.agent.send(sized('u50', 50))
    await until(() => eventsOf(all.session, 'tool/call').length === 2)
    answers[0]!.open(sized('ra400', 400))
    await until(() => isTime(all.session))
    const log = [...all.session.log.from(0)]
    answers[1]!.open('too late')
    return log
  }
  const cutBefore = (log: SessionEvent[], type: string) => log.slice(0, log.findIndex(event => event.type === type))

  it.each<[string, (log: SessionEvent[]) => SessionEvent[], string]>([
    ['with one result', log => log, 'TOOL_OUTCOME_UNKNOWN'],
    ['with none', log => cutBefore(log, 'tool/result'), 'TOOL_OUTCOME_UNKNOWN'],
    ['before any began', log => cutBefore(log, 'tool/call'), 'TOOL_NOT_STARTED'],
  ])('%s: reloaded and compacted, no request has an open call', async (_title, cut, code) => {
    const log = await killed(session => eventsOf(session, 'tool/result').length === 1)
    const all = await house({ left: cut(log) })
    const openStep = eventsOf(all.session, 'assistant/message').at(-1)!.seq
    await say(all, sized('u900', 900))
    const [summary] = eventsOf(all.session, 'compaction/summary')
    expect(summary!.data.shadowedSeqs).not.toContain(openStep)
    expect(surfaceOf(all.session)).toMatch(/^S a2000 u50 cab .* u900 Done\.$/)
    expect(eventsOf(all.session, 'tool/result').at(-1)!.data).toMatchObject({ callId: 'b', isError: true, error: { code } })
    expect(turnEnds(all.session)).toEqual(['completed', 'interrupted', 'completed'])
    expectSound(all)
  })

  it('PAIR-10 and compacted on demand before anything else is said', async () => {
    const all = await house({ left: await killed(session => eventsOf(session, 'tool/result').length === 1) })
    await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
    expect(surfaceOf(all.session)).toBe('S cab ra400 The')
    await say(all, 'and now?')
    expectSound(all)
  })
})

/** The log of a loop that writes results as they come: here the second call's first. */
function asCompleted({ session }: House): SessionEvent[] {
  const [a, b] = eventsOf(session, 'tool/result')
  return [...session.log.from(0)].map(event => (event.seq === a!.seq ? { ...a!, data: b!.data } : event.seq === b!.seq ? { ...b!, data: a!.data } : event))
}

describe('D03 PAIR-14 results out of order, one rewritten in place', () => {
  it.each([
    ['the budget ends at the rewritten one', 'u6000 cab10 ra900 rb900 a150', 'S cab10 rb900 ra600 a150 u350 Done.'],
    ['the budget ends at the other', 'u5700 cab10 ra900 rb1200 a150', 'S cab10 rb1200 ra600 a150 u350 Done.'],
    ['the budget ends behind them', 'u5500 cab10 ra900 rb100 a1600', 'S a1600 u350 Done.'],
  ])('%s', async (_title, picture, expected) => {
    const before = await house()
    await play(before, picture)
    const all = await house({ left: asCompleted(before) })
    const { session } = all
    const { seq, data } = eventsOf(session, 'tool/result').at(-1)!
    expect(data.callId).toBe('a')
    session.append('tool/result', { ...data, content: [text(sized('ra600', 600))] }, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] })
    expect(session.surface.entries.map((_, cut) => openCallsAt(session, cut))).toEqual([0, 0, 2, 1, 0])
    await say(all, sized('u350', 350))
    expect(surfaceOf(session)).toBe(expected)
    expectSound(all)
  })
})

describe('a step that is still open', () => {
  it('PAIR-12 is left alone while its calls run: pressure declines, and a person is told that the agent works', async () => {
    const all = await house()
    await play(all, 'u3000 a100')
    const first = gate<string>()
    all.replies.push({ content: [text(sized('cab', 10)), call('a'), call('b')] })
    all.results.push(sized('ra6000', 6_000), first.passed)
    all.agent.send('go')
    await until(() => eventsOf(all.session, 'tool/result').length === 1)
    const compaction = all.ctx.get('compaction')!
    const signal = new AbortController().signal
    await compaction.compactIfNeeded(all.agent, 'pressure', signal).catch(() => null)
    expect(eventsOf(all.session, 'compaction/summary').flatMap(({ data }) => data.shadowedSeqs)).not.toContain(eventsOf(all.session, 'assistant/message').at(-1)!.seq)
    expect(await rejection(compaction.compactNow(all.agent, signal))).toMatchObject({ code: 'busy', reason: 'agent' })
    first.open('rb')
    await all.agent.whenIdle()
    expectSound(all)
  })

  it('PAIR-08 is no place for a region’s edge: a plain Error, and nothing is written', async () => {
    const all = await house()
    await play(all, 'u3000 a100')
    const errors: unknown[] = []
    all.replies.push({ content: [call('x')] })
    const { entries } = all.session.surface
    all.results.push((async () => {
      await until(() => eventsOf(all.session, 'tool/call').length === 1)
      errors.push(await rejection(all.ctx.get('compaction')!.compactRegion(entries[0]!, entries.at(-1)!, all.agent)))
      return 'rx'
    })())
    await say(all, 'go')
    expect(errors).toEqual([expect.objectContaining({ name: 'Error', message: expect.stringMatching(/open/) })])
    expect(bracketsOf(all.session)).toBe('')
    expectSound(all)
  })

  it('PAIR-02 cut off in the middle of a call’s arguments leaves text and no call, before and after a compaction', async () => {
    const all = await house()
    const off = all.ctx.on('agent/delta', (agent, chunk) => {
      if (chunk.type === 'tool-call-delta') agent.cancel('Escape')
    })
    all.replies.push({ content: [text('I look.'), call('x', 'look', '{"path":"somewhere deep"}')] })
    await say(all, sized('u5000', 5_000))
    off()
    expect(eventsOf(all.session, 'assistant/message').at(-1)!.data).toMatchObject({ interrupted: true, content: [{ type: 'text' }] })
    await play(all, 'u1000 a900 u900 a500')
    await say(all, sized('more', 300))
    expect(eventsOf(all.session, 'compaction/summary')).toHaveLength(1)
    expectSound(all)
  })

  it('PAIR-02 cancelled while its call runs: the ABORTED result moves with its call', async () => {
    const all = await house()
    all.replies.push({ content: [text(sized('ca10', 10)), call('a')] })
    all.results.push(new Promise<never>(() => undefined))
    all.agent.send(sized('u5000', 5_000))
    await until(() => eventsOf(all.session, 'tool/call').length === 1)
    all.agent.cancel('Escape')
    await all.agent.whenIdle()
    expect(eventsOf(all.session, 'tool/result').at(-1)!.data.error).toMatchObject({ code: 'ABORTED' })
    await play(all, 'u1000 a1000 u500 a900')
    await say(all, sized('more', 300))
    const { shadowedSeqs } = eventsOf(all.session, 'compaction/summary')[0]!.data
    expect(shadowedSeqs.map(seq => all.session.log.at(seq).type)).toEqual(['user/message', 'assistant/message', 'tool/result', 'user/message'])
    expectSound(all)
  })
})

describe('a checkpoint', () => {
  it('PAIR-11 made while the newest entry is a result holds text alone', async () => {
    const all = await house()
    await play(all, 'u5000 ca10 ra1900 cb10 rb1200 a10')
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
    for (const { data } of eventsOf(all.session, 'user/message').filter(event => event.surfaceOp !== 'append')) {
      expect(data.content.map(block => block.type)).toEqual(['text'])
    }
    expectSound(all)
  })

  it('ROLE-01 ROLE-02 ROLE-03 is a user’s message at the head, and a call or a user’s message may follow it', async () => {
    for (const [picture, second] of [['u5000 ca10 ra1900 cb10 rb1200 a10', 'assistant'], ['u6200 a100 u1600 a50 u200 a10', 'user']] as const) {
      const all = await house()
      await play(all, picture)
      const messages = all.requests().at(-1)!.messages
      expect(messages.slice(0, 2).map(({ role }) => role)).toEqual(['user', second])
      expect(checkpoints(all.session)).toHaveLength(1)
      expectSound(all)
    }
  })

  it('PAIR-17 PAIR-20 five in a row over a tool-heavy history: every list that was sent is balanced', async () => {
    const all = await house()
    for (let turn = 0; eventsOf(all.session, 'compaction/summary').length < 5; turn++) {
      await play(all, `u200 cab10 ra700 rb300 cc10 rc900 cabc10 ra300 rb300 rc300 a100`)
      expect(turn).toBeLessThan(40)
    }
    expect(checkpoints(all.session)).toHaveLength(1)
    expect(turnEnds(all.session).every(end => end === 'completed')).toBe(true)
    expectSound(all)
  })

  it('PAIR-15 is asked for with a request that is balanced itself, parallel calls included', async () => {
    const all = await house()
    await play(all, 'u2000 cab10 ra2000 rb2000 cc10 rc1000 a1000')
    await say(all, sized('more', 300))
    expect(all.summaryRequests()[0]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
    expectSound(all)
  })

  it('PAIR-06 cannot be had without what it takes away: a call alone is no region', async () => {
    const all = await house()
    await play(all, 'u2000 ca10 ra2000 cb10 rb500 a10')
    const calls = all.session.surface.entries.filter(seq => isSurfaceEvent(all.session.log.at(seq)) && surfaceOf(all.session).includes('ca10'))
    const [, ca, ra] = calls
    const { compactRegion } = all.ctx.get('compaction')!
    for (const [start, end] of [[ca!, ca!], [ra!, ra!], [calls[0]!, ca!]]) {
      expect(await rejection(compactRegion.call(all.ctx.get('compaction'), start!, end!, all.agent))).toMatchObject({ name: 'Error', message: expect.stringMatching(/part a call from its result/) })
    }
    expect(bracketsOf(all.session)).toBe('')
    expectSound(all)
  })
})
