import type { CallConfig, EventSink } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { calls, harness, reread, story, tool } from './harness.ts'

const noop = tool('noop', () => 'ok')

describe('the order of a step', () => {
  it('is: input, step/start, header, context, answer, calls with results, step/end', async () => {
    const { agent, session, model } = await harness({ replies: [calls('look', ['a', 'noop'], ['b', 'noop']), 'done'], tools: [noop] })
    agent.send('hi')
    await agent.whenIdle()
    expect(story(session)).toBe(
      '+send turn1 u(hi) [1 header(initial) context a(look a b) call(a) result(a) call(b) result(b) 1] [2 a(done) 2] /turn1(completed)',
    )
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 4])
    expect(model.requests[1]?.messages).toEqual(session.deriveMessages().slice(0, 4))
    expectReplays(session)
  })

  it('puts agent/pre-step outside steps and agent/request inside, once a step each', async () => {
    const { ctx, agent, session } = await harness({ replies: [calls('', ['a', 'noop']), 'done'], tools: [noop] })
    const seen: string[] = []
    ctx.on('agent/pre-step', (event, next) => {
      seen.push(`pre-step ${event.turn}.${event.step} after ${session.log.at(session.log.length - 1).type}, ${event.messages.length} claimed`)
      return next()
    })
    ctx.on('agent/request', (event, next) => {
      seen.push(`request ${event.turn}.${event.step} after ${session.log.at(session.log.length - 1).type}`)
      return next()
    })
    agent.send('hi')
    await agent.whenIdle()
    expect(seen).toEqual([
      'pre-step 1.1 after turn/start, 1 claimed',
      'request 1.1 after step/start',
      'pre-step 1.2 after step/end, 0 claimed',
      'request 1.2 after step/start',
    ])
  })

  it('flushes when input is accepted, before every request, before every batch of calls, and when coming to rest', async () => {
    const taken: string[] = []
    const flushes: string[] = []
    const sink: EventSink = {
      append: event => void taken.push(event.type),
      flush: async () => void flushes.push(taken.at(-1)!),
    }
    const { agent, session, model } = await harness({ replies: [calls('', ['a', 'noop']), 'done'], tools: [noop], sink })
    agent.send('hi')
    await agent.whenIdle()
    expect(flushes).toEqual(['inbox/spliced', 'request/context', 'tool/call', 'step/start', 'turn/end'])
    expect(taken).toEqual([...session.log.from(0)].map(({ type }) => type))
    expect(model.requests).toHaveLength(2)
  })

  it('sends nothing that could not be made durable', async () => {
    let broken = false
    const sink: EventSink = {
      append: () => {},
      flush: async () => {
        if (broken) throw new Error('disk full')
      },
    }
    const { ctx, agent, session, model, complaints } = await harness({ replies: ['never'], sink })
    ctx.on('agent/request', (_event, next) => {
      broken = true
      return next()
    })
    agent.send('hi')
    await agent.whenIdle()
    expect(story(session)).toBe('+send turn1 u(hi) [1 header(initial) context 1] /turn1(UNKNOWN)')
    expect(model.requests).toHaveLength(0)
    expect(complaints().join()).toContain('disk full')
  })

  it('sends system prompt and tools as they stand when the step begins', async () => {
    const { ctx, agent, session, model } = await harness({ replies: ['one', 'two'] })
    const dispose = ctx.systemPrompt.registerSection({ name: 'rules', text: 'Be brief.' })
    agent.send('a')
    await agent.whenIdle()
    dispose()
    ctx.tools.registerTool(noop)
    agent.send('b')
    await agent.whenIdle()
    expect(model.requests.map(({ system, tools }) => [system, tools?.length])).toEqual([['Be brief.', undefined], [undefined, 1]])
    expect(story(session)).toBe(
      '+send turn1 u(a) [1 header(initial) context a(one) 1] /turn1(completed) +send turn2 u(b) [1 header(change) a(two) 1] /turn2(completed)',
    )
  })

  it('tells observers of chunks as they come, and survives the ones that throw', async () => {
    const { ctx, agent, complaints } = await harness({ replies: ['hello'] })
    let text = ''
    ctx.on('agent/delta', () => {
      throw new Error('clumsy')
    })
    ctx.on('agent/delta', (who, chunk) => {
      if (who === agent && chunk.type === 'text-delta') text += chunk.text
    })
    agent.send('hi')
    await agent.whenIdle()
    expect(text).toBe('hello')
    expect(complaints().join()).toContain('clumsy')
  })
})

