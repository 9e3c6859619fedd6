/** What counts, and when it is looked at: D09, D11, D18, D19, and what was reported of METER, IMG, LATE and SWITCH. */
import { textOf, type ContentBlock, type GenerateOptions, type ScriptedReply, type TokenUsage } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, eventsOf, exactUsage, expectSound, house, meter, play, ROUTE, say, sent, sized, sizeOf, surfaceOf, text, turnEnds, until, type House, type HouseInit } from './house.ts'

const starts = ({ session }: House) => eventsOf(session, 'compaction/start').length
/** Answers with `usage`, whatever was sent. */
const reporting = (usage: TokenUsage): HouseInit => ({ usage: () => usage })

describe('usage', () => {
  it.each<[string, number, TokenUsage, string, boolean]>([
    ['D09 METER-02 nearly all of the prompt was cached: it counts', 320_000, { inputTokens: 99, cacheReadTokens: 305_000, outputTokens: 140 }, 'u100000 a50000 u50000 a30000 u9000 a10', true],
    ['D09 METER-01 the cached part is a part: it counts once', 87_500, { inputTokens: 43, cacheReadTokens: 38_153, outputTokens: 140 }, 'u4000 a500 u2500 a200', false],
    ['METER-06 what was answered is not what was asked', 30_000, { inputTokens: 18_617, outputTokens: 12_000 }, 'u4000 a500 u2500 a200', false],
    ['METER-16 the parts, whatever their total was said to be', 200_000, { inputTokens: 20_000, outputTokens: 1_000 }, 'u4000 a500 u2500 a200', false],
    ['METER-04 above the window it is not believed', 10_000, { inputTokens: 1_364_000, outputTokens: 100 }, 'u1000 a100', false],
    ['DETECT-11 nor is a sum over many requests', 10_000, { inputTokens: 0, cacheReadTokens: 1_200_000, outputTokens: 10 }, 'u1000 a100', false],
    ['nor is a usage of nothing', 10_000, { inputTokens: 0, outputTokens: 10 }, 'u6000 a1050', true],
  ])('%s', async (_title, windowTokens, usage, picture, fires) => {
    const all = await house({ models: { m: { contextWindow: windowTokens } } })
    await play(all, picture)
    all.replies.push({ content: [text(sized('last', 500))], usage })
    await say(all, sized('last', 300))
    await say(all, sized('next', 200))
    expect(starts(all)).toBe(fires ? 1 : 0)
    expectSound(all)
  })

  it('D09 above the window, the estimate decides: it fires at its own threshold', async () => {
    const all = await house({ models: { m: { contextWindow: 200_000 } }, ...reporting({ inputTokens: 99, cacheReadTokens: 305_000, outputTokens: 140 }) })
    await play(all, 'u80000 a40000 u30000 a9000')
    expect(starts(all)).toBe(0)
    await say(all, sized('next', 1_500))
    expect(starts(all)).toBe(1)
    expectSound(all)
  })

  it('METER-19 the last answer is a part of the next request', async () => {
    const all = await house({ usage: exactUsage })
    await play(all, 'u4000 a500 u1000 a2400')
    expect(starts(all)).toBe(0)
    await say(all, sized('next', 200))
    expect(starts(all)).toBe(1)
    expectSound(all)
  })

  it('METER-17 METER-18 a provider that counts more is believed, and what is kept is counted as it counts', async () => {
    const all = await house({ usage: (options, content) => ({ ...exactUsage(options, content), inputTokens: Math.round(sizeOf(options) * 1.6) }) })
    await play(all, 'u2000 a300 u1200 a300 u600 a300')
    expect(meter.measure(all.session).totalTokens).toBeGreaterThan(7_000)
    expect(meter.measure(all.session).surfaceTokens).toBeLessThan(5_000)
    await say(all, sized('next', 500))
    expect(starts(all)).toBe(1)
    expect(surfaceOf(all.session)).toBe('S a300 u600 a300 next Done.')
    expectSound(all)
  })

  it('METER-21 a provider that counts less teaches so: no compaction at half of what is really used', async () => {
    const all = await house({ usage: (options, content) => ({ ...exactUsage(options, content), inputTokens: Math.round(sizeOf(options) * 0.6) }) })
    await play(all, 'u3000 a900 u3000 a900 u2000 a900')
    expect(meter.measure(all.session).surfaceTokens).toBeGreaterThan(10_000)
    expect(starts(all)).toBe(0)
    expectSound(all)
  })
})

