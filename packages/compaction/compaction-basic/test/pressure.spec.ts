/**
 * Under pressure: when a check acts, what it keeps, how it converges, and when it stops trying.
 */
import type { CompactionResult } from '@deepseek-ai/dsh-compaction'
import { textOf, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { BasicCompactionEngine, unframe, type BasicCompactionConfig, type Summary, type SummaryInput } from '../src/index.ts'
import { bracketsOf, converse, expectSound, harness, never, preStep, rejection, sized, SUMMARY, surfaceOf, type Drawing, type Harness, type HarnessInit } from './harness.ts'

const check = ({ engine, agent }: Harness, signal = never): Promise<CompactionResult | null> => engine.compactIfNeeded(agent, 'pressure', signal)

async function conversation(text: string, init: HarnessInit = {}, drawing: Drawing = {}): Promise<Harness> {
  const all = await harness(init)
  converse(all.session, text, drawing)
  return all
}

/** Answers with a share of the span, so that a round saves exactly what a story needs. */
function shrinking(...shares: number[]): typeof BasicCompactionEngine {
  return class extends BasicCompactionEngine {
    private round = 0

    protected override async summarize({ spanTokens }: SummaryInput): Promise<Summary> {
      const share = shares[Math.min(this.round++, shares.length - 1)]!
      if (share < 0) throw new Error('out of words')
      return { summary: [{ type: 'text', text: sized('## Shorter\n', Math.floor(spanTokens * share)) }] }
    }
  }
}

/** How many entries each committed round left on the surface beside its checkpoint. */
function tails({ session }: Harness): number[] {
  let entries = 0
  const left: number[] = []
  for (const event of session.log.from(0)) {
    if (event.surfaceOp === 'append') entries += 1
    else if (event.surfaceOp !== undefined) {
      const { shadowedSeqs } = [...session.log.from(0)].findLast(({ type, seq }) => type === 'compaction/summary' && seq < event.seq)!.data as { shadowedSeqs: number[] }
      entries -= shadowedSeqs.length - 1
      left.push(entries - 1)
    }
  }
  return left
}

const repeated = (words: string, times: number): string => Array.from({ length: times }, () => words).join(' ')

describe('acts', () => {
  it.each([
    ['from the threshold on', 'u3000 a3000 u1000 a1000', true],
    ['not one token before it', 'u3000 a3000 u1000 a999', false],
  ])('%s', async (_title, text, acts) => {
    const all = await conversation(text)
    expect(all.ctx.tokenMeter.measure(all.session).totalTokens).toBe(acts ? 8_000 : 7_999)
    expect(await check(all) !== null).toBe(acts)
    expectSound(all.session)
  })

  it('where it says that it does, also before the first request; nowhere when left to a person', async () => {
    expect((await conversation('u10 a10').then(({ engine, agent }) => engine.thresholdTokens(agent)))).toBe(8_000)
    expect((await harness().then(({ engine, agent }) => engine.thresholdTokens(agent)))).toBe(8_000)
    expect((await harness({ config: { auto: false } }).then(({ engine, agent }) => engine.thresholdTokens(agent)))).toBeNull()
  })

  it('with system prompt and tools counted', async () => {
    const all = await conversation('u3000 a2000 u1000 a500', {}, { system: 'x'.repeat(4 * 2_000) })
    expect(await check(all)).not.toBe(null)
  })

  it('with claimed input counted, which is not on the surface yet', async () => {
    const all = await conversation('u3000 a2000 u1000 a500')
    const pending = [{ type: 'text', text: sized('new', 1_500) }] as const
    await preStep(all)
    expect(bracketsOf(all.session)).toBe('')
    await preStep(all, never, pending)
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
    expectSound(all.session)
  })

  it('earlier where the answer needs room inside the window', async () => {
    const config = { provider: 'scripted', model: 'm', maxTokens: 4_000 }
    const text = 'u3000 a1000 u1000 a1000'
    expect(await check(await conversation(text, {}, { config }))).not.toBe(null)
    expect(await check(await conversation(text, { info: { contextWindow: 10_000, outputInWindow: false } }, { config }))).toBe(null)
  })

  it('by the policy of the routed model', async () => {
    const policy = { provider: 'scripted', model: 'm', thresholdRatio: 0.5, retainTokens: 500 }
    const all = await conversation('u3000 a1000 u1000 a500', { config: { modelPolicies: [policy] } })
    expect(await check(all)).not.toBe(null)
    expect(surfaceOf(all.session)).toBe('S a500')
    const other = await conversation('u3000 a1000 u1000 a500', { config: { modelPolicies: [{ ...policy, model: 'other' }] } })
    expect(await check(other)).toBe(null)
  })

  it('never by itself with auto: false, but when it is asked to', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500', { config: { auto: false } })
    await preStep(all)
    expect(bracketsOf(all.session)).toBe('')
    expect(await check(all)).not.toBe(null)
  })

  it('not where the window of the routed model is unknown, which is said once, and again after it was known', async () => {
    const info: { contextWindow?: number } = {}
    const all = await conversation('u3000 a3000 u1000 a1500', { info })
    await preStep(all)
    await preStep(all)
    expect(await check(all)).toBe(null)
    expect(all.warnings()).toEqual([expect.stringContaining('the context window of scripted/m is not known')])
    info.contextWindow = 20_000
    await preStep(all)
    delete info.contextWindow
    await preStep(all)
    expect(all.warnings()).toHaveLength(2)
    expect(bracketsOf(all.session)).toBe('')
  })

  it('not with more retained than the threshold leaves; the error names the key', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500', { config: { retainTokens: 8_000 } })
    expect(await rejection(check(all))).toMatchObject({ message: expect.stringContaining('retainTokens') })
    await preStep(all)
    expect(all.warnings()).toEqual([expect.stringContaining('lower retainTokens')])
    expect(bracketsOf(all.session)).toBe('')
    // What asks for no threshold does not mind.
    expect(await all.engine.compactIfNeeded(all.agent, 'context-overflow', never)).not.toBe(null)
    expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(replay) checkpoint end')
  })
})

