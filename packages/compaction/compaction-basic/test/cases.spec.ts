/**
 * Reports about other systems, distilled: each title says what went wrong there.
 */
import { callsOf, type ContentBlock, type Message, type ScriptedReply, type TokenUsage } from '@deepseek-ai/dsh-llm'
import { completeInterruptedTurn, type Session } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, converse, expectSound, gate, harness, never, preStep, rejection, ROUTE, sized, SUMMARY, surfaceOf, until, type Harness } from './harness.ts'

/** Every call has exactly one result, after it and before the next message of a user. */
function expectPaired(messages: readonly Message[]): void {
  let open: string[] = []
  for (const { role, content } of messages) {
    if (role === 'user') expect(open).toEqual([])
    if (role === 'assistant') open = [...open, ...callsOf(content).map(({ id }) => id)]
    for (const block of content) {
      if (block.type !== 'tool-result') continue
      expect(open).toContain(block.toolCallId)
      open = open.filter(id => id !== block.toolCallId)
    }
  }
  expect(open).toEqual([])
}

/** An answer whose request was reported to have cost so much. */
function answerWith(session: Session, usage: TokenUsage): void {
  session.append('step/start', { turn: 1, step: 1 })
  session.append('request/header', { config: ROUTE, reason: 'initial' })
  session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'text', text: 'ok' }], ...ROUTE, finish: 'stop', usage }, { surfaceOp: 'append' })
  session.append('step/end', { turn: 1, step: 1 })
}

function openTurn(session: Session, tokens: number): void {
  session.append('turn/start', { turn: 1 })
  session.append('user/message', { content: [{ type: 'text', text: sized('u', tokens) }], source: { kind: 'user' } }, { surfaceOp: 'append' })
}

it('the retained budget ends between a call and its results: the step stays whole', async () => {
  const all = await harness()
  converse(all.session, 'u6000 cab10 ra900 rb900 cc10 rc100 a300')
  await preStep(all)
  expect(surfaceOf(all.session)).toBe('S cab10 ra900 rb900 cc10 rc100 a300')
  expectPaired(all.session.deriveMessages())
  expectSound(all.session)
})

it('the process died with a call unanswered: it is answered, and neither lost in a span nor sent open', async () => {
  const before = await harness()
  converse(before.session, 'u5500 a2000 u50 cab10 ra400')
  const all = await harness({ seed: JSON.parse(JSON.stringify([...before.session.log.from(0)])), replies: ['done'] })
  completeInterruptedTurn(all.session)
  all.agent.send(sized('new', 300))
  await all.agent.whenIdle()
  expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
  expect(surfaceOf(all.session)).toBe('S a2000 u50 cab10 ra400 The new done')
  for (const { messages } of all.model.requests) expectPaired(messages)
  expectSound(all.session)
})

it('a result was rewritten and has a larger seq than its neighbours: cuts go by position', async () => {
  const all = await harness()
  converse(all.session, 'u6000 cab10 rb900 ra900 a1000 u20 a20')
  const { session } = all
  const result = session.surface.entries[3]!
  const { data } = session.log.at(result)
  session.append('tool/result', { ...(data as Parameters<typeof session.append<'tool/result'>>[1]), content: [{ type: 'text', text: sized('rewritten', 800) }] }, {
    surfaceOp: { op: 'replace', start: result, end: result }, sourceEventSeqs: [result],
  })
  await preStep(all)
  expect(surfaceOf(all.session)).toBe('S cab10 rb900 rewritten a1000 u20 a20')
  expectPaired(all.session.deriveMessages())
  expectSound(all.session)
})

it('half a summary was committed over the one before it: it is not, and no later summary reads it', async () => {
  const replies: ScriptedReply[] = [{ content: [{ type: 'text', text: 'HALF A SENT' }], finish: 'max-tokens' }, SUMMARY]
  const all = await harness({ summary: () => replies.shift()! })
  converse(all.session, 's500 u6000 a1500 u500 a200')
  await preStep(all)
  expect(bracketsOf(all.session)).toBe('start(pressure) end(summary)')
  expect(surfaceOf(all.session)).toBe('s500 u6000 a1500 u500 a200')
  await preStep(all)
  expect(surfaceOf(all.session)).toMatch(/^S /)
  expect(JSON.stringify(all.summaryRequests())).not.toContain('HALF A SENT')
  expectSound(all.session)
})