describe('everything that is sent counts', () => {
  it.each<[string, HouseInit, string]>([
    ['METER-13 the schemas of fifty tools', { tools: Array.from({ length: 50 }, (_, index) => ({ name: `tool${index}`, parameters: { type: 'object', description: sized('schema', 80) }, execute: () => '' })) }, 'u1500 a500 u1500 a500'],
    ['METER-14 the system prompt', { system: sized('system', 4_000) }, 'u1500 a500 u1500 a500'],
    ['METER-22 a result, before the request that would bring it', {}, 'u4000 a500 u100 ca10 ra1900 cb10 rb1700'],
  ])('%s', async (_title, init, picture) => {
    const all = await house(init)
    await play(all, picture)
    await say(all, 'next')
    expect(starts(all)).toBe(1)
    for (const request of all.requests()) expect(sizeOf(request)).toBeLessThan(9_000)
    expectSound(all)
  })

  it('METER-15 a result of structured data and images', async () => {
    const all = await house()
    const blocks = [text(JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, name: 'x' })))), { type: 'image', mediaType: 'image/png', data: 'AAAA', width: 1_500, height: 1_000 }] as const
    all.replies.push({ content: [call('a')] })
    all.results.push([...blocks])
    await say(all, 'look')
    const tokens = meter.estimateMessage({ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', content: blocks }] })
    expect(tokens).toBeGreaterThan(4_500)
    expect(meter.measure(all.session).surfaceTokens).toBeGreaterThan(tokens)
  })
})

describe('the window', () => {
  it.each<[string, number, string]>([
    ['D11 METER-05 input 70,000 and output 65,536 of 131,072', 131_072, 'u30000 a20000 u10000 a9000'],
    ['a neighbour: exactly at what the output leaves', 131_072, 'u30000 a20000 u10000 a5000'],
    ['a neighbour: output as large as the window', 65_536, 'u20000 a5000 u5000 a2500'],
  ])('%s: never more than the window on the wire', async (_title, windowTokens, picture) => {
    const all = await house({ models: { m: { contextWindow: windowTokens } }, options: { ...ROUTE, maxTokens: 65_536 } })
    await play(all, picture)
    await say(all, sized('next', 1_000))
    for (const request of all.model.requests) expect(sizeOf(request) + request.maxTokens!).toBeLessThanOrEqual(windowTokens)
    expect(starts(all)).toBeGreaterThan(0)
    expectSound(all)
  })

  it('METER-07 is not the output’s where a model counts that apart', async () => {
    const all = await house({ models: { m: { contextWindow: 131_072, outputInWindow: false } }, options: { ...ROUTE, maxTokens: 65_536 } })
    await play(all, 'u30000 a20000 u10000 a9000 u1000 a10')
    expect(starts(all)).toBe(0)
    expect(all.requests().every(({ maxTokens }) => maxTokens === 65_536)).toBe(true)
  })

  it('METER-10 METER-11 that nobody knows is not guessed: no pressure, one word of it, and an overflow still recovers', async () => {
    const all = await house({ models: {} })
    await play(all, 'u60000 a6000 u6000 a6000')
    expect(starts(all)).toBe(0)
    expect(all.warnings()).toEqual([expect.stringContaining('scripted/m is not known')])
    all.replies.push({ failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } })
    await say(all, 'next')
    expect(turnEnds(all.session).slice(-2)).toEqual(['CONTEXT_WINDOW_EXCEEDED', 'completed'])
    expectSound(all)
  })

  it('METER-12 that the server was really loaded with is learned from its refusal, and kept to', async () => {
    const all = await house({ models: { m: { contextWindow: 128_000 } } })
    await play(all, 'u2000 a900 u900 a500')
    all.replies.push({ failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'n_ctx is 4096', limitTokens: 4_096 } })
    await say(all, 'next')
    expect(eventsOf(all.session, 'request/context').at(-1)!.data).toEqual({ ...ROUTE, contextWindow: 4_096, learned: true })
    const before = all.requests().length
    await play(all, 'u400 a400 u400 a400 u400 a400 u400 a400 u400 a400')
    for (const request of all.requests().slice(before)) expect(sizeOf(request)).toBeLessThan(4_096)
    expect(eventsOf(all.session, 'compaction/start').at(-1)!.data.trigger).toBe('pressure')
    expectSound(all)
  })

  it('METER-09 is what the adapter of the route declares, whatever another one says of the same name', async () => {
    const all = await house({ models: { m: { contextWindow: 10_000 } } })
    await all.ctx.inject(['llm'], ctx => {
      ctx.llm.registerAdapter({ provider: 'catalogue', modelInfo: () => ({ contextWindow: 1_000_000 }), async *stream() {} })
    })
    await play(all, 'u6000 a900 u500 a400 u300 a10')
    expect(starts(all)).toBe(1)
  })
})

