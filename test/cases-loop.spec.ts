/** No compaction for nothing, and never one after the other: D07, D08, D10, and what was reported of LOOP, DRIFT and CACHE. */
import type { ScriptedReply } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, checkpoints, eventsOf, exactUsage, expectSound, house, meter, play, rejection, ROUTE, say, sized, sizeOf, SUMMARY, surfaceOf, text, turnEnds, WINDOW_TOKENS, type House, type HouseInit } from './house.ts'

/** A turn of `steps` steps that add next to nothing. */
async function idleSteps(all: House, steps: number): Promise<void> {
  for (let step = 1; step < steps; step++) {
    all.replies.push({ content: [call(`c${step}`)] })
    all.results.push('ok')
  }
  await say(all, 'go on')
}

const never = () => new AbortController().signal
const starts = ({ session }: House) => eventsOf(session, 'compaction/start').length

describe('D07 a window of 700 and a summarizer that writes 900', () => {
  const init = (compaction: HouseInit['compaction'] = {}): HouseInit => ({
    models: { m: { contextWindow: 700 } }, options: ROUTE, summary: sized('SUM', 900), compaction,
  })

  it.each<[string, HouseInit['compaction']]>([
    ['longer than it was asked to be', {}],
    ['as long as it was asked to be', { maxTokens: 1_000 }],
  ])('%s: on demand it is refused, and paid for once', async (_title, compaction) => {
    const all = await house(init(compaction))
    await play(all, 'u300 a200')
    all.agent.inject(sized('u100', 100))
    const outcome = await all.ctx.get('compaction')!.compactNow(all.agent, never()).catch((error: unknown) => error)
    expect(outcome === null || (outcome as { code?: string }).code === 'summary').toBe(true)
    expect(all.summaryRequests().length).toBeLessThanOrEqual(2)
    expect(all.session.surface.replaceGeneration).toBe(0)
    expectSound(all)
  })

  it.each<[string, HouseInit['compaction'], string]>([
    ['longer than it was asked to be', {}, 'u300 a200'],
    ['as long as it was asked to be', { maxTokens: 1_000 }, 'u300 a200'],
    ['and room for it to try', { maxTokens: 1_000, retainTokens: 20 }, 'u400 a20 u30 a20'],
  ])('%s: ten steps under pressure never commit it, and stop asking', async (_title, compaction, picture) => {
    const all = await house(init(compaction))
    await play(all, picture)
    await idleSteps(all, 10)
    expect(all.requests().length).toBeGreaterThanOrEqual(11)
    expect(all.session.surface.replaceGeneration).toBe(0)
    expect(all.summaryRequests().length).toBeLessThanOrEqual(4)
    expect(all.warnings().length).toBeLessThanOrEqual(3)
    expectSound(all)
  })
})

it.each([['longer', 3_000], ['exactly as long, in its frame', 1_900]])('LOOP-11 LOOP-12 a summary %s than what it stands for is refused, by itself and on demand', async (_title, tokens) => {
  const all = await house({ compaction: { maxTokens: 4_000, retainTokens: 5_500 }, summary: sized('SUM', tokens) })
  await play(all, 'u2000 a50 u5500 a300 u400 a10')
  expect(await rejection(all.ctx.get('compaction')!.compactRegion(all.session.surface.entries[0]!, all.session.surface.entries[1]!, all.agent))).toMatchObject({ code: 'summary' })
  expect(bracketsOf(all.session)).toBe('start(pressure) end(not-smaller) start(region) end(not-smaller)')
  expect(all.session.surface.replaceGeneration).toBe(0)
  expect(all.summaryRequests()).toHaveLength(2)
  expectSound(all)
})