it('a tiny window and a summarizer that talks: never committed, few calls, the surface as it was', async () => {
  for (const config of [{}, { maxTokens: 8_192 }]) {
    const all = await harness({ info: { contextWindow: 700 }, summary: sized('## All\n', 900), config })
    converse(all.session, 'u300 a200 u100')
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'summary' })
    for (let pass = 0; pass < 10; pass++) {
      const before = all.summaryRequests().length
      await preStep(all)
      expect(all.summaryRequests().length - before).toBeLessThanOrEqual(2)
    }
    expect(surfaceOf(all.session)).toBe('u300 a200 u100')
    expect(all.session.surface.replaceGeneration).toBe(0)
    expectSound(all.session)
  }
})

it('the system prompt alone is over the threshold: no summary, no event, no noise', async () => {
  const all = await harness({ info: { contextWindow: 32_768 } })
  converse(all.session, 'u20 a20', { system: 'x'.repeat(4 * 29_000) })
  const { length } = all.session.log
  for (let pass = 0; pass < 20; pass++) expect(await preStep(all)).toBe(true)
  expect(all.session.log.length).toBe(length)
  expect(all.summaryRequests()).toEqual([])
  expect(all.warnings().length).toBeLessThanOrEqual(1)
})

describe('usage counts what was cached', () => {
  it('a request read from the cache almost whole is over the threshold', async () => {
    const all = await harness({ info: { contextWindow: 200_000 } })
    openTurn(all.session, 60_000)
    converse(all.session, 'x60000')
    answerWith(all.session, { inputTokens: 99, cacheReadTokens: 185_000, outputTokens: 140 })
    expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).not.toBe(null)
  })

  it('and the cached part is not counted twice', async () => {
    const all = await harness({ info: { contextWindow: 100_000 }, config: { thresholdRatio: 0.7 } })
    openTurn(all.session, 30_000)
    answerWith(all.session, { inputTokens: 43, cacheReadTokens: 38_153, outputTokens: 140 })
    expect(all.ctx.tokenMeter.measure(all.session).totalTokens).toBeLessThan(38_300)
    expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).toBe(null)
  })
})

it('usage from before a checkpoint does not call for the next one', async () => {
  const all = await harness()
  openTurn(all.session, 4_000)
  converse(all.session, 'x2500 x1500')
  answerWith(all.session, { inputTokens: 9_100, outputTokens: 10 })
  converse(all.session, 'x100')
  await preStep(all)
  expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
  expect(all.ctx.tokenMeter.measure(all.session).totalTokens).toBeLessThan(5_000)
  await preStep(all)
  await preStep(all)
  expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
})

it('half of the window is meant for the answer: pressure acts before the two cannot fit together', async () => {
  const all = await harness({ info: { contextWindow: 131_072 } })
  converse(all.session, 'u40000 a10000 u15000 a5000', { config: { ...ROUTE, maxTokens: 65_536 } })
  expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).toMatchObject({ converged: true })
  expect(all.ctx.tokenMeter.measure(all.session).totalTokens + 65_536).toBeLessThan(131_072)
})

it('the provider refuses again and again: one reduction, one retry, then its own words', async () => {
  const overflow: ScriptedReply = { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } }
  const all = await harness({ replies: [overflow, overflow, overflow, overflow, overflow] })
  converse(all.session, 'u2000 a1000 u1000 a500 )')
  all.agent.send('Go on.')
  await all.agent.whenIdle()
  expect(all.model.requests.filter(({ purpose }) => purpose === undefined)).toHaveLength(2)
  expect(all.session.surface.replaceGeneration).toBe(1)
  expect(surfaceOf(all.session)).toBe('S a500 Go')
  expect([...all.session.log.from(0)].at(-1)!.data).toEqual({ turn: 4, reason: 'error', failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } })
  expectSound(all.session)
})