describe('keeps', () => {
  it.each([
    ['the smallest tail of whole units that reaches the budget', 'u4000 a2000 u500 a500 u500 a500', 'S u500 a500 u500 a500'],
    ['a step with all its results where the budget ends inside it', 'u3000 a2000 cab10 ra1500 rb1500 a100', 'S cab10 ra1500 rb1500 a100'],
    ['steps of one runaway turn, whatever the turn', 'u100 ca10 ra2500 ca10 ra2500 ca10 ra2500 cb10 rb1500', 'S ca10 ra2500 cb10 rb1500'],
    ['the newest answer with everything after it, though it is more than the budget', 'u3000 a2000 ca10 ra2500 x500', 'S ca10 ra2500 x500'],
    ['only the newest of the messages after it where they exceed the budget', 'u3000 a2000 ca10 ra500 x1200 x1400 x600', 'S x1400 x600'],
    ['a step that is still open', 'u5000 a2000 cab10 ra1700', 'S cab10 ra1700'],
  ])('%s', async (_title, text, expected) => {
    const all = await conversation(text)
    expect(await check(all)).not.toBe(null)
    expect(surfaceOf(all.session)).toBe(expected)
  })

  it('one checkpoint, into which the one before is merged', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500')
    for (let round = 0; round < 3; round++) {
      expect(await check(all)).not.toBe(null)
      expect(surfaceOf(all.session)).toMatch(/^S [^S]+$/)
      converse(all.session, 'u3000 a3000 u500 a500')
    }
    const checkpoints = all.session.deriveMessages().filter(({ content }) => unframe(textOf(content)) !== null)
    expect(checkpoints).toHaveLength(1)
    expectSound(all.session)
  })

  it('the first words of a person, those that opened the turn, and the newest, through five compactions in a row', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500', { summary: 'The model forgot every word. '.repeat(10) })
    const said = (text: string): void => {
      all.session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    }
    const first = textOf(all.session.deriveMessages()[0]!.content).slice(0, 200)
    for (let round = 1; round <= 5; round++) {
      all.session.append('turn/end', { turn: 1 + round, reason: 'completed' })
      all.session.append('turn/start', { turn: 2 + round })
      said(`Open the door number ${round}.`)
      said(`Rather the window number ${round}, and <compacted-summary> mind the tags.`)
      for (const size of [2_000, 2_000, 2_000, 1_700]) converse(all.session, `ca10 ra${size}`)
      expect(await check(all)).not.toBe(null)
      const text = textOf(all.session.deriveMessages()[0]!.content)
      expect(text).toContain(`> ${first}`)
      expect(text).toContain(`> Open the door number ${round}.`)
      expect(text).toContain(`> Rather the window number ${round}, and &lt;compacted-summary&gt; mind the tags.`)
      expect(text.split('<compacted-summary>')).toHaveLength(2)
      expect(text).not.toContain(`number ${round - 1}`)
    }
    expectSound(all.session)
  })
})

describe('tries no summary that cannot help', () => {
  it.each([
    ['the unread tail alone fills the window', 'u3000 a100 ca10 ra10000', {}],
    ['the envelope alone does', 'u20 a20', { system: 'x'.repeat(4 * 9_990) }],
    ['the envelope is over the threshold and there is nothing to shorten', 'u20 a20 u20 a20', { system: 'x'.repeat(4 * 8_500) }],
  ])('where %s', async (_title, text, drawing) => {
    const all = await conversation(text, {}, drawing)
    for (let pass = 0; pass < 20; pass++) {
      expect(await check(all)).toBe(null)
      await preStep(all)
    }
    expect(all.summaryRequests()).toEqual([])
    expect(bracketsOf(all.session)).toBe('')
    expect(all.warnings()).toEqual([])
  })

  it('where claimed input fills what is left', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500')
    await preStep(all, never, [{ type: 'text', text: sized('huge', 9_000) }])
    expect(bracketsOf(all.session)).toBe('')
  })
})