describe('what no summary can mend costs nothing', () => {
  it.each([
    ['D08 LOOP-03 system and tools above the threshold', 29_000, 'u20 a20'],
    ['system and tools just below the window', 31_700, 'u20 a20'],
    ['system and tools of a window and a half', 49_000, 'u20 a20'],
    ['system, tools and what was just said', 20_000, 'u11500 a20'],
  ])('%s: no summary is asked for in twenty steps, no event says so, one notice at most', async (_title, systemTokens, picture) => {
    const all = await house({ models: { m: { contextWindow: 32_768 } }, system: sized('system', systemTokens) })
    await play(all, picture)
    await idleSteps(all, 20)
    expect(all.summaryRequests()).toEqual([])
    expect(eventsOf(all.session, 'compaction/start')).toEqual([])
    expect(all.warnings().length).toBeLessThanOrEqual(1)
    expectSound(all)
  })

  it.each([
    ['LOOP-05 envelope and checkpoint above the window', 'u6000 a100 u100 a100'],
    ['LOOP-04 the envelope alone', 'u100 a100'],
    ['LOOP-01 nothing but the envelope', 'u20'],
  ])('%s: refused, reduced at most once, and the provider’s error stands', async (_title, picture) => {
    const failure = { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } as const
    const all = await house()
    await play(all, picture)
    all.replies.push(...Array.from({ length: 9 }, (): ScriptedReply => ({ failure })))
    const before = all.requests().length
    await say(all, 'go on')
    expect(all.summaryRequests().length).toBeLessThanOrEqual(1)
    expect(all.requests().length - before).toBeLessThanOrEqual(2)
    expect(eventsOf(all.session, 'turn/end').at(-1)!.data).toMatchObject({ reason: 'error', failure })
    expectSound(all)
  })

  it('LOOP-11 LOOP-12 a hundred tokens are not worth a call', async () => {
    const all = await house()
    await play(all, 'u60 a60')
    expect(await all.ctx.get('compaction')!.compactNow(all.agent, never())).toBeNull()
    expect(all.model.requests).toHaveLength(1)
  })

  it('LOOP-02 a head of nothing is no progress and no retry', async () => {
    const all = await house()
    all.replies.push({ failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } })
    await say(all, 'hi')
    expect(turnEnds(all.session)).toEqual(['CONTEXT_WINDOW_EXCEEDED'])
    expect(starts(all)).toBe(0)
    expectSound(all)
  })

  it('LOOP-13 a summary that keeps 96 % is tried twice, then the conversation must grow first', async () => {
    // The system prompt holds the conversation above its threshold, and each summary is as long as what it stands for.
    const all = await house({
      compaction: { maxTokens: 6_000 },
      summary: options => sized('SUM', Math.floor((sizeOf(options) - meter.estimateEnvelope(options.system, options.tools)) * 0.7)),
      system: sized('system', 4_500),
    })
    await play(all, 'u1500 a500 u500 a100 u700 a700')
    for (let turn = 0; turn < 10; turn++) await idleSteps(all, 3)
    expect(starts(all)).toBeLessThanOrEqual(4)
    expect(all.requests().length).toBeGreaterThan(30)
    expectSound(all)
  })
})