describe('D18 METER-20 a conversation in Chinese, near one token a character', () => {
  it.each([['taught by the provider', true], ['by the estimate alone', false]])('%s: the tail is two or three messages, and the window is never exceeded', async (_title, teaches) => {
    const chars = (messages: readonly { content: readonly ContentBlock[] }[]) => messages.flatMap(({ content }) => content).reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0)
    const windowTokens = 16_000
    const all = await house({
      configs: new Map([['token-meter', {}]]),
      compaction: { retainTokens: 2_000 },
      models: { m: { contextWindow: windowTokens } },
      options: ROUTE,
      ...(teaches ? { usage: ({ messages }: { messages: Parameters<typeof chars>[0] }) => ({ inputTokens: Math.round(chars(messages) * 0.95), outputTokens: 2 }) } : {}),
    })
    for (let message = 0; message < 20 && starts(all) === 0; message++) await say(all, '我们今天讨论一下压缩算法的实现细节以及测试。'.repeat(48).slice(0, 1_000))
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
    const kept = all.session.deriveMessages().filter(({ content }) => chars([{ content }]) === 1_000)
    expect(kept.length - 1).toBeGreaterThanOrEqual(1) // the newest came with the step
    expect(kept.length - 1).toBeLessThanOrEqual(3)
    for (const { messages } of all.requests()) expect(chars(messages) * 0.95).toBeLessThan(windowTokens)
    expectSound(all)
  })
})