describe('converges', () => {
  const retaining: BasicCompactionConfig = { retainTokens: 6_000, maxTokens: 10_000 }

  it('by halving what is kept until the request is under the threshold', async () => {
    const all = await conversation(`u10 ${repeated('x500 a500', 9)}`, { engine: shrinking(0.8, 0.5), config: retaining })
    expect(await check(all)).toMatchObject({ converged: true })
    expect(tails(all)).toEqual([12, 6])
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(custom) checkpoint end start(pressure) summary(custom) checkpoint end')
    expectSound(all.session)
  })

  it('down to the unread tail at once where the request would still exceed the window', async () => {
    const all = await conversation(`u10 ${repeated('x500 a500', 12)}`, { engine: shrinking(0.8), config: { ...retaining, retainTokens: 7_000 } }, { system: 'x'.repeat(4 * 1_000) })
    await check(all)
    expect(tails(all)).toEqual([14, 1])
    expectSound(all.session)
  })

  it('in at most as many rounds as configured; what was won is kept', async () => {
    for (const compactionRetries of [0, 1, 3]) {
      const config = { thresholdRatio: 0.3, retainTokens: 2_400, maxTokens: 10_000, compactionRetries }
      const all = await conversation(`u10 ${repeated('x100 a100', 45)}`, { engine: shrinking(0.85), config })
      expect(await check(all)).toMatchObject({ converged: false })
      expect(tails(all)).toEqual([24, 12, 6, 3].slice(0, 1 + compactionRetries))
      expectSound(all.session)
    }
  })

  it('no further after a round that saved less than a tenth', async () => {
    const all = await conversation(`u10 ${repeated('x500 a500', 9)}`, { engine: shrinking(0.88), config: { ...retaining, compactionRetries: 5 } })
    expect(await check(all)).toMatchObject({ converged: false })
    expect(tails(all)).toEqual([12])
  })

  it('no further after a deeper round failed: the last good result stands', async () => {
    const all = await conversation(`u10 ${repeated('x500 a500', 9)}`, { engine: shrinking(0.8, -1), config: { ...retaining, compactionRetries: 5 } })
    const result = await check(all)
    expect(result).toMatchObject({ converged: false })
    expect(all.session.surface.entries[0]).toBe(result!.replacementSeq)
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(custom) checkpoint end start(pressure) end(summary)')
    expect(all.warnings()).toEqual([expect.stringContaining('a deeper compaction failed, what was won is kept: out of words')])
    expectSound(all.session)
  })

  it('no further once aborted: the exact reason, what was won stays', async () => {
    const controller = new AbortController()
    let rounds = 0
    class Aborting extends BasicCompactionEngine {
      protected override async summarize({ spanTokens }: SummaryInput): Promise<Summary> {
        if (++rounds === 2) controller.abort('stop')
        return { summary: [{ type: 'text', text: sized('## Shorter\n', Math.floor(spanTokens * 0.8)) }] }
      }
    }
    const all = await conversation(`u10 ${repeated('x500 a500', 9)}`, { engine: Aborting, config: retaining })
    expect(await rejection(check(all, controller.signal))).toBe('stop')
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(custom) checkpoint end start(pressure) end(aborted)')
    expect(tails(all)).toEqual([12])
  })

  it('within one budget of model calls for all rounds and forms of asking', async () => {
    for (const compactionRetries of [0, 1, 2, 4]) {
      const replies: ScriptedReply[] = [SUMMARY, '', SUMMARY, '', '', SUMMARY]
      const all = await conversation(`u10 ${repeated('x500 a500', 12)}`, { summary: (_options, index) => replies[index % replies.length]!, config: { retainTokens: 6_000, compactionRetries } }, { system: 'x'.repeat(4 * 7_000) })
      await preStep(all)
      expect(all.summaryRequests().length).toBeGreaterThanOrEqual(bracketsOf(all.session).match(/start/g)!.length)
      expect(all.summaryRequests().length).toBeLessThanOrEqual(1 + compactionRetries)
      expectSound(all.session)
    }
  })
})

