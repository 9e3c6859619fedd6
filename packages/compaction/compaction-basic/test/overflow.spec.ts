/**
 * After an overflow: one maximal reduction, one retry where it really helped, else the provider's own failure.
 */
import { Cancelled } from '@deepseek-ai/dsh-agent'
import type { GenerateOptions, LlmFailure, ScriptedReply } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { BasicCompactionEngine, type Summary } from '../src/index.ts'
import { bracketsOf, converse, expectSound, harness, preStep, requestError, SUMMARY, surfaceOf, until, type Harness, type HarnessInit } from './harness.ts'

const OVERFLOW: LlmFailure = { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long: 250,000 tokens > 200,000 maximum', limitTokens: 200_000 }
const overflow: ScriptedReply = { failure: OVERFLOW }

const turnEnds = ({ session }: Harness) => [...session.log.from(0)].filter((event): event is SessionEvent<'turn/end'> => event.type === 'turn/end').map(({ data }) => data)
const turnStarts = ({ session }: Harness) => [...session.log.from(0)].filter((event): event is SessionEvent<'turn/start'> => event.type === 'turn/start').map(({ data }) => data)

/** A conversation far below its threshold, whose next request the provider refuses all the same. */
async function refused(replies: readonly ScriptedReply[], init: HarnessInit = {}): Promise<Harness> {
  const all = await harness({ replies, info: { contextWindow: 100_000 }, ...init })
  converse(all.session, 'u2000 a1000 u1000 a500 )')
  all.agent.send('Go on.')
  await all.agent.whenIdle()
  return all
}

it('reduces once and retries in a new turn, which answers', async () => {
  const all = await refused([overflow, 'answered'])
  expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(replay) checkpoint end')
  expect(surfaceOf(all.session)).toBe('S a500 Go answered')
  expect(turnStarts(all).slice(2)).toEqual([{ turn: 3 }, { turn: 4, retry: true }])
  expect(turnEnds(all).slice(2)).toEqual([{ turn: 3, reason: 'error', failure: OVERFLOW }, { turn: 4, reason: 'completed' }])
  expect(all.warnings()).toEqual([])
  expectSound(all.session)
})

it('keeps the whole unread tail where the window is known to hold it, else the newest unit alone', async () => {
  const unread = await refused([overflow, 'answered'])
  expect(surfaceOf(unread.session)).toBe('S a500 Go answered')
  const unknown = await refused([overflow, 'answered'], { info: {} })
  expect(surfaceOf(unknown.session)).toBe('S Go answered')
})

it('needs no capacity and ignores threshold and retained budget', async () => {
  const all = await refused([overflow, 'answered'], { info: {}, config: { retainTokens: 1_000_000 } })
  expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(replay) checkpoint end')
})

it('a request that is too many bytes is an overflow as well', async () => {
  const all = await refused([{ failure: { code: 'REQUEST_TOO_LARGE', message: 'payload', status: 413 } }, 'answered'])
  expect(surfaceOf(all.session)).toBe('S a500 Go answered')
})

it('so is a window that was full before the model had said a word', async () => {
  const silent: ScriptedReply = { content: [], finish: 'max-tokens', usage: { inputTokens: 100_000, outputTokens: 0 } }
  const all = await refused([silent, 'answered'])
  expect(turnEnds(all).slice(2)).toMatchObject([{ reason: 'error', failure: { code: 'CONTEXT_WINDOW_EXCEEDED', requestedTokens: 100_000 } }, { reason: 'completed' }])
  expect(surfaceOf(all.session)).toBe('S a500 Go answered')
  expectSound(all.session)
})

describe('the provider’s own failure stands', () => {
  it('after as many retries in a row as configured, with the user’s message still last', async () => {
    for (const maxOverflowRetries of [1, 2]) {
      const all = await refused(Array.from({ length: 6 }, (): ScriptedReply => overflow), { config: { maxOverflowRetries } })
      expect(turnStarts(all).slice(2)).toHaveLength(2)
      expect(turnEnds(all).at(-1)).toEqual({ turn: 4, reason: 'error', failure: OVERFLOW })
      expect(all.session.surface.replaceGeneration).toBe(1)
      expect(surfaceOf(all.session)).toBe('S a500 Go')
      expectSound(all.session)
    }
  })

  it('where nothing can be reduced, no model was asked', async () => {
    const all = await harness({ replies: [overflow] })
    all.agent.send('Too much.')
    await all.agent.whenIdle()
    expect(turnEnds(all)).toEqual([{ turn: 1, reason: 'error', failure: OVERFLOW }])
    expect(bracketsOf(all.session)).toBe('')
    expect(all.summaryRequests()).toEqual([])
  })

  it('where recovery is turned off; compaction on demand is not', async () => {
    for (const config of [{ maxOverflowRetries: 0 }, { auto: false }]) {
      const all = await refused([overflow], { config })
      expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'error', failure: OVERFLOW })
      expect(bracketsOf(all.session)).toBe('')
      expect(await all.engine.compactNow(all.agent, new AbortController().signal)).not.toBe(null)
    }
  })

  it('where it is no overflow', async () => {
    for (const code of ['RATE_LIMIT', 'SERVER', 'QUOTA', 'INVALID_REQUEST', 'OUTPUT_LIMIT', 'UNKNOWN'] as const) {
      const all = await refused([{ failure: { code, message: 'no' } }])
      expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'error', failure: { code } })
      expect(bracketsOf(all.session)).toBe('')
    }
  })

  it('where the reduction failed: an overriding engine has no digest', async () => {
    class Broken extends BasicCompactionEngine {
      protected override async summarize(): Promise<Summary> {
        throw new Error('no words')
      }
    }
    const all = await refused([overflow], { engine: Broken })
    expect(bracketsOf(all.session)).toBe('start(context-overflow) end(summary)')
    expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'error', failure: OVERFLOW })
    expect(all.warnings()).toEqual([expect.stringContaining('compaction after an overflow failed: no words')])
    expectSound(all.session)
  })

  it('where another compaction is running', async () => {
    const all = await harness()
    converse(all.session, 'u2000 a1000 u1000 a500')
    all.session.append('compaction/start', { turn: 2, trigger: 'region' })
    expect(await requestError(all, OVERFLOW)).toBe(undefined)
    expect(bracketsOf(all.session)).toBe('start(region)')
  })

  it('the next listener’s answer or rejection passes through unchanged, and it is asked once', async () => {
    const all = await harness({ config: { maxOverflowRetries: 0 } })
    const error = new Error('theirs')
    let asked = 0
    all.ctx.on('agent/request-error', async () => { asked += 1; throw error })
    await expect(requestError(all, OVERFLOW)).rejects.toBe(error)
    expect(asked).toBe(1)
  })
})