describe('images', () => {
  const png = (bytes: number, size = {}): ContentBlock => ({ type: 'image', mediaType: 'image/png', data: 'iVBORw0K'.repeat(Math.ceil((bytes * 4) / 3 / 8)), ...size })

  it.each([['of known size', { width: 3_000, height: 2_000 }], ['of unknown size', {}]])('D19 IMG-01 a picture of 2.5 MB %s is some thousand tokens, not half a million', async (_title, size) => {
    const all = await house({ models: { m: { contextWindow: 200_000 } } })
    await play(all, 'u19000 a1000')
    const before = meter.measure(all.session).totalTokens
    all.replies.push({ content: [call('a')] })
    all.results.push([png(2_500_000, size)])
    await say(all, 'look')
    expect(starts(all)).toBe(0)
    expect(meter.measure(all.session).totalTokens - before).toBeLessThan(5_100)
    expectSound(all)
  })

  it.each([['of known size', { width: 1_500, height: 1_000 }], ['of unknown size', {}]])('D19 IMG-02 IMG-04 sixty of them %s are sixty thousand tokens at least', async (_title, size) => {
    const all = await house({ models: { m: { contextWindow: 200_000 } } })
    all.agent.send(Array.from({ length: 60 }, () => png(3_000, size)))
    await all.agent.whenIdle()
    expect(meter.measure(all.session).surfaceTokens).toBeGreaterThanOrEqual(60_000)
  })

  it.each([['verbatim', {}], ['as a transcript', { summarizationProvider: 'scripted', summarizationModel: 'other' }]])('D19 IMG-05 asked for %s, a summary holds no byte of them', async (_title, compaction) => {
    const all = await house({ compaction, models: { m: { contextWindow: 10_000 }, other: { contextWindow: 10_000 } } })
    all.agent.send([text(sized('see', 500)), png(60_000, { width: 640, height: 480 })])
    await all.agent.whenIdle()
    await play(all, 'u5500 a900 u400 a300 u600 a10')
    expect(starts(all)).toBe(1)
    const texts = all.summaryRequests().flatMap(({ messages }) => messages.flatMap(({ content }) => content)).flatMap(block => (block.type === 'text' ? [block.text] : []))
    expect(texts.join()).not.toContain('iVBORw0K')
    expect(JSON.stringify(eventsOf(all.session, 'compaction/summary'))).not.toContain('iVBORw0K')
    expect(JSON.stringify(all.session.deriveMessages())).not.toContain('iVBORw0K')
    expectSound(all)
  })

  it('IMG-03 a provider that counts bytes refuses forty-five of them: the older ones leave, the newest stays', async () => {
    const all = await house({ models: { m: { contextWindow: 200_000 } } })
    const bytes = (request: GenerateOptions) => request.messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0)
    for (let picture = 0; picture < 45; picture++) {
      all.agent.inject([png(20_000)])
      await say(all, `picture ${picture}`)
    }
    all.replies.push(...Array.from({ length: 2 }, (): ScriptedReply => request => (bytes(request) > 900_000 ? { failure: { code: 'REQUEST_TOO_LARGE', message: 'payload', status: 413 } } : 'I see.')))
    await say(all, 'Compare them.')
    expect(turnEnds(all.session).slice(-2)).toEqual(['REQUEST_TOO_LARGE', 'completed'])
    expect(bytes(all.requests().at(-1)!)).toBeLessThan(100_000)
    expect(textOf(all.session.deriveMessages().at(-2)!.content)).toBe('Compare them.')
    expectSound(all)
  })

  it('IMG-06 the newest message is kept, whatever is in it', async () => {
    const all = await house({ compaction: { auto: false } })
    await play(all, 'u3000 a500')
    all.agent.inject([png(1_000_000)])
    await say(all, 'look at it')
    await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
    await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
    expect(bracketsOf(all.session)).toContain('start(manual) summary(replay) checkpoint end')
    expectSound(all)
  })
})