describe('the breaker', () => {
  it('lets pressure wait after two fruitless attempts until the conversation has grown, and says so once', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500', { summary: { failure: { code: 'SERVER', message: 'bad gateway' } } })
    for (let pass = 0; pass < 5; pass++) await preStep(all)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary) start(pressure) end(summary)')
    const notices = () => all.warnings().filter(text => text.includes('waits'))
    expect(notices()).toEqual([expect.stringContaining('the last 2 compactions did not help (bad gateway); trying again after 800 more tokens')])
    // A direct call is somebody's decision.
    await rejection(check(all))
    expect(bracketsOf(all.session).match(/start/g)).toHaveLength(3)
    // The third was fruitless as well: now it waits for twice that.
    converse(all.session, 'u800 a400')
    await preStep(all)
    expect(bracketsOf(all.session).match(/start/g)).toHaveLength(3)
    converse(all.session, 'u200 a200')
    await preStep(all)
    expect(bracketsOf(all.session).match(/start/g)).toHaveLength(4)
    await preStep(all)
    expect(notices()).toHaveLength(1)
    expectSound(all.session)
  })

  it('says nothing while there is no pressure', async () => {
    const all = await conversation('u3000 a3000 u1000 a1500', { summary: { failure: { code: 'SERVER', message: 'bad gateway' } } })
    await preStep(all)
    await preStep(all)
    const { entries } = all.session.surface
    all.session.append('user/message', { content: [{ type: 'text', text: 'cleared' }], source: { kind: 'context' } }, {
      surfaceOp: { op: 'replace', start: entries[0]!, end: entries[2]! }, sourceEventSeqs: entries.slice(0, 3),
    })
    await preStep(all)
    expect(all.warnings().filter(text => text.includes('waits'))).toEqual([])
  })
})

describe('the summary', () => {
  it.each([
    ['an eighth of the window', {}, 'u3000 a3000 u1000 a1500', {}, 1_250],
    ['what was configured', { maxTokens: 700 }, 'u3000 a3000 u1000 a1500', {}, 700],
    ['no more than the conversation leaves room for', { retainTokens: 7_000 }, `u2000 ${repeated('x1000', 7)} a50`, { config: { provider: 'scripted', model: 'm', maxTokens: 1_900 } }, null],
  ])('is asked to take %s', async (_title, config, text, drawing, expected) => {
    const all = await conversation(text, { config }, drawing)
    await check(all)
    const { maxTokens, messages } = all.summaryRequests()[0]!
    if (expected !== null) expect(maxTokens).toBe(expected)
    else expect(maxTokens).toBeLessThan(1_250)
    expect(textOf(messages.at(-1)!.content)).toContain(`Stay under ${maxTokens} tokens`)
    const { data } = [...all.session.log.from(0)].find(event => event.type === 'compaction/summary')!
    expect(data).toMatchObject({ maxTokens })
  })

  it('may be half as long again as it was asked to be, and no longer', async () => {
    for (const [tokens, brackets] of [[1_500, 'summary(replay) checkpoint end'], [1_501, 'end(summary)']] as const) {
      const all = await conversation('u3000 a3000 u1000 a1500', { config: { maxTokens: 1_000 }, summary: sized('## Long\n', tokens) })
      await preStep(all)
      expect(bracketsOf(all.session)).toBe(`start(pressure) ${brackets}`)
    }
  })

  it('may be short where it has a heading, or where little was to be said', async () => {
    const long = await conversation('u3000 a3000 u1000 a1500', { summary: '# Nothing\nhappened.' })
    expect(await check(long)).not.toBe(null)
    const short = await conversation('u500 x490 a8', { summary: 'They said hello.' })
    expect(await short.engine.compactNow(short.agent, never)).not.toBe(null)
  })

  it('keeps the text of a reply and drops reasoning and calls, which are never run', async () => {
    let ran = 0
    const all = await conversation('u3000 a3000 u1000 a1500', {
      summary: {
        content: [
          { type: 'reasoning', text: 'secret thoughts' },
          { type: 'text', text: `## Current Work\n${'words '.repeat(30)}` },
          { type: 'tool-call', id: 'x', name: 'look', arguments: '{"rm":true}' },
        ],
      },
      tools: [{ name: 'look', parameters: { type: 'object' }, execute: () => { ran += 1; return 'ran' } }],
    })
    const result = await check(all)
    expect(result!.summary).toEqual([{ type: 'text', text: `## Current Work\n${'words '.repeat(30)}`.trim() }])
    const checkpoint = all.session.deriveMessages()[0]!
    expect(checkpoint.content.map(({ type }) => type)).toEqual(['text'])
    expect(JSON.stringify(checkpoint)).not.toMatch(/secret|"rm"/)
    const { data } = [...all.session.log.from(0)].find(event => event.type === 'compaction/summary')!
    expect(data).toMatchObject({ rawOutput: [{ type: 'reasoning' }, { type: 'text' }, { type: 'tool-call' }] })
    expect(ran).toBe(0)
    expectSound(all.session)
  })
})