describe('after a compaction', () => {
  it('D10 LOOP-07 usage from before the checkpoint is no reason for a second one', async () => {
    let factor = 1.3
    const all = await house({
      usage: (options, content) => {
        const { inputTokens, outputTokens } = exactUsage(options, content)
        return { inputTokens: Math.round(inputTokens * factor), outputTokens }
      },
    })
    await play(all, 'u4000 a100 u1000 a900 u500 a400') // 6,900 by the estimate, about 9,000 by the provider
    factor = 1
    all.replies.push({ failure: { code: 'SERVER', message: 'try later' } }, { failure: { code: 'SERVER', message: 'try later' } })
    await say(all, 'first')
    expect(starts(all)).toBe(1)
    const after = all.ctx.get('tokenMeter')!.measure(all.session).totalTokens
    expect(after).toBeLessThan(0.6 * WINDOW_TOKENS)
    await say(all, 'second')
    await say(all, 'third')
    expect(turnEnds(all.session).slice(-3)).toEqual(['SERVER', 'SERVER', 'completed'])
    expect(starts(all)).toBe(1)
    expectSound(all)
  })

  it('LOOP-14 two turns without any usage ask for none either', async () => {
    const all = await house()
    await play(all, 'u6000 a900 u500 a400 u300 a100')
    expect(starts(all)).toBe(1)
    await play(all, 'u200 a100 u200 a100')
    expect(starts(all)).toBe(1)
    expectSound(all)
  })

  it('LOOP-10 few large messages: what is kept is counted in tokens, so the next one is far away', async () => {
    const all = await house({ models: { m: { contextWindow: 100_000 } } })
    await play(all, 'u20000 a20000 u20000 a20000 u1000 a20')
    expect(starts(all)).toBe(1)
    expect(surfaceOf(all.session)).toBe('S a20000 u1000 a20')
    await play(all, 'u20000 a20000')
    expect(starts(all)).toBe(1)
    expectSound(all)
  })

  it('LOOP-08 what a person wanted and what a tool found is asked for by name', async () => {
    const all = await house()
    await play(all, 'u6000 a900 u500 a400 u300 a100')
    const directive = JSON.stringify(all.summaryRequests()[0]!.messages.at(-1))
    for (const section of ['Primary Request and Intent', 'Files and Code', 'Commands and Outcomes', 'Pending Tasks', 'Next Step']) expect(directive).toContain(section)
  })

  it('DRIFT-02 CACHE-06 the tenth checkpoint is no longer than the first may be', async () => {
    const all = await house({ summary: options => sized('SUM', options.maxTokens!) })
    for (let turn = 0; eventsOf(all.session, 'compaction/summary').length < 10; turn++) {
      await play(all, 'u600 ca10 ra900 cb10 rb900 a300')
      expect(turn).toBeLessThan(60)
    }
    for (const { data } of eventsOf(all.session, 'compaction/summary')) {
      expect(meter.estimateMessage({ role: 'user', content: data.summary })).toBeLessThanOrEqual(WINDOW_TOKENS / 8)
    }
    expect(checkpoints(all.session)).toHaveLength(1)
    expect(checkpoints(all.session)[0]!.split('<compacted-summary>')).toHaveLength(2)
    expectSound(all)
  })
})

describe('the provider’s cache', () => {
  it('CACHE-03 sees a summary request that begins as the last request did, and from then on one new prefix', async () => {
    const all = await house({ system: 'You are a careful engineer.' })
    await play(all, 'u3000 ca10 ra1500 a500 u1500 a900 u500 cb10 rb100 a100 u10 a10')
    const index = all.model.requests.findIndex(({ purpose }) => purpose === 'compaction')
    expect(index).toBeGreaterThan(0)
    const [before, summary, ...after] = all.model.requests.slice(index - 1)
    expect(summary!.system).toBe(before!.system)
    expect(summary!.tools).toEqual(before!.tools)
    const span = summary!.messages.slice(0, -1)
    expect(before!.messages.slice(0, span.length)).toEqual(span)
    after.reduce((earlier, later) => {
      expect(later.messages.slice(0, earlier.messages.length)).toEqual(earlier.messages)
      return later
    })
    expectSound(all)
  })

  it('CACHE-04 is left alone at a quarter of the window, whatever was read', async () => {
    const all = await house({ models: { m: { contextWindow: 40_000 } } })
    await play(all, 'u100 ca10 ra4000 cb10 rb4000 a100 u10 a10')
    expect(all.session.surface.replaceGeneration).toBe(0)
    expectSound(all)
  })
})

it('SUMMARY is what the cases say it is', () => {
  expect(SUMMARY).toMatch(/^SUM.{200}$/)
  expect(meter.estimateMessage({ role: 'user', content: [text(SUMMARY)] })).toBe(55)
})
