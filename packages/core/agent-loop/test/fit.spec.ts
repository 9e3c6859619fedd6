import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import { clampOutput, plainlyExceeds, reserveTokens, sameJson } from '../src/envelope.ts'
import { calls, harness, story, tool } from './harness.ts'

/** About `tokens` tokens at four characters each. */
const words = (tokens: number) => 'abc '.repeat(tokens)

async function metered(init: Parameters<typeof harness>[0]) {
  const all = await harness(init)
  await all.ctx.plugin(TokenMeterService, { charsPerToken: 4 })
  return all
}

describe('output on the wire', () => {
  it('is clamped to what the window leaves, in the request only', async () => {
    const { agent, session, model } = await metered({
      replies: ['ok'],
      models: { m: { contextWindow: 131_072 } },
      options: { provider: 'scripted', model: 'm', maxTokens: 65_536 },
    })
    agent.send(words(70_000))
    await agent.whenIdle()
    const { maxTokens = 0 } = model.requests[0]!
    expect(maxTokens).toBeLessThanOrEqual(131_072 - 70_000)
    expect(maxTokens).toBeGreaterThan(60_000)
    expect([...session.log.from(0)].find(({ type }) => type === 'request/header')).toMatchObject({ data: { config: { maxTokens: 65_536 } } })
  })

  it('is clamped also where no limit is set but the model has one, and only then named', async () => {
    const { agent, model } = await metered({
      replies: ['ok', 'ok'],
      models: { m: { contextWindow: 131_072, maxOutputTokens: 65_536 } },
      options: { provider: 'scripted', model: 'm' },
    })
    agent.send(words(10))
    await agent.whenIdle()
    expect(model.requests[0]).not.toHaveProperty('maxTokens')
    agent.send(words(70_000))
    await agent.whenIdle()
    expect(model.requests[1]!.maxTokens).toBeLessThanOrEqual(131_072 - 70_000)
    expect(model.requests[1]!.maxTokens).toBeGreaterThan(60_000)
  })

  it.each([
    ['there is room', { contextWindow: 131_072 }, 10],
    ['output does not count inside the window', { contextWindow: 75_000, outputInWindow: false }, 65_000],
    ['the window is not known', {}, 65_000],
  ])('is as configured where %s', async (_name, info, maxTokens) => {
    const { agent, model } = await metered({ replies: ['ok'], models: { m: info }, options: { provider: 'scripted', model: 'm', maxTokens } })
    agent.send(words(70_000))
    await agent.whenIdle()
    expect(model.requests[0]?.maxTokens).toBe(maxTokens)
  })

  it('stays unset where nobody set it', async () => {
    const { agent, model } = await metered({ replies: ['ok'], models: { m: { contextWindow: 1_000 } } })
    agent.send(words(900))
    await agent.whenIdle()
    expect(model.requests[0]).not.toHaveProperty('maxTokens')
  })
})

describe('a request that plainly cannot fit a capacity just learned', () => {
  const models = { m: { contextWindow: 1_000 }, big: { contextWindow: 10_000 } }

  it('fails unsent, once a chain: after that the provider has the last word', async () => {
    const { ctx, agent, session, model } = await metered({ replies: ['it fits after all'], models })
    const failures: unknown[] = []
    ctx.on('agent/request-error', async event => {
      failures.push(event.failure)
      return { kind: 'retry' }
    })
    agent.send(words(1_300))
    await agent.whenIdle()
    expect(story(session).replaceAll('abc ', '')).toBe(
      '+send turn1 u() [1 header(initial) context 1] /turn1(CONTEXT_WINDOW_EXCEEDED) turn2(retry) [1 a(it fits after all) 1] /turn2(completed)',
    )
    expect(failures).toMatchObject([{ code: 'CONTEXT_WINDOW_EXCEEDED', message: expect.stringContaining('not sent') }])
    expect(model.requests).toHaveLength(1)
  })

  it('is sent when the estimate may be wrong', async () => {
    const { agent, model } = await metered({ replies: ['ok'], models })
    agent.send(words(1_200))
    await agent.whenIdle()
    expect(model.requests).toHaveLength(1)
  })

  it('is judged when the route changes, and not while it stays: what was known is the pre-step\'s to keep to', async () => {
    const { ctx, agent, session, model } = await metered({
      replies: [calls('', ['a', 'big']), 'ok', 'never'],
      models,
      tools: [tool('big', () => words(2_000))],
    })
    const routes = ['m', 'm', 'big', 'm']
    ctx.on('agent/request', async () => ({ provider: 'scripted', model: routes.shift()! }))
    for (const word of ['a', 'b', 'c']) agent.send(word)
    await agent.whenIdle()
    expect(story(session).match(/\/turn\d\([^)]*\)/g)).toEqual(['/turn1(completed)', '/turn2(completed)', '/turn3(CONTEXT_WINDOW_EXCEEDED)'])
    expect(model.requests).toHaveLength(3)
  })
})

describe('the arithmetic', () => {
  it.each([
    [100, 10_000, true, 100],
    [8_000, 10_000, true, 5_000],
    [8_000, 10_001, true, 5_000],
    [8_000, 10_000, false, 0],
    [undefined, 10_000, true, 0],
  ])('reserves, of maxTokens %s in a window of %s (output inside: %s), %s', (maxTokens, window, inside, reserve) => {
    expect(reserveTokens(window, maxTokens, inside)).toBe(reserve)
  })

  it('calls plain what is at least a quarter over', () => {
    expect([1_249, 1_250].map(tokens => plainlyExceeds(tokens, 1_200, 200))).toEqual([false, true])
  })

  it('clamps to what is left, and not at all where nothing is', () => {
    expect([0, 500, 900, 999, 1_000, 1_100].map(request => clampOutput(400, 1_000, request))).toEqual([400, 400, 100, 1, 400, 400])
  })

  it('compares plain data by value, whatever the order of keys', () => {
    const a = { x: [1, { y: null }], z: 'z' }
    expect(sameJson(a, { z: 'z', x: [1, { y: null }] })).toBe(true)
    for (const b of [null, undefined, [], {}, { ...a, more: 1 }, { x: [1, { y: 0 }], z: 'z' }, { x: { 0: 1, 1: { y: null } }, z: 'z' }, { x: [1], z: 'z' }]) {
      expect(sameJson(a, b)).toBe(false)
      expect(sameJson(b, a)).toBe(false)
    }
  })
})
