/**
 * Strategy `replay`: the summary request is, but for its directive, an exact prefix of the last routed request.
 */
import { textOf, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, converse, expectSound, harness, preStep, sized, SUMMARY, type Harness, type HarnessInit } from './harness.ts'

const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { at: { type: 'string' } } }, execute: () => sized('seen', 900) }
const lookAgain = (n: number): ScriptedReply => ({
  content: [
    { type: 'reasoning', text: 'Where was I?', providerMetadata: { signature: `s${n}` } },
    { type: 'text', text: `Look ${n}.` },
    { type: 'tool-call', id: `c${n}`, name: 'look', arguments: `{"at": "${n}"}` },
  ],
})

/** One turn that calls its tool until the window is in need of a compaction, and a little longer. */
async function runaway(init: HarnessInit = {}): Promise<Harness> {
  const all = await harness({
    system: 'Be brief.',
    tools: [look],
    replies: [...Array.from({ length: 10 }, (_, n) => lookAgain(n)), 'done'],
    ...init,
  })
  all.agent.send([{ type: 'text', text: 'Look at everything.' }, { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=', width: 64, height: 64 }])
  await all.agent.whenIdle()
  expectSound(all.session)
  return all
}

const summaryOf = ({ session }: Harness) => [...session.log.from(0)].find((event): event is SessionEvent<'compaction/summary'> => event.type === 'compaction/summary')!

it('same route, system prompt and tools; messages a prefix, deep-equal; the directive as one trailing message', async () => {
  const all = await runaway()
  expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
  const asked = all.model.requests.findIndex(({ purpose }) => purpose === 'compaction')
  const [summary, routed] = [all.model.requests[asked]!, all.model.requests[asked - 1]!]
  expect(summary).toMatchObject({ provider: routed.provider, model: routed.model, sessionId: 's', purpose: 'compaction', toolChoice: 'none' })
  expect(summary.system).toBe(routed.system)
  expect(summary.tools).toEqual(routed.tools)
  expect(summary.signal).toBeInstanceOf(AbortSignal)
  expect(routed).not.toHaveProperty('purpose')
  const prefix = summary.messages.slice(0, -1)
  expect(prefix.length).toBeGreaterThan(10)
  expect(prefix).toEqual(routed.messages.slice(0, prefix.length))
  // As text too, key by key: that is what a provider's prefix cache compares.
  expect(JSON.stringify(routed.messages)).toContain(JSON.stringify(prefix).slice(0, -1))
  const directive = summary.messages.at(-1)!
  expect(directive).toMatchObject({ role: 'user', content: [{ type: 'text' }] })
  expect(textOf(directive.content)).toContain('is about to be replaced by a checkpoint')
})

it('the model thinks as hard as it was asked to: a provider that thinks differently reads its cache differently', async () => {
  const all = await harness({ tools: [look], replies: [...Array.from({ length: 10 }, (_, n) => lookAgain(n)), 'done'] })
  all.ctx.on('agent/request', async (_event, next) => ({ ...(await next()), reasoningEffort: 'high' }))
  all.agent.send('Look at everything.')
  await all.agent.whenIdle()
  expect(all.model.requests.find(({ purpose }) => purpose === 'compaction')).toMatchObject({ toolChoice: 'none', reasoningEffort: 'high' })
})

it('a direct call, not a step: agent/request never sees it, llm/stream does, and the log no request of it', async () => {
  const seen: string[] = []
  const all = await harness({ tools: [look], replies: [...Array.from({ length: 10 }, (_, n) => lookAgain(n)), 'done'] })
  all.ctx.on('agent/request', async (event, next) => { seen.push(`request ${event.step}`); return next() })
  all.ctx.on('llm/stream', ({ options }, next) => { seen.push(`stream ${options.purpose ?? ''}`.trim()); return next() })
  all.agent.send('Look at everything.')
  await all.agent.whenIdle()
  const place = seen.indexOf('stream compaction')
  expect(place).toBeGreaterThan(0)
  expect(seen[place - 1]).toBe('stream')
  expect(seen[place + 1]).toMatch(/^request/)
  expect(seen.filter(word => word === 'stream compaction')).toHaveLength(1)
  expect([...all.session.log.from(0)].filter(({ type }) => type === 'request/header')).toHaveLength(1)
})

it('stands after a step’s end and before the next step’s start', async () => {
  const all = await runaway()
  const types = [...all.session.log.from(0)].map(({ type }) => type)
  const start = types.indexOf('compaction/start')
  expect(types.slice(start - 1, start + 5)).toEqual(['step/end', 'compaction/start', 'compaction/summary', 'user/message', 'compaction/end', 'step/start'])
})

it('comes before whoever reads the surface to add context, also those who were there first', async () => {
  const seen: number[] = []
  const all: Harness = await harness({
    before: ctx => void ctx.on('agent/pre-step', async ({ agent }, next) => {
      seen.push(agent.session.surface.replaceGeneration)
      return next()
    }),
  })
  converse(all.session, 'u3000 a3000 u1000 a1500')
  await preStep(all)
  expect(seen).toEqual([1])
})

it('what follows is sent the checkpoint and the tail', async () => {
  const all = await runaway()
  const next = all.model.requests[all.model.requests.findIndex(({ purpose }) => purpose === 'compaction') + 1]!
  const checkpoint = textOf(next.messages[0]!.content)
  expect(checkpoint).toContain('> Look at everything.\n> [image 64×64]')
  expect(checkpoint).toContain(SUMMARY.trim())
  expect(next.messages.slice(1).map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant', 'tool'])
  expect(JSON.stringify(next.messages)).not.toContain('iVBORw0KGgo')
})

describe('records the call that was made', () => {
  it('its route, limit, usage and raw reply, and that one call of ctx.llm made it', async () => {
    const content = [{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: SUMMARY }] as const
    const usage = { inputTokens: 12, cacheReadTokens: 7_000, outputTokens: 200 }
    const all = await runaway({ summary: { content, usage } })
    expect(summaryOf(all).data).toMatchObject({
      provider: 'scripted', model: 'm', maxTokens: 1_250, usage, rawOutput: content, llmStreamCall: true, strategy: 'replay', summary: [{ type: 'text', text: SUMMARY.trim() }],
    })
  })

  it('the route that served it where it was rerouted on its way', async () => {
    const all = await harness()
    all.ctx.on('llm/stream', (request, next) => {
      if (request.options.purpose === 'compaction') request.options = { ...request.options, model: 'elsewhere' }
      return next()
    })
    converse(all.session, 'u3000 a3000 u1000 a1500')
    await preStep(all)
    expect(all.summaryRequests()).toMatchObject([{ model: 'elsewhere' }])
    expect(summaryOf(all).data).toMatchObject({ provider: 'scripted', model: 'elsewhere' })
  })

  it('its usage is the summarizer’s and does not move the meter', async () => {
    const all = await harness({ summary: { content: [{ type: 'text', text: SUMMARY }], usage: { inputTokens: 1, outputTokens: 1 } } })
    converse(all.session, 'u3000 a3000 u1000 a1500')
    await preStep(all)
    expect(all.ctx.tokenMeter.measure(all.session)).toMatchObject({ basis: 'estimate' })
  })
})

describe('asks', () => {
  const PAIR = { summarizationProvider: 'scripted', summarizationModel: 'small' }

  it('the configured pair, with the span as a transcript, for a prefix would warm nobody’s cache', async () => {
    const all = await harness({ config: PAIR })
    converse(all.session, 'u3000 a3000 u1000 a1500', { system: 'Be brief.' })
    await preStep(all)
    const [request] = all.summaryRequests()
    expect(request).toMatchObject({ provider: 'scripted', model: 'small' })
    expect(request!.messages).toHaveLength(1)
    expect(request).not.toHaveProperty('system')
    expect(summaryOf(all).data).toMatchObject({ model: 'small', strategy: 'transcript', llmStreamCall: true })
  })

  it('the pair of the routed model’s policy', async () => {
    const all = await harness({ config: { modelPolicies: [{ provider: 'scripted', model: 'm', ...PAIR }] } })
    converse(all.session, 'u3000 a3000 u1000 a1500')
    await preStep(all)
    expect(all.summaryRequests()).toMatchObject([{ model: 'small' }])
  })

  it('else the latest logged route, whatever the agent’s own options are now', async () => {
    const all = await harness({ options: { provider: 'gone', model: 'gone' } })
    converse(all.session, 'u3000 a3000 u1000 a1500')
    await preStep(all)
    expect(all.summaryRequests()).toMatchObject([{ provider: 'scripted', model: 'm' }])
  })

  it('else the agent’s own route', async () => {
    const all = await harness({ options: { provider: 'scripted', model: 'm' } })
    converse(all.session, 'u3000 x2000')
    expect(await all.engine.compactNow(all.agent, new AbortController().signal)).not.toBe(null)
    expect(all.summaryRequests()).toMatchObject([{ provider: 'scripted', model: 'm' }])
  })
})

it('without tools there is no choice of tools to make', async () => {
  const all = await harness()
  converse(all.session, 'u3000 a3000 u1000 a1500')
  await preStep(all)
  const [request] = all.summaryRequests()
  expect(request).not.toHaveProperty('toolChoice')
  expect(request).not.toHaveProperty('tools')
})