it('a digest stands in for a summary that no model would write', async () => {
  const all = await refused([overflow, 'answered'], { summary: { failure: { code: 'SERVER', message: 'bad gateway' } } })
  expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(digest) checkpoint end')
  expect(surfaceOf(all.session)).toBe('S a500 Go answered')
  const { data } = [...all.session.log.from(0)].find(event => event.type === 'compaction/summary')!
  expect(Object.keys(data)).not.toContain('llmStreamCall')
  expect(Object.keys(data)).not.toContain('provider')
  expectSound(all.session)
})

describe('retries are counted', () => {
  it('anew after an answer', async () => {
    const call: ScriptedReply = { content: [{ type: 'tool-call', id: 'c', name: 'look', arguments: '{}' }] }
    const look = { name: 'look', parameters: { type: 'object' }, execute: () => 'seen '.repeat(2_000) }
    const all = await refused([overflow, call, overflow, 'answered'], { tools: [look] })
    expect(bracketsOf(all.session).match(/start\(context-overflow\)/g)).toHaveLength(2)
    expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'completed' })
    expectSound(all.session)
  })

  it('anew when input opens a turn', async () => {
    const all = await refused([overflow, overflow, overflow, 'answered'])
    expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'error' })
    converse(all.session, 'u2000 a1000 )')
    all.agent.send('Again.')
    await all.agent.whenIdle()
    expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'completed' })
  })

  it('by overflows alone: retries of other failures use none of them up', async () => {
    const all = await harness({ replies: [{ failure: { code: 'RATE_LIMIT', message: 'slow down' } }, overflow, 'answered'], info: { contextWindow: 100_000 } })
    all.ctx.on('agent/request-error', async ({ failure }, next) => (failure.code === 'RATE_LIMIT' ? { kind: 'retry' } : next()))
    converse(all.session, 'u2000 a1000 u1000 a500 )')
    all.agent.send('Go on.')
    await all.agent.whenIdle()
    expect(turnStarts(all).slice(2)).toEqual([{ turn: 3 }, { turn: 4, retry: true }, { turn: 5, retry: true }])
    expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'completed' })
  })
})

