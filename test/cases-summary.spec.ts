/** Summaries that cannot stand, and requests for one that must fit: D04–D06, and what was reported of SUMFAIL, SUMTOOL and OVFCALL. */
import { textOf, type GenerateOptions, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, checkpoints, eventsOf, expectSound, house, play, ROUTE, say, sent, sized, sizeOf, SUMMARY, surfaceOf, text, turnEnds, WINDOW_TOKENS, type House, type HouseInit } from './house.ts'

const FULL = 'u6000 a900 u500 a400'
const reasoning = (tokens: number) => ({ type: 'reasoning' as const, text: sized('hm', tokens) })

/** A conversation just below its threshold, and then the message that is too much. */
async function pressed(init: HouseInit): Promise<House> {
  const all = await house(init)
  await play(all, FULL)
  await say(all, sized('more', 250))
  return all
}

describe('a summary that is none leaves everything as it is, and the run goes on', () => {
  it.each<[string, ScriptedReply, mostRequests?: number]>([
    ['D04 an empty text', ''],
    ['D04 blanks', '  \n'],
    ['D04 SUMFAIL-06 SUMFAIL-07 only reasoning', { content: [reasoning(200)] }],
    ['D04 SUMFAIL-11 no chunk at all', { content: [], finish: 'stop' }],
    ['SUMFAIL-03 cut off at the output limit', { content: [text(sized('cut', 75))], finish: 'max-tokens' }],
    ['SUMFAIL-04 cut off, nearly all of it reasoning', { content: [reasoning(1_000), text(sized('cut', 24))], finish: 'max-tokens' }],
    ['SUMFAIL-05 cut off in the middle of a structure', { content: [text('{"summary": {"done": ["first", "sec')], finish: 'max-tokens' }],
    ['SUMFAIL-02 withheld', { content: [text(SUMMARY)], finish: 'content-filter' }],
    ['SUMFAIL-08 an error of the provider', { failure: { code: 'AUTH', message: 'the key is not valid' } }],
    ['SUMFAIL-12 a connection lost halfway', { failure: { code: 'TRANSPORT', message: 'reset' }, after: [text(SUMMARY)] }],
    ['D06 SUMTOOL-01 an empty text and a call', { content: [text(''), call('x', 'bash', '{"command":"rm x"}')] }],
    ['D06 only a call', { content: [call('x', 'bash', '{"command":"rm x"}')] }],
    ['SUMTOOL-02 sixty thousand tokens of reasoning', { content: [reasoning(60_000)] }],
    ['SUMTOOL-03 an answer to the last question', '4'],
    ['a refusal in three words', 'I cannot help.'],
    ['an image', { content: [text(SUMMARY), { type: 'image', mediaType: 'image/png', data: 'AAAA' }] }],
    ['ten times as long as asked', sized('SUM', 12_500)],
    ['SWITCH-03 an overflow', { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'model_context_window_exceeded' } }, 5],
  ])('%s', async (_title, summary, mostRequests = 2) => {
    let works = false
    let ran = 0
    const bash = { name: 'bash', parameters: { type: 'object' }, execute: () => `${(ran += 1)}` }
    const all = await pressed({ summary: () => (works ? SUMMARY : summary), tools: [bash] })
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary)')
    expect(all.session.surface.replaceGeneration).toBe(0)
    expect(surfaceOf(all.session)).toBe(`${FULL} more Done.`)
    expect(all.requests().at(-1)!.messages).toHaveLength(5)
    expect(all.summaryRequests().length).toBeLessThanOrEqual(mostRequests)
    expect(all.warnings()).toHaveLength(1)
    expect(ran).toBe(0)
    expectSound(all)

    works = true
    await say(all, 'and now')
    expect(bracketsOf(all.session)).toMatch(/ summary\(\w+\) checkpoint end$/)
    expect(turnEnds(all.session).every(end => end === 'completed')).toBe(true)
    expectSound(all)
  })

  it('SUMFAIL-08 SUMFAIL-09 a person who asked is told so, and the next turn has everything', async () => {
    const all = await house({ summary: { failure: { code: 'AUTH', message: 'overloaded' } } })
    await play(all, FULL)
    expect(await all.ctx.get('commands')!.execute('/compact', all.agent)).toMatchObject({ error: expect.stringContaining('overloaded') })
    await say(all, 'go on')
    expect(all.requests().at(-1)!.messages).toHaveLength(5)
    expectSound(all)
  })

  it('OVFCALL-12 ten failures leave nothing behind that the next attempt would read', async () => {
    const all = await house({ summary: { failure: { code: 'AUTH', message: 'overloaded' } } })
    await play(all, FULL)
    for (let attempt = 0; attempt < 10; attempt++) {
      await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal).catch(() => null)
    }
    const requests = all.summaryRequests().map(sent)
    expect(new Set(requests).size).toBe(1)
    expect(requests).toHaveLength(10)
    expectSound(all)
  })
})

