/**
 * The ladder as it stands in the engine: which rung answers, what is told of the others, and that no summarizer can hold a
 * conversation up. `summarize.spec.ts` has the rungs one by one.
 */
import type { CompactionResult } from '@deepseek-ai/dsh-compaction'
import { ScriptedAdapter, textOf, type GenerateOptions, type LlmAdapter, type ScriptedReply, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { BasicCompactionEngine, type Rung, type Summary, type SummaryInput } from '../src/index.ts'
import { bracketsOf, converse, expectSound, harness, preStep, rejection, sized, SUMMARY, type Harness, type HarnessInit } from './harness.ts'

const never = new AbortController().signal
const CONVERSATION = 'u3000 a3000 u1000 a1500'

interface Ladder extends Harness {
  readonly rungs: Rung[]
}

async function ladder(init: HarnessInit = {}, text = CONVERSATION): Promise<Ladder> {
  const all = await harness(init)
  converse(all.session, text)
  const rungs: Rung[] = []
  all.ctx.on('compaction/rung', (session, rung) => void (session === all.session && rungs.push(rung)))
  return { ...all, rungs }
}

const entryPoints: Record<string, (all: Harness) => Promise<CompactionResult | null>> = {
  pressure: ({ engine, agent }) => engine.compactIfNeeded(agent, 'pressure', never),
  overflow: ({ engine, agent }) => engine.compactIfNeeded(agent, 'context-overflow', never),
  manual: ({ session, engine, agent }) => {
    session.append('turn/end', { turn: 2, reason: 'completed' })
    return engine.compactNow(agent, never)
  },
}

const inTurn = (...replies: ScriptedReply[]): ScriptedReply => {
  let asked = 0
  return () => replies[Math.min(asked++, replies.length - 1)]!
}
const CUT_OFF: ScriptedReply = { content: [{ type: 'text', text: SUMMARY }], finish: 'max-tokens' }
const CALL: ScriptedReply = { content: [{ type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }] }
const TOO_LONG: ScriptedReply = { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } }
const DOWN: ScriptedReply = { failure: { code: 'SERVER', message: 'bad gateway' } }

/** `replay+ transcript-`: the first answered, the second did not. */
const drawRungs = (rungs: readonly Rung[]): string => rungs.map(({ strategy, outcome }) => `${strategy}${outcome === 'answered' ? '+' : '-'}`).join(' ')