describe('the request header', () => {
  it('is logged when it differs from the last one, whatever the order of its keys', async () => {
    const { ctx, agent, session } = await harness({ replies: ['1', '2', '3'] })
    const configs: CallConfig[] = [
      { provider: 'scripted', model: 'm', maxTokens: 10, temperature: 0 },
      { temperature: 0, maxTokens: 10, model: 'm', provider: 'scripted' },
      { provider: 'scripted', model: 'm', maxTokens: 11, temperature: 0 },
    ]
    ctx.on('agent/request', async () => configs.shift()!)
    for (const word of ['a', 'b', 'c']) agent.send(word)
    await agent.whenIdle()
    expect(story(session).match(/header\(\w+\)/g)).toEqual(['header(initial)', 'header(change)'])
  })

  it('is not logged again by a resume that changes nothing, and says so by one that does', async () => {
    const first = await harness({ replies: ['1'] })
    first.agent.send('a')
    await first.agent.whenIdle()

    const same = await harness({ replies: ['2'], seed: reread(first.session), options: {} })
    same.agent.send('b')
    await same.agent.whenIdle()
    expect(story(same.session, first.session.log.length)).toBe('end-seed +send turn2 u(b) [1 a(2) 1] /turn2(completed)')

    const other = await harness({ replies: ['2', '3'], seed: reread(first.session), options: { model: 'other' } })
    other.agent.send('b')
    await other.agent.whenIdle()
    expect(story(other.session, first.session.log.length)).toBe('end-seed +send turn2 u(b) [1 header(resume) context a(2) 1] /turn2(completed)')
    expect(other.model.requests[0]).toMatchObject({ provider: 'scripted', model: 'other' })
    expectReplays(other.session)
  })
})

describe('the request context', () => {
  it('is logged when route or capacity changed, and a learned limit is no change', async () => {
    const models = { m: { contextWindow: 1000 }, n: { contextWindow: 2000, maxOutputTokens: 50 } }
    const { ctx, agent, session } = await harness({ replies: ['1', '2', '3', '4'], models })
    const routes = ['m', 'm', 'n', 'n']
    ctx.on('agent/request', async () => ({ provider: 'scripted', model: routes.shift()! }))
    agent.send('a')
    await agent.whenIdle()
    session.append('request/context', { provider: 'scripted', model: 'm', contextWindow: 900, learned: true })
    for (const word of ['b', 'c', 'd']) agent.send(word)
    await agent.whenIdle()
    expect([...session.log.from(0)].flatMap(event => (event.type === 'request/context' ? [event.data] : []))).toEqual([
      { provider: 'scripted', model: 'm', contextWindow: 1000 },
      { provider: 'scripted', model: 'm', contextWindow: 900, learned: true },
      { provider: 'scripted', model: 'n', contextWindow: 2000, maxOutputTokens: 50 },
    ])
  })
})

describe('an agent without a route', () => {
  it('fails its request, saying so', async () => {
    const { agent, session, model } = await harness({ replies: [], options: {} })
    agent.send('hi')
    await agent.whenIdle()
    expect(story(session)).toBe('+send turn1 u(hi) [1 1] /turn1(NO_ADAPTER)')
    expect(model.requests).toHaveLength(0)
  })
})

describe('endings', () => {
  it('cuts a turn at the output limit, keeping the text and whole calls, not the call that was cut off', async () => {
    const { agent, session } = await harness({
      replies: [
        { content: [{ type: 'text', text: 'so' }, { type: 'tool-call', id: 'a', name: 'noop', arguments: '{"x": "ab' }], finish: 'max-tokens' },
        { content: [{ type: 'tool-call', id: 'b', name: 'noop', arguments: '{}' }, { type: 'text', text: 'and th' }], finish: 'max-tokens' },
      ],
      tools: [noop],
    })
    agent.send('hi')
    agent.send('again')
    await agent.whenIdle()
    expect(story(session, 2)).toBe(
      'turn1 u(hi) [1 header(initial) context a(so) 1] /turn1(max-tokens) turn2 u(again) [1 a(b and th) call(b) result(b) 1] /turn2(max-tokens)',
    )
    expectReplays(session)
  })

  it('completes a turn that nothing entered without a request', async () => {
    const { ctx, agent, session, model } = await harness({ replies: [] })
    ctx.on('agent/pre-step', async () => ({ kind: 'enter', messages: [] }))
    agent.send('swallowed')
    await agent.whenIdle()
    expect(story(session)).toBe('+send turn1 - /turn1(completed)')
    expect(model.requests).toHaveLength(0)
  })
})