describe('an earlier checkpoint', () => {
  it('D05 still stands when the next summary is cut off, and no later summary reads the cut one', async () => {
    const partial = sized('HALF', 75)
    const summaries: ScriptedReply[] = [SUMMARY, { content: [text(partial)], finish: 'max-tokens' }, SUMMARY]
    const all = await house({ summary: () => summaries.shift()! })
    await play(all, `${FULL} u250 a300`)
    const [first] = checkpoints(all.session)
    await play(all, 'u4000 a900')
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
    await play(all, 'u900 a100')
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end start(pressure) end(summary)')
    expect(checkpoints(all.session)).toEqual([first])
    await play(all, 'u100 a100')
    expect(bracketsOf(all.session)).toMatch(/start\(pressure\) summary\(\w+\) checkpoint end$/)
    for (const request of all.model.requests) expect(sent(request)).not.toContain('HALF')
    expect(all.session.deriveMessages().map(message => textOf(message.content)).join()).not.toContain('HALF')
    expectSound(all)
  })

  it('SUMFAIL-01 with a short tail is nothing to compact, and stays as it is', async () => {
    const all = await house()
    await play(all, `${FULL} u250 a300`)
    const compaction = all.ctx.get('compaction')!
    const never = new AbortController().signal
    while ((await compaction.compactNow(all.agent, never)) !== null);
    const before = [all.session.log.length, checkpoints(all.session)]
    expect(await compaction.compactIfNeeded(all.agent, 'pressure', never)).toBeNull()
    expect(await compaction.compactNow(all.agent, never)).toBeNull()
    expect([all.session.log.length, checkpoints(all.session)]).toEqual(before)
    expectSound(all)
  })
})

it('D06 a text beside a call: the text alone is kept, the call is never run', async () => {
  let ran = 0
  const bash = { name: 'bash', parameters: { type: 'object' }, execute: () => `${(ran += 1)}` }
  const all = await pressed({ summary: { content: [reasoning(50), text(SUMMARY), call('x', 'bash', '{"command":"rm x"}')] }, tools: [bash] })
  expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
  expect(eventsOf(all.session, 'compaction/summary')[0]!.data.summary).toEqual([text(SUMMARY)])
  expect(checkpoints(all.session)[0]).not.toContain('rm x')
  expect(ran).toBe(0)
  expect(all.summaryRequests()[0]!.toolChoice).toBe('none')
  expectSound(all)
})