describe('the rungs that are taken, and the one that answers', () => {
  it.each<[entry: string, string, ScriptedReply, rungs: string, end: string]>([
    ['pressure', 'a good summarizer', SUMMARY, 'replay+', 'summary(replay) checkpoint end'],
    ['pressure', 'one that calls a tool first', inTurn(CALL, SUMMARY), 'replay- transcript+', 'summary(transcript) checkpoint end'],
    ['pressure', 'one that says nothing, twice', inTurn('', ' '), 'replay- transcript-', 'end(summary)'],
    ['pressure', 'one that finds everything too long', TOO_LONG, 'replay- transcript-', 'end(summary)'],
    ['pressure', 'one that is cut off', CUT_OFF, 'replay-', 'end(summary)'],
    ['pressure', 'one that is down', DOWN, 'replay-', 'end(summary)'],
    ['manual', 'one that says nothing, ever', '', 'replay- transcript-', 'end(summary)'],
    ['overflow', 'a good summarizer', SUMMARY, 'replay+', 'summary(replay) checkpoint end'],
    ['overflow', 'one that says nothing, ever', '', 'replay- transcript- digest+', 'summary(digest) checkpoint end'],
    ['overflow', 'one that is cut off', CUT_OFF, 'replay- digest+', 'summary(digest) checkpoint end'],
    ['overflow', 'one that is down', DOWN, 'replay- digest+', 'summary(digest) checkpoint end'],
  ])('%s, %s', async (entry, _title, summary, rungs, end) => {
    const all = await ladder({ summary })
    await entryPoints[entry]!(all).catch(() => {})
    expect(drawRungs(all.rungs)).toBe(rungs)
    expect(bracketsOf(all.session)).toMatch(new RegExp(`^start\\([\\w-]+\\) ${end.replaceAll(/[()]/g, '\\$&')}$`))
    // Of the transcript, whose parts are one call of the budget, eight requests at most.
    expect(all.summaryRequests().length).toBeLessThanOrEqual(1 + 8)
    expectSound(all.session)
  })

  it('each says why it did not answer', async () => {
    const silent = await ladder({ summary: inTurn(CALL, TOO_LONG) })
    await entryPoints['overflow']!(silent)
    expect(silent.rungs).toEqual([
      { strategy: 'replay', outcome: 'the summary is empty: the model answered with tool-call only' },
      { strategy: 'transcript', outcome: 'prompt is too long' },
      { strategy: 'digest', outcome: 'answered' },
    ])
    const other = await ladder({ config: { summarizationProvider: 'scripted', summarizationModel: 'other' } })
    await entryPoints['pressure']!(other)
    expect(other.rungs[0]).toEqual({ strategy: 'replay', outcome: 'the span is not the head of what this model was last sent' })
    const large = await ladder({}, 'u3000 a6000 u3000 a500')
    await entryPoints['overflow']!(large)
    expect(large.rungs[0]).toMatchObject({ strategy: 'replay', outcome: expect.stringMatching(/^\d+ tokens and an answer of \d+ exceed the window of 10000$/) })
    const last = await ladder({ summary: '', config: { compactionRetries: 0 } })
    await rejection(entryPoints['pressure']!(last))
    expect(last.rungs[1]).toEqual({ strategy: 'transcript', outcome: 'no model call is left' })
  })

  it('a region away from the head is no prefix, and one call makes its summary', async () => {
    const all = await ladder({}, 'u3000 a3000 u1000 a1500 )')
    const [, start, end] = all.session.surface.entries
    await all.engine.compactRegion(start!, end!, all.agent)
    expect(drawRungs(all.rungs)).toBe('replay- transcript+')
    expect([...all.session.log.from(0)].find(event => event.type === 'compaction/summary')!.data).toMatchObject({ llmStreamCall: true, strategy: 'transcript' })
  })

  it('a deeper round of the same check is no prefix either: nothing was sent with the new checkpoint yet', async () => {
    const all = await ladder({ summary: sized('## Long\n', 2_450), config: { retainTokens: 6_000, maxTokens: 2_500 } }, `u10 ${'x500 a500 '.repeat(9).trim()}`)
    expect(await entryPoints['pressure']!(all)).toMatchObject({ converged: true })
    expect(drawRungs(all.rungs)).toBe('replay+ replay- transcript+')
    expectSound(all.session)
  })

  it('an abort is no rung that did not answer', async () => {
    const controller = new AbortController()
    const all = await ladder({ summary: () => { controller.abort('stop'); return new Promise<never>(() => {}) } })
    expect(await rejection(all.engine.compactIfNeeded(all.agent, 'context-overflow', controller.signal))).toBe('stop')
    expect(all.rungs).toEqual([])
  })

  it('whoever listens and fails disturbs nothing', async () => {
    const all = await ladder()
    all.ctx.on('compaction/rung', () => { throw new Error('listener') })
    expect(await entryPoints['pressure']!(all)).not.toBe(null)
    expect(all.warnings()).toEqual([expect.stringContaining('listener')])
  })

  it('the log keeps its shape: a rung is told, not written', async () => {
    const all = await ladder({ summary: inTurn('', SUMMARY) })
    await entryPoints['pressure']!(all)
    expect([...all.session.log.from(0)].slice(-4).map(({ type }) => type)).toEqual(['compaction/start', 'compaction/summary', 'user/message', 'compaction/end'])
  })
})

describe('a summarizer with a smaller window than the history', () => {
  const NARROW_TOKENS = 2_000

  async function narrow(text: string, reply: ScriptedReply = SUMMARY): Promise<Ladder & { readonly asked: GenerateOptions[] }> {
    const all = await ladder({ config: { summarizationProvider: 'narrow', summarizationModel: 'n' } }, text)
    const adapter = new ScriptedAdapter({ provider: 'narrow', models: { n: { contextWindow: NARROW_TOKENS } }, replies: () => reply })
    all.ctx.llm.registerAdapter(adapter)
    return { ...all, asked: adapter.requests }
  }

  it('is sent parts that fit it, eight at most, and the record names it and no single call', async () => {
    const all = await narrow(`u500 ${'x500 '.repeat(14)}a500 u100 a500`)
    expect(await entryPoints['pressure']!(all)).not.toBe(null)
    expect(all.asked.length).toBeGreaterThan(2)
    expect(all.asked.length).toBeLessThanOrEqual(8)
    for (const { messages, maxTokens } of all.asked) {
      expect(messages).toHaveLength(1)
      expect(all.ctx.tokenMeter.estimateMessage(messages[0]!) + maxTokens!).toBeLessThanOrEqual(NARROW_TOKENS)
    }
    const { data } = [...all.session.log.from(0)].find(event => event.type === 'compaction/summary')!
    expect(data).toMatchObject({ provider: 'narrow', model: 'n', strategy: 'transcript' })
    expect(data).not.toHaveProperty('llmStreamCall')
    expectSound(all.session)
  })

  it('counts as one call, whatever it takes: a check without retries makes it too', async () => {
    const all = await narrow(`u500 ${'x500 '.repeat(14)}a500 u100 a500`, inTurn(SUMMARY, ''))
    await rejection(entryPoints['pressure']!(all))
    expect(drawRungs(all.rungs)).toBe('replay- transcript-')
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary)')
  })

  it('has the oldest part digested where eight parts are not enough', async () => {
    const all = await narrow(`u500 ${'x700 '.repeat(11)}a500 u100 a500`, `## So far\n${'SUM '.repeat(30)}`)
    expect(await entryPoints['pressure']!(all)).not.toBe(null)
    expect(all.asked.length).toBeLessThanOrEqual(8)
    const first = textOf(all.asked[0]!.messages[0]!.content)
    if (all.asked.length === 8) expect(first).toContain('checkpoint:\n')
    expectSound(all.session)
  })
})