describe('beats no cancel', () => {
  async function waiting(): Promise<Harness> {
    const all = await harness({ replies: [overflow, 'answered'], summary: () => new Promise<never>(() => {}), info: { contextWindow: 100_000 } })
    converse(all.session, 'u2000 a1000 u1000 a500 )')
    all.agent.send('Go on.')
    await until(() => all.summaryRequests().length === 1)
    return all
  }

  it('by the person', async () => {
    const all = await waiting()
    all.agent.cancel('escape')
    await all.agent.whenIdle()
    expect(bracketsOf(all.session)).toBe('start(context-overflow) end(aborted)')
    expect(turnEnds(all).at(-1)).toEqual({ turn: 3, reason: 'aborted', by: 'escape' })
    expect(all.warnings()).toEqual([])
    expectSound(all.session)
  })

  it('by the unloading of the engine', async () => {
    const all = await waiting()
    await all.unload()
    await all.agent.whenIdle()
    expect(bracketsOf(all.session)).toBe('start(context-overflow) end(aborted)')
    expect(turnEnds(all).at(-1)).toMatchObject({ turn: 3, reason: 'error', failure: OVERFLOW })
    expectSound(all.session)
  })

  it('also when the surface has grown smaller by then', async () => {
    const controller = new AbortController()
    const all: Harness = await harness({
      summary: SUMMARY,
      sink: { append: event => void (event.type === 'compaction/end' && controller.abort(new Cancelled('escape'))), flush: async () => {} },
      info: { contextWindow: 100_000 },
    })
    converse(all.session, 'u2000 a1000 u1000 a500')
    expect(await requestError(all, OVERFLOW, controller.signal)).toBe(undefined)
    expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(replay) checkpoint end')
  })
})

describe('a limit that the refusal names', () => {
  const learned = ({ session }: Harness) => [...session.log.from(0)].filter(event => event.type === 'request/context').map(({ data }) => data)
  const naming = (limitTokens: number, requestedTokens?: number): LlmFailure => ({ ...OVERFLOW, limitTokens, ...(requestedTokens === undefined ? {} : { requestedTokens }) })

  async function told(failure: LlmFailure, init: HarnessInit = {}): Promise<Harness> {
    const all = await harness({ info: {}, ...init })
    converse(all.session, 'u2000 a1000 u1000 a500')
    await requestError(all, failure)
    return all
  }

  it('is the session’s from then on: pressure is judged by it', async () => {
    const all = await told(naming(3_000))
    expect(learned(all)).toEqual([{ provider: 'scripted', model: 'm', contextWindow: 3_000, learned: true }])
    converse(all.session, 'u1000 a400')
    await preStep(all)
    expect(bracketsOf(all.session)).toMatch(/^start\(context-overflow\) .* end start\(pressure\) .* end$/)
    expectSound(all.session)
  })

  it('makes a known window smaller, never larger', async () => {
    const all = await told(naming(3_000), { info: { contextWindow: 100_000 } })
    converse(all.session, 'u1000 a400')
    await preStep(all)
    expect(bracketsOf(all.session)).toContain('start(pressure)')
  })

  it('holds for the summary at once: the same route would refuse what it has just refused', async () => {
    const all = await told(naming(3_000), { info: { contextWindow: 100_000 } })
    expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(transcript) checkpoint end')
  })

  it.each<[string, LlmFailure, HarnessInit]>([
    ['it is less than any window', naming(1_023), {}],
    ['it is more than was sent', naming(4_501), {}],
    ['it is more than was asked for, as the provider counted', naming(4_000, 3_999), {}],
    ['the adapter knew it', naming(4_000), { info: { contextWindow: 4_000 } }],
  ])('is not believed, or nothing new, where %s', async (_title, failure, init) => {
    expect(learned(await told(failure, init))).toEqual([])
  })

  it('is learned once, and forgotten once an answer disproves it', async () => {
    const all = await told(naming(3_000))
    converse(all.session, 'u1000')
    await requestError(all, naming(3_000))
    expect(learned(all)).toHaveLength(1)
    const step = { turn: 3, step: 1 }
    all.session.append('step/start', step)
    all.session.append('assistant/message', { ...step, content: [{ type: 'text', text: 'ok' }], provider: 'scripted', model: 'm', finish: 'stop', usage: { inputTokens: 3_001, outputTokens: 1 } }, { surfaceOp: 'append' })
    all.session.append('step/end', step)
    const { length } = all.session.log
    converse(all.session, 'u2500 a10')
    await preStep(all)
    expect(bracketsOf(all.session, length)).toBe('')
    expect(all.warnings()).toContainEqual(expect.stringContaining('is not known'))
    expectSound(all.session)
  })
})

it('asks the summarizer for a request that fits, though the conversation did not', async () => {
  const tooLong = (options: GenerateOptions): boolean => JSON.stringify(options.messages).length > 4 * 6_000
  const all = await harness({
    info: {},
    replies: [overflow, 'answered'],
    summary: options => (tooLong(options) ? overflow : SUMMARY),
  })
  converse(all.session, 'u3000 a3000 u3000 a3000 )')
  all.agent.send('Go on.')
  await all.agent.whenIdle()
  expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(transcript) checkpoint end')
  expect(all.summaryRequests().length).toBeLessThanOrEqual(1 + 8)
  expect(turnEnds(all).at(-1)).toMatchObject({ reason: 'completed' })
  expectSound(all.session)
})