describe('a request for a summary fits, answer included', () => {
  const requestTokens = (request: GenerateOptions) => sizeOf(request) + request.maxTokens!

  it.each<[string, string, string]>([
    ['OVFCALL-01 at 0.99 of the window, on demand', 'u6000 a1000 u900 a1900', ''],
    ['OVFCALL-07 at its last token', 'u6000 a1000 u900 a2080', ''],
    ['OVFCALL-03 with a large earlier checkpoint', 'u6000 a1000 u900 a1900', 'u4000 a300 u300 a1000'],
  ])('%s', async (_title, picture, more) => {
    const all = await house({ compaction: { auto: false }, summary: sized('SUM', 1_000) })
    await play(all, picture)
    const compaction = all.ctx.get('compaction')!
    expect(await compaction.compactNow(all.agent, new AbortController().signal)).not.toBeNull()
    if (more !== '') {
      await play(all, more)
      expect(await compaction.compactNow(all.agent, new AbortController().signal)).not.toBeNull()
    }
    for (const request of all.summaryRequests()) expect(requestTokens(request)).toBeLessThanOrEqual(WINDOW_TOKENS)
    expectSound(all)
  })

  it('OVFCALL-02 whatever it is that fills it: context of programs as well', async () => {
    const all = await house({ compaction: { auto: false } })
    for (let note = 0; note < 60; note++) all.agent.inject(sized('x500', 500), { kind: 'context' })
    await play(all, 'u100 a100')
    await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
    expect(all.summaryRequests().length).toBeGreaterThan(1)
    for (const request of all.summaryRequests()) expect(requestTokens(request)).toBeLessThanOrEqual(WINDOW_TOKENS)
    expect(bracketsOf(all.session)).toBe('start(manual) summary(transcript) checkpoint end')
    expectSound(all)
  })

  it('OVFCALL-04 OVFCALL-05 OVFCALL-06 OVFCALL-08 the answer is limited, and by no more than an eighth of the window', async () => {
    for (const [windowTokens, limit] of [[10_000, 1_250], [40_000, 5_000], [200_000, 8_192]] as const) {
      const all = await house({ models: { m: { contextWindow: windowTokens } }, options: ROUTE })
      await play(all, `u${windowTokens * 0.6} a100 u${windowTokens * 0.15} a100`)
      await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
      const [request] = all.summaryRequests()
      expect(request!.maxTokens).toBe(limit)
      expect(requestTokens(request!)).toBeLessThanOrEqual(windowTokens)
    }
  })

  it('OVFCALL-10 a summarizer with a larger window is sent everything at once', async () => {
    const all = await pressed({
      compaction: { summarizationProvider: 'scripted', summarizationModel: 'large' },
      models: { m: { contextWindow: WINDOW_TOKENS }, large: { contextWindow: 128_000 } },
    })
    expect(all.summaryRequests().map(({ model }) => model)).toEqual(['large'])
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(transcript) checkpoint end')
    expectSound(all)
  })

  it('OVFCALL-11 one with a smaller window is sent parts that fit it, and no request holds it all', async () => {
    const all = await house({
      compaction: { summarizationProvider: 'scripted', summarizationModel: 'small' },
      models: { m: { contextWindow: 40_000 }, small: { contextWindow: 8_000 } },
    })
    await play(all, `${'u4000 a500 '.repeat(8)}u100 a10`)
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(transcript) checkpoint end')
    expect(all.summaryRequests().length).toBeGreaterThan(2)
    for (const request of all.summaryRequests()) expect(requestTokens(request)).toBeLessThanOrEqual(8_000)
    expect(eventsOf(all.session, 'compaction/summary')[0]!.data.llmStreamCall).toBeUndefined()
    expectSound(all)
  })

  it('OVFCALL-09 where it does not fit after all, that is said, and nothing is lost', async () => {
    const all = await pressed({
      compaction: { summarizationProvider: 'scripted', summarizationModel: 'tiny' },
      models: { m: { contextWindow: WINDOW_TOKENS }, tiny: {} },
      summary: { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long for tiny' } },
    })
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary)')
    expect(all.warnings()).toEqual([expect.stringContaining('too long for tiny')])
    expect(all.summaryRequests().length).toBeLessThanOrEqual(8)
    expectSound(all)
  })

  it('OVFCALL-13 a refusal of another kind is no reason to compact', async () => {
    const all = await house({ replies: [{ failure: { code: 'INVALID_REQUEST', message: 'the request is too large for this plan, context window or not', status: 400 } }] })
    await say(all, sized('u2000', 2_000))
    expect(bracketsOf(all.session)).toBe('')
    expect(turnEnds(all.session)).toEqual(['INVALID_REQUEST'])
    expectSound(all)
  })
})

it('SUMTOOL-04 FEAT-12 a model that knows no tools writes summaries as well', async () => {
  const all = await house()
  await play(all, FULL)
  expect(await all.ctx.get('commands')!.execute('/compact', all.agent)).toMatchObject({ text: expect.stringMatching(/^Compacted 3 entries/) })
  expect(eventsOf(all.session, 'compaction/summary')[0]!.data.summary).toEqual([text(SUMMARY)])
  expectSound(all)
})