describe('a stream that falls silent', () => {
  class Impatient extends BasicCompactionEngine {
    protected override readonly idleMs: number = 150
  }
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length

  it('is given up, its request aborted, and no timer is left behind', async () => {
    const before = timers()
    const all = await ladder({ engine: Impatient, summary: () => new Promise<never>(() => {}) })
    expect(await rejection(entryPoints['pressure']!(all))).toMatchObject({ failure: { code: 'TIMEOUT' } })
    expect(all.rungs).toEqual([{ strategy: 'replay', outcome: 'the summarizer said nothing for 0.15 s' }])
    expect(all.summaryRequests()[0]!.signal!.aborted).toBe(true)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary)')
    expect(timers()).toBeLessThanOrEqual(before)
    expectSound(all.session)
  })

  it('does not end the run that waits behind an overflow: a digest stands in', async () => {
    const all = await ladder({ engine: Impatient, summary: () => new Promise<never>(() => {}) })
    expect(await entryPoints['overflow']!(all)).not.toBe(null)
    expect(drawRungs(all.rungs)).toBe('replay- digest+')
  })

  it('leaves no timer behind an answer or an abort either', async () => {
    const before = timers()
    const all = await ladder()
    await entryPoints['pressure']!(all)
    const controller = new AbortController()
    const stuck = await ladder({ summary: () => { controller.abort('stop'); return new Promise<never>(() => {}) } })
    await rejection(stuck.engine.compactIfNeeded(stuck.agent, 'pressure', controller.signal))
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it('is not silent while it speaks, however long it takes', async () => {
    /** A word each 20 ms: a good deal longer than the silence that is allowed, and no silence. */
    class Slow implements LlmAdapter {
      readonly provider = 'slow'
      async *stream(): AsyncGenerator<StreamChunk, void, undefined> {
        yield { type: 'block-start', index: 0, block: { type: 'text' } }
        for (let word = 0; word < 40; word++) {
          await new Promise(resolve => setTimeout(resolve, 20))
          yield { type: 'text-delta', index: 0, text: 'word ' }
        }
        yield { type: 'block-end', index: 0 }
        yield { type: 'finish', reason: 'stop' }
      }
    }
    const all = await ladder({ engine: Impatient, config: { summarizationProvider: 'slow', summarizationModel: 's' } })
    all.ctx.llm.registerAdapter(new Slow())
    expect(await entryPoints['pressure']!(all)).not.toBe(null)
  })
})

it('fifty steps above the threshold, growing slowly, with a summarizer that saves half a percent: five calls at most, one notice', async () => {
  let calls = 0
  class Wordy extends BasicCompactionEngine {
    protected override async summarize({ spanTokens }: SummaryInput): Promise<Summary> {
      calls += 1
      const frameTokens = 200
      return { summary: [{ type: 'text', text: sized('## Everything\n', Math.floor(spanTokens * 0.995) - frameTokens) }] }
    }
  }
  const all = await ladder({ engine: Wordy, config: { maxTokens: 5_000 } }, 'u20 x3000 a3000 u20 a2000')
  let committed = 0
  for (let step = 0; step < 50; step++) {
    await preStep(all)
    converse(all.session, 'ca10 ra20')
    committed = bracketsOf(all.session).match(/checkpoint/g)?.length ?? 0
  }
  expect(committed).toBeGreaterThan(0)
  expect(calls).toBeGreaterThan(1)
  expect(calls).toBeLessThanOrEqual(5)
  expect(all.ctx.tokenMeter.measure(all.session).totalTokens).toBeGreaterThan(8_000)
  expect(all.warnings().filter(text => text.includes('waits'))).toHaveLength(1)
  expectSound(all.session)
})