describe('late', () => {
  it('LATE-01 sixty steps of two thousand tokens in a window of 100,000: at the boundary of a step, and below the window throughout', async () => {
    const all = await house({ models: { m: { contextWindow: 100_000 } } })
    await play(all, `u100 ${'ca10 ra2000 '.repeat(60)}a10`)
    expect(starts(all)).toBeGreaterThan(0)
    expect(turnEnds(all.session)).toEqual(['completed'])
    for (const request of all.requests()) expect(sizeOf(request)).toBeLessThan(82_500)
    expectSound(all)
  })

  it('LATE-02 an overflow in the twelfth step is mended inside the run', async () => {
    const all = await house({ models: { m: { contextWindow: 100_000 } } })
    for (let step = 1; step < 12; step++) {
      all.replies.push({ content: [call(`c${step}`)] })
      all.results.push(sized(`r${step}`, 1_000))
    }
    all.replies.push({ failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } }, { content: [call('c12')] }, 'All done.')
    await say(all, 'twelve things')
    expect(turnEnds(all.session)).toEqual(['CONTEXT_WINDOW_EXCEEDED', 'completed'])
    expect(eventsOf(all.session, 'tool/call').map(({ data }) => data.callId)).toEqual(Array.from({ length: 12 }, (_, index) => `c${index + 1}`))
    expectSound(all)
  })

  it('LATE-03 steering, pressure and a summary that fails: the run goes on with everything', async () => {
    const all = await house({ summary: '' })
    await play(all, 'u4000 a500 u500 a400')
    all.replies.push({ content: [call('a')] })
    all.results.push((async () => {
      await until(() => eventsOf(all.session, 'tool/call').length === 1)
      all.agent.steer('and be quick')
      return sized('ra1900', 1_900)
    })())
    await say(all, sized('more', 700))
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary)')
    expect(all.requests().at(-1)!.messages).toHaveLength(8)
    expect(surfaceOf(all.session)).toMatch(/ra1900 and Done\.$/)
    expectSound(all)
  })
})

describe('switched to a smaller window', () => {
  it.each([
    ['SWITCH-01 one that plainly cannot hold it: not sent, compacted first', 180_000],
    ['one that may or may not', 140_000],
  ])('%s', async (_title, historyTokens) => {
    const models = { m: { contextWindow: 1_000_000 }, small: { contextWindow: 128_000 } }
    const all = await house({ models })
    await play(all, `u${historyTokens / 2} a2000 u${historyTokens / 2 - 3_000} a1000`)
    all.ctx.on('agent/request', async (event, next) => ({ ...(await next()), model: 'small' }))
    // The small one refuses what does not fit.
    all.replies.push(options => (sizeOf(options) > 128_000 ? { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } } : 'Done.'))
    await say(all, 'next')
    const small = all.requests().filter(({ model }) => model === 'small')
    expect(sizeOf(small.at(-1)!)).toBeLessThan(0.8 * 128_000)
    expect(small).toHaveLength(historyTokens === 180_000 ? 1 : 2)
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    for (const request of all.summaryRequests()) expect(sizeOf(request) + request.maxTokens!).toBeLessThanOrEqual(models[request.model as 'small'].contextWindow)
    expectSound(all)
  })

  it('STATE-06 a summary by another model leaves the conversation with its own', async () => {
    const all = await house({
      compaction: { summarizationProvider: 'scripted', summarizationModel: 'other' },
      models: { m: { contextWindow: 10_000 }, other: { contextWindow: 10_000 } },
    })
    await play(all, 'u6000 a900 u500 a400 u300 a10 u10 a10')
    expect(all.summaryRequests().map(({ model }) => model)).toEqual(['other'])
    expect(new Set(all.requests().map(({ model }) => model))).toEqual(new Set(['m']))
    expect(eventsOf(all.session, 'request/header')).toHaveLength(1)
    expectSound(all)
  })

  it('REASON-08 and back: what a model signed is on nobody else’s messages', async () => {
    const all = await house({ models: { m: { contextWindow: 10_000 }, other: { contextWindow: 10_000 } } })
    all.replies.push({ content: [{ type: 'reasoning', text: 'hm', providerMetadata: { signature: 'sig-m' } }, text('I see.')] })
    await say(all, 'think')
    const off = all.ctx.on('agent/request', async (event, next) => ({ ...(await next()), model: 'other' }))
    await play(all, 'u6000 a900')
    off()
    await play(all, 'u500 a400 u300 a10')
    expect(starts(all)).toBe(1)
    for (const message of all.session.deriveMessages()) if (JSON.stringify(message).includes('sig-m')) expect(message).toMatchObject({ provider: 'scripted', model: 'm' })
    expect(sent(all.requests().at(-1)!)).not.toContain('sig-m')
    expectSound(all)
  })
})
