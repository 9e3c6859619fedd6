/** A provider refuses: the failed step is closed, the conversation reduced, and the request made anew from what is left. */
import { LlmError, textOf, type LlmFailure, type ModelInfo, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { story } from '../packages/core/agent-loop/test/harness.ts'
import { bracketsOf, call, eventsOf, exactUsage, expectSound, gate, house, play, ROUTE, say, sized, sizeOf, surfaceOf, text, turnEnds, typesOf, until, type House, type HouseInit } from './house.ts'

const OVERFLOW: LlmFailure = { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long: 250,000 tokens > 200,000 maximum' }
const overflow: ScriptedReply = { failure: OVERFLOW }
const LARGE: HouseInit = { models: { m: { contextWindow: 100_000 } } }
const HISTORY = 'u2000 a1000 u1000 a500'

/** A conversation far below its threshold, whose next request is refused. */
async function refused(replies: readonly ScriptedReply[], init: HouseInit = LARGE, picture = HISTORY): Promise<House> {
  const all = await house(init)
  await play(all, picture)
  all.replies.push(...replies)
  await say(all, 'Go on.')
  return all
}

describe('the way back', () => {
  it.each<[string, ScriptedReply]>([
    ['thrown', overflow],
    ['thrown in the middle of an answer', { failure: OVERFLOW, after: [text('I begin to')] }],
    ['said in the stream, without an answer', () => Promise.reject(new LlmError(OVERFLOW))],
    ['for its bytes', { failure: { code: 'REQUEST_TOO_LARGE', message: 'payload', status: 413 } }],
  ])('%s: failed step closed, compaction, a fresh turn, the request rebuilt', async (_title, refusal) => {
    const all = await refused([refusal, 'answered'])
    const code = 'failure' in Object(refusal) ? (refusal as { failure: LlmFailure }).failure.code : OVERFLOW.code
    const from = eventsOf(all.session, 'turn/start').find(({ data }) => data.turn === 3)!.seq
    expect(story(all.session, from)).toBe(
      `turn3 u(Go on.) [1 1] compaction/start compaction/summary ${checkpointWord(all)} compaction/end /turn3(${code}) turn4(retry) [1 a(answered) 1] /turn4(completed)`)
    const [first, second] = all.requests().slice(-2)
    expect(first!.messages).toHaveLength(5)
    expect(second!.messages).toEqual(all.session.deriveMessages().slice(0, -1))
    expect(surfaceOf(all.session)).toBe('S a500 Go answered')
    expect(all.warnings()).toEqual([])
    expectSound(all)
  })

  function checkpointWord({ session }: House): string {
    const checkpoint = eventsOf(session, 'user/message').find(({ surfaceOp }) => surfaceOp !== 'append')!
    return `u(${textOf(checkpoint.data.content)})`
  }

  it('of a request that was not sent, because it plainly could not fit: the same', async () => {
    const all = await house({ ...LARGE, models: { m: { contextWindow: 1_000_000 }, small: { contextWindow: 10_000 } } })
    await play(all, 'u8000 a2000 u4000 a900')
    all.ctx.on('agent/request', async (_event, next) => ({ ...(await next()), model: 'small' }))
    await say(all, 'Go on.')
    expect(all.requests().filter(({ model }) => model === 'small')).toHaveLength(1)
    expect(eventsOf(all.session, 'turn/end').at(-2)!.data).toMatchObject({ reason: 'error', failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: expect.stringMatching(/^not sent/) } })
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expectSound(all)
  })

  it('claims no queued message for the retry, and steering as at every step', async () => {
    const all = await house(LARGE)
    await play(all, HISTORY)
    all.replies.push(() => {
      all.agent.send('Queued.')
      all.agent.steer('Steered.')
      return overflow
    }, 'answered', 'queue answered')
    await say(all, 'Go on.')
    expect(eventsOf(all.session, 'turn/start').map(({ data }) => data.retry ?? false)).toEqual([false, false, false, true, false])
    expect(surfaceOf(all.session)).toBe('S a500 Go Steered. answered Queued. queue')
    expectSound(all)
  })

  it('stays running from the refusal to the answer', async () => {
    const all = await house(LARGE)
    await play(all, HISTORY)
    const told: string[] = []
    all.ctx.on('agent/status', (_agent, status) => void told.push(status))
    all.replies.push(overflow)
    await say(all, 'Go on.')
    expect(told).toEqual(['running', 'idle'])
  })
})

describe('a retry needs proof', () => {
  it('pruning alone is one: no summary is paid for where nothing else is left to take', async () => {
    const all = await house({ models: {}, summary: { failure: { code: 'AUTH', message: 'down' } } })
    await play(all, 'u20 ca10 ra3000 a20')
    all.replies.push(overflow, 'answered')
    await say(all, 'Go on.')
    expect(all.session.surface.replaceGeneration).toBeGreaterThan(0)
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expect(sizeOf(all.requests().at(-1)!)).toBeLessThan(sizeOf(all.requests().at(-2)!))
    expectSound(all)
  })

  it('also when the summary then fails: an engine without a digest, and no model', async () => {
    const all = await house({ ...LARGE, summary: { failure: { code: 'AUTH', message: 'no key' } } })
    await play(all, 'u2000 ca10 ra3000 a500 u500 a100')
    all.replies.push(overflow, 'answered')
    await say(all, 'Go on.')
    expect(eventsOf(all.session, 'tool/result').some(({ surfaceOp }) => surfaceOp !== 'append')).toBe(true)
    expect(bracketsOf(all.session)).toMatch(/summary\(digest\) checkpoint end$/)
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expectSound(all)
  })

  it('where nothing changed there is none, and no model was asked', async () => {
    const all = await house({ ...LARGE, replies: [overflow, 'never said'] })
    await say(all, 'Hello.')
    expect(turnEnds(all.session)).toEqual(['CONTEXT_WINDOW_EXCEEDED'])
    expect(all.session.surface.replaceGeneration).toBe(0)
    expect(all.model.requests).toHaveLength(1)
    expectSound(all)
  })

  it.each([0, 1, 2, 3])('at most maxOverflowRetries: %i', async maxOverflowRetries => {
    // Several things to take away, one after the other.
    const all = await house({ models: {}, compaction: { maxOverflowRetries } })
    await play(all, HISTORY)
    all.replies.push(...Array.from({ length: 9 }, () => overflow))
    await say(all, 'Go on.')
    const retries = eventsOf(all.session, 'turn/start').filter(({ data }) => data.retry === true).length
    expect(retries).toBeLessThanOrEqual(maxOverflowRetries)
    expect(retries > 0).toBe(maxOverflowRetries > 0)
    expect(eventsOf(all.session, 'turn/end').at(-1)!.data).toMatchObject({ reason: 'error', failure: OVERFLOW })
    if (maxOverflowRetries === 0) expect(typesOf(all.session).filter(type => type.startsWith('compaction/'))).toEqual([])
    expectSound(all)
  })
})

describe('the provider’s own error', () => {
  it.each([['nothing could be reduced', 'u20 a20'], ['it was refused again', HISTORY]])('stands when %s, the very object that was thrown', async (_title, picture) => {
    const thrown: unknown[] = []
    const refuse: ScriptedReply = () => {
      const error = Object.assign(new LlmError(OVERFLOW), { attempt: thrown.length })
      thrown.push(error)
      throw error
    }
    const all = await house(LARGE)
    await play(all, picture)
    const seen: unknown[] = []
    all.ctx.on('agent/request-error', (event, next) => {
      seen.push(event.failure.cause)
      return next()
    })
    all.replies.push(refuse, refuse, refuse)
    await say(all, 'Go on.')
    expect(seen).toHaveLength(1)
    expect(seen[0]).toBe(thrown.at(-1))
    expect(eventsOf(all.session, 'turn/end').at(-1)!.data).toEqual({ turn: 3 - Number(picture === 'u20 a20'), reason: 'error', failure: OVERFLOW, ...(picture === HISTORY && { turn: 4 }) })
    expect(textOf(all.session.deriveMessages().at(-1)!.content)).toBe('Go on.')
    expectSound(all)
  })
})

describe('a cancel beats the retry', () => {
  it('while the summary is written', async () => {
    const asked = gate()
    const all = await house({ ...LARGE, summary: () => (asked.open(), new Promise<never>(() => undefined)) })
    await play(all, HISTORY)
    all.replies.push(overflow, 'never said')
    all.agent.send('Go on.')
    await asked.passed
    all.agent.cancel('Escape')
    await all.agent.whenIdle()
    expect(turnEnds(all.session).slice(2)).toEqual(['aborted by Escape'])
    expect(bracketsOf(all.session)).toBe('start(context-overflow) end(aborted)')
    expect(all.replies).toEqual(['never said'])
    expectSound(all)
  })

  it('when the surface has become smaller already', async () => {
    const all = await house(LARGE)
    await play(all, HISTORY)
    all.ctx.on('session/event', (_session, event) => {
      if (event.type === 'compaction/end') queueMicrotask(() => all.agent.cancel('Escape'))
    })
    all.replies.push(overflow, 'never said')
    await say(all, 'Go on.')
    expect(all.session.surface.replaceGeneration).toBe(1)
    expect(turnEnds(all.session).slice(2)).toEqual(['aborted by Escape'])
    expect(all.replies).toEqual(['never said'])
    expectSound(all)
  })

  it('and so does the end of everything', async () => {
    const asked = gate()
    const all = await house({ ...LARGE, summary: () => (asked.open(), new Promise<never>(() => undefined)) })
    await play(all, HISTORY)
    all.replies.push(overflow, 'never said')
    all.agent.send('Go on.')
    await asked.passed
    await all.dispose()
    expect(all.replies).toEqual(['never said'])
    expect(all.summaryRequests()[0]!.signal!.aborted).toBe(true)
    expectSound(all)
  })
})

describe('a limit that the refusal names', () => {
  const naming = (limitTokens: number, requestedTokens?: number): ScriptedReply => ({ failure: { ...OVERFLOW, limitTokens, ...(requestedTokens === undefined ? {} : { requestedTokens }) } })
  const learned = ({ session }: House) => eventsOf(session, 'request/context').filter(({ data }) => data.learned === true).map(({ data }) => data.contextWindow)

  it('is the session’s capacity from then on: logged as learned, and pressure keeps to it', async () => {
    const all = await refused([naming(3_000)])
    expect(eventsOf(all.session, 'request/context').at(-1)!.data).toEqual({ ...ROUTE, contextWindow: 3_000, learned: true })
    const before = all.model.requests.length
    await play(all, 'u500 a300 u500 a300 u500 a300')
    expect(eventsOf(all.session, 'compaction/start').at(-1)!.data.trigger).toBe('pressure')
    for (const request of all.model.requests.slice(before)) expect(sizeOf(request)).toBeLessThan(3_000)
    expectSound(all)
  })

  it('stays known after a reload', async () => {
    const all = await refused([naming(3_000)])
    const again = await house({ ...LARGE, left: [...all.session.log.from(0)] })
    await play(again, 'u500 a300 u500 a300 u500 a300')
    expect(eventsOf(again.session, 'compaction/start').at(-1)!.data.trigger).toBe('pressure')
    expectSound(again)
  })

  it.each<[string, ScriptedReply, ModelInfo]>([
    ['too small to be one', naming(512), { contextWindow: 100_000 }],
    ['larger than what was sent', naming(50_000), { contextWindow: 100_000 }],
    ['larger than what the provider counted', naming(4_000, 3_900), { contextWindow: 100_000 }],
    ['no news', naming(3_000), { contextWindow: 3_000 }],
    ['not named', overflow, { contextWindow: 100_000 }],
  ])('is not learned where it is %s', async (_title, refusal, info) => {
    const all = await house({ models: { m: { contextWindow: 100_000 } } })
    await play(all, HISTORY)
    all.model.modelInfo = () => info
    all.replies.push(refusal)
    await say(all, 'Go on.')
    expect(learned(all)).toEqual([])
    expect(turnEnds(all.session).at(-2)).toBe('CONTEXT_WINDOW_EXCEEDED')
    expectSound(all)
  })

  it('is learned by what the provider counted, where it says so', async () => {
    const all = await refused([naming(6_000, 6_500)])
    expect(learned(all)).toEqual([6_000])
  })

  it('is logged once, however often it is named', async () => {
    const all = await refused([naming(3_000), naming(3_000)], { ...LARGE, compaction: { maxOverflowRetries: 3 } })
    expect(learned(all)).toEqual([3_000])
    expectSound(all)
  })

  it('is forgotten once an answer to more proves that it was none', async () => {
    const all = await house({ ...LARGE, usage: exactUsage })
    await play(all, HISTORY)
    all.replies.push(naming(1_500))
    await say(all, 'Go on.')
    expect(learned(all)).toEqual([1_500])
    all.replies.push({ content: [{ type: 'text', text: 'Done.' }], usage: { inputTokens: 1_501, outputTokens: 2 } })
    await say(all, 'Once more.')
    const before = all.model.requests.length
    await play(all, 'u2000 a900 u2000 a900')
    expect(all.model.requests.slice(before).filter(({ purpose }) => purpose === 'compaction')).toEqual([])
    expect(sizeOf(all.requests().at(-1)!)).toBeGreaterThan(3_000)
    expectSound(all)
  })

  it('of one route says nothing of another', async () => {
    const all = await refused([naming(3_000)], { models: { m: { contextWindow: 100_000 }, other: { contextWindow: 100_000 } } })
    all.ctx.on('agent/request', async (_event, next) => ({ ...(await next()), model: 'other' }))
    const before = eventsOf(all.session, 'compaction/start').length
    await play(all, 'u100 a10')
    await play(all, 'u2000 a900 u2000 a900')
    expect(eventsOf(all.session, 'compaction/start')).toHaveLength(before)
    expectSound(all)
  })
})

it('after tools of the step ran, none of them runs again', async () => {
  const all = await house(LARGE)
  await play(all, 'u2000 a900')
  all.replies.push({ content: [call('a'), call('b')] }, overflow, 'answered')
  all.results.push(sized('ra', 500), sized('rb', 500))
  await say(all, 'Go on.')
  expect(eventsOf(all.session, 'tool/call').map(({ data }) => data.callId)).toEqual(['a', 'b'])
  await until(() => all.agent.status === 'idle')
  expect(turnEnds(all.session).slice(-2)).toEqual(['CONTEXT_WINDOW_EXCEEDED', 'completed'])
  expectSound(all)
})