describe('input arrives while a summary is written', () => {
  const call: ScriptedReply = { content: [{ type: 'tool-call', id: 'c', name: 'look', arguments: '{}' }] }

  async function waiting(): Promise<{ all: Harness; open: (summary: string) => void }> {
    const summary = gate<string>()
    const look = { name: 'look', parameters: { type: 'object' }, execute: () => sized('seen', 2_000) }
    const all = await harness({ replies: [call, 'first turn done', 'second turn done'], tools: [look], summary: () => summary.passed })
    converse(all.session, 'u3000 a2000 u1000 a500 )')
    all.agent.send('Go on.')
    await until(() => all.summaryRequests().length === 1)
    return { all, open: text => summary.open(text) }
  }

  it('steering joins the very next request once, a message the next turn once, both behind the checkpoint', async () => {
    const { all, open } = await waiting()
    all.agent.send('Queued.')
    all.agent.steer('Steered.')
    open(SUMMARY)
    await all.agent.whenIdle()
    expect(all.summaryRequests()[0]!.signal!.aborted).toBe(false)
    const asked = all.model.requests.findIndex(({ purpose }) => purpose === 'compaction')
    const texts = all.model.requests.slice(asked + 1).map(({ messages }) => messages.map(({ content }) => (content[0] as { text?: string }).text?.split(' ')[0] ?? content[0]!.type))
    expect(texts).toEqual([
      ['An', 'tool-call', 'tool-result', 'Steered.'],
      ['An', 'tool-call', 'tool-result', 'Steered.', 'first', 'Queued.'],
    ])
    expectSound(all.session)
  })

  it('a cancel aborts the summary, the turn starts no other, and a later one works', async () => {
    const { all, open } = await waiting()
    all.agent.cancel('escape')
    await all.agent.whenIdle()
    expect(all.summaryRequests()[0]!.signal!.aborted).toBe(true)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(aborted)')
    expect([...all.session.log.from(0)].at(-1)!.data).toMatchObject({ reason: 'aborted', by: 'escape' })
    expect(surfaceOf(all.session)).toBe('u3000 a2000 u1000 a500 Go  seen')
    open(SUMMARY)
    expect(await all.engine.compactNow(all.agent, never)).not.toBe(null)
    expect(bracketsOf(all.session)).toMatch(/^start\(pressure\) end\(aborted\) start\(manual\) /)
    expectSound(all.session)
  })
})

describe('what is turned off or not there', () => {
  it('nothing acts by itself', async () => {
    const all = await harness({ config: { auto: false }, replies: [{ failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } }] })
    converse(all.session, 'u6000 a2000 u1000 a500 )')
    all.agent.send('Go on.')
    await all.agent.whenIdle()
    expect(bracketsOf(all.session)).toBe('')
    expect([...all.session.log.from(0)].at(-1)!.data).toMatchObject({ reason: 'error', failure: { message: 'prompt is too long' } })
  })

  it.each([['an empty surface', ''], ['a lone checkpoint', 's5000 )']])('%s is nothing to compact, on demand as well', async (_title, text) => {
    const all = await harness()
    all.session.append('turn/start', { turn: 1 })
    if (text !== '') converse(all.session, text)
    const { length } = all.session.log
    expect(await all.engine.compactNow(all.agent, never)).toBe(null)
    expect(all.session.log.length).toBe(length)
  })

  it('an agent still finishing its turn is refused for another reason than a lock', async () => {
    const answer = gate<ScriptedReply>()
    const all = await harness({ replies: [() => answer.passed] })
    all.agent.send('Go.')
    await until(() => all.model.requests.length === 1)
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'busy', reason: 'agent' })
    answer.open('done')
    await all.agent.whenIdle()
    expect(bracketsOf(all.session)).toBe('')
  })
})

it('an image is priced by its size, not by its bytes', async () => {
  const image: ContentBlock = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo='.repeat(200_000), width: 1_920, height: 1_080 }
  const all = await harness({ info: { contextWindow: 200_000 } })
  converse(all.session, 'u20000 a100')
  all.session.append('user/message', { content: [image], source: { kind: 'context' } }, { surfaceOp: 'append' })
  await preStep(all)
  expect(bracketsOf(all.session)).toBe('')
  expect(all.ctx.tokenMeter.measure(all.session).totalTokens).toBeLessThan(25_100)
  // And it is in no summary request that is text, nor in the checkpoint.
  converse(all.session, 'u1000 a10')
  await all.engine.compactRegion(all.session.surface.entries[1]!, all.session.surface.entries[3]!, all.agent)
  expect(all.summaryRequests()).toHaveLength(1)
  expect(JSON.stringify([all.summaryRequests(), all.session.deriveMessages()])).not.toContain('iVBORw0KGgo=')
})
