import type { Context } from '@deepseek-ai/cordis'
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic'
import type { LlmFailureCode, ScriptedReply } from '@deepseek-ai/dsh-llm'
import { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import { calls, gate, harness, reread, story, tool, type Harness } from '../../../core/agent-loop/test/harness.ts'
import LlmRetry, { rowOf } from '../src/index.ts'

/** Waits that a test does not notice. */
const QUICK = { firstWaitMs: 1 }
/** A wait that only a cancel ends in the time of a test. */
const LONG = { firstWaitMs: 100_000 }

const failing = (code: LlmFailureCode, more: { retryAfterMs?: number; after?: string } = {}): ScriptedReply => {
  const { after, ...figures } = more
  return { failure: { code, message: code.toLowerCase(), ...figures }, ...(after === undefined ? {} : { after: [{ type: 'text', text: after }] }) }
}

/** What observers were told, a word each. */
function told(ctx: Context): string[] {
  const words: string[] = []
  ctx.on('llm/retry-wait', (_session, { failure, retry, maxRetries }) => void words.push(`wait ${retry}/${maxRetries} ${failure.code}`))
  ctx.on('llm/retry-wait-ended', (_session, outcome) => void words.push(outcome))
  ctx.on('llm/retries-spent', (_session, { failure, retries }) => void words.push(`spent ${retries} ${failure.code}`))
  return words
}

async function answered(init: Parameters<typeof harness>[0], config: object = QUICK): Promise<Harness & { readonly words: string[] }> {
  const house = await harness(init)
  await house.ctx.plugin(LlmRetry, config)
  const words = told(house.ctx)
  house.agent.send('go')
  await house.agent.whenIdle()
  expectReplays(house.session)
  return { ...house, words }
}

describe('a turn whose request failed for a passing reason', () => {
  it('is tried again after a wait that observers see and the log does not', async () => {
    const { session, words } = await answered({ replies: [failing('SERVER'), failing('RATE_LIMIT', { retryAfterMs: 2 }), 'done'] })
    expect(story(session, 1)).toBe(
      'turn1 u(go) [1 header(initial) context 1] /turn1(SERVER) turn2(retry) [1 1] /turn2(RATE_LIMIT) turn3(retry) [1 a(done) 1] /turn3(completed)',
    )
    expect(words).toEqual(['wait 1/5 SERVER', 'retried', 'wait 2/5 RATE_LIMIT', 'retried'])
  })

  it('leaves nothing of an answer that broke off, neither in the log nor in the next request', async () => {
    const { session, model } = await answered({
      replies: [calls('Looking.', ['a', 'look']), failing('TRANSPORT', { after: 'Half an ans' }), 'whole'],
      tools: [tool('look', () => 'seen')],
    })
    expect(story(session, 6)).toBe('a(Looking. a) call(a) result(a) 1] [2 2] /turn1(TRANSPORT) turn2(retry) [1 a(whole) 1] /turn2(completed)')
    expect(model.requests[2]!.messages).toEqual(model.requests[1]!.messages)
    expect(JSON.stringify([...session.log.from(0)])).not.toContain('Half')
  })

  it('ends with its failure when the retries are spent, and the next one has its own', async () => {
    const house = await answered({ replies: [...Array.from({ length: 3 }, () => failing('SERVER')), failing('TIMEOUT'), 'done'] }, { ...QUICK, maxRetries: 2 })
    const { session, agent, words } = house
    expect(words.splice(0).at(-1)).toBe('spent 2 SERVER')
    expect([...session.log.from(0)].at(-1)).toMatchObject({ type: 'turn/end', data: { turn: 3, reason: 'error', failure: { code: 'SERVER' } } })
    agent.send('again')
    await agent.whenIdle()
    expect(words).toEqual(['wait 1/2 TIMEOUT', 'retried'])
    expect(story(session)).toMatch(/a\(done\) 1\] \/turn5\(completed\)$/)
  })

  it('is not tried again where the provider asks for more patience than there is, and says so', async () => {
    const { session, words } = await answered({ replies: [failing('RATE_LIMIT', { retryAfterMs: 3_600_000 })] })
    expect(words).toEqual(['spent 0 RATE_LIMIT'])
    expect([...session.log.from(0)].at(-1)).toMatchObject({ data: { failure: { code: 'RATE_LIMIT', retryAfterMs: 3_600_000 } } })
  })

  it.each<LlmFailureCode>(['QUOTA', 'AUTH', 'INVALID_REQUEST', 'CONTEXT_WINDOW_EXCEEDED', 'UNKNOWN'])('%s is none: others decide, once, and nothing is told', async code => {
    const house = await harness({ replies: [failing(code), 'never'] })
    await house.ctx.plugin(LlmRetry, QUICK)
    const words = told(house.ctx)
    let asked = 0
    house.ctx.on('agent/request-error', (_event, next) => { asked += 1; return next() })
    house.agent.send('go')
    await house.agent.whenIdle()
    expect({ asked, words, requests: house.model.requests.length }).toEqual({ asked: 1, words: [], requests: 1 })
  })

  it('counts its row from the log: a new lifecycle has not forgotten it', async () => {
    const { session } = await answered({ replies: [failing('SERVER'), failing('SERVER'), failing('AUTH')] })
    expect(rowOf(session).retries).toBe(2)
    const resumed = new Session({ header: session.header, seed: reread(session) })
    expect(rowOf(resumed)).toEqual(rowOf(session))
    resumed.append('turn/start', { turn: 4 })
    expect(rowOf(resumed)).toEqual({ retries: 0, elapsedMs: 0 })
  })
})

describe('time spent', () => {
  it('runs from the first failure to the newest, by the log', () => {
    let now = 0
    const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => now })
    const fail = (turn: number, atMs: number, retry: boolean): void => {
      session.append('turn/start', { turn, ...(retry && { retry }) })
      session.append('step/start', { turn, step: 1 })
      now = atMs
      session.append('step/end', { turn, step: 1 })
      expectReplays(session)
    }
    fail(1, 1_000, false)
    expect(rowOf(session)).toEqual({ retries: 0, elapsedMs: 0 })
    now = 1_500 // waited
    session.append('turn/end', { turn: 1, reason: 'error', failure: { code: 'SERVER', message: 'down' } })
    fail(2, 4_000, true)
    expect(rowOf(session)).toEqual({ retries: 1, elapsedMs: 3_000 })
    session.append('turn/end', { turn: 2, reason: 'error', failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } })
    fail(3, 6_000, true)
    expect(rowOf(session)).toEqual({ retries: 1, elapsedMs: 5_000 })
  })
})

describe('while it waits', () => {
  async function waiting(): Promise<Harness & { readonly words: string[]; unload(): Promise<void> }> {
    const house = await harness({ replies: [failing('SERVER'), 'after all'] })
    const fiber = house.ctx.plugin(LlmRetry, LONG)
    await fiber
    const words = told(house.ctx)
    const began = gate()
    house.ctx.on('llm/retry-wait', () => began.open())
    house.agent.send('go')
    await began.passed
    return { ...house, words, unload: async () => { await fiber.dispose() } }
  }

  it('a cancel ends the turn at once', async () => {
    const { agent, session, words, complaints } = await waiting()
    agent.cancel('the person')
    await agent.whenIdle()
    expect(story(session)).toMatch(/1\] \/turn1\(aborted by the person\)$/)
    expect(words).toEqual(['wait 1/5 SERVER', 'cancelled'])
    expect(complaints()).toEqual([])
  })

  it('unloading lets the failure stand, and the next input goes on without it', async () => {
    const { agent, session, words, unload, complaints } = await waiting()
    await unload()
    await agent.whenIdle()
    expect(story(session)).toMatch(/1\] \/turn1\(SERVER\)$/)
    expect(words).toEqual(['wait 1/5 SERVER', 'cancelled'])
    agent.send('again')
    await agent.whenIdle()
    expect(story(session)).toMatch(/a\(after all\) 1\] \/turn2\(completed\)$/)
    expect(complaints()).toEqual([])
  })

  it('what the person types joins the retry', async () => {
    const { agent, session, ctx } = await harness({ replies: [failing('SERVER'), 'done'] })
    await ctx.plugin(LlmRetry, QUICK)
    ctx.on('llm/retry-wait', () => void agent.steer('hurry'))
    agent.send('go')
    await agent.whenIdle()
    expect(story(session)).toMatch(/turn2\(retry\) u\(hurry\) \[1 a\(done\) 1\] \/turn2\(completed\)$/)
  })
})

describe.each(['before', 'after'])('loaded %s the compaction engine', order => {
  it('each heals its own failures, and neither spends the budget of the other', async () => {
    const overflow = failing('CONTEXT_WINDOW_EXCEEDED')
    const summary = `## Current Work\n${'So it went. '.repeat(20)}`
    const asked: ScriptedReply[] = ['word '.repeat(2_000), failing('SERVER'), overflow, failing('SERVER'), failing('SERVER'), 'done']
    const { ctx, agent, session } = await harness({
      replies: options => (options.purpose === 'compaction' ? summary : asked.shift()!),
    })
    await ctx.plugin(TokenMeterService)
    if (order === 'before') await ctx.plugin(LlmRetry, { ...QUICK, maxRetries: 3 })
    await ctx.plugin(BasicCompactionEngine)
    if (order === 'after') await ctx.plugin(LlmRetry, { ...QUICK, maxRetries: 3 })
    const words = told(ctx)
    for (const text of ['first', 'second']) {
      agent.send(text)
      await agent.whenIdle()
    }
    expect(words).toEqual(['wait 1/3 SERVER', 'retried', 'wait 2/3 SERVER', 'retried', 'wait 3/3 SERVER', 'retried'])
    const turns = [...session.log.from(0)].flatMap(({ type, data }) => (type === 'turn/end' ? (data.reason === 'error' ? data.failure.code : data.reason) : []))
    expect(turns).toEqual(['completed', 'SERVER', 'CONTEXT_WINDOW_EXCEEDED', 'SERVER', 'SERVER', 'completed'])
    expect([...session.log.from(0)].filter(({ type }) => type === 'compaction/end')).toHaveLength(1)
    expectReplays(session)
  })
})

it.each([[{ maxRetries: -1 }, 'maxRetries'], [{ maxRetry: 3 }, 'maxRetry'], [{ maxElapsedMs: 2 ** 31 }, 'maxElapsedMs']])('fails to load on %o, naming the key', async (config, key) => {
  const { ctx } = await harness({ replies: [] })
  await expect(async () => ctx.plugin(LlmRetry, config as never)).rejects.toThrow(key)
})

it('waits nowhere once it is gone: its tree is as before', async () => {
  const { ctx } = await harness({ replies: [] })
  const before = JSON.stringify(ctx.fiber.getEffects())
  const fiber = await ctx.plugin(LlmRetry, QUICK)
  await fiber.dispose()
  expect(JSON.stringify(ctx.fiber.getEffects())).toBe(before)
})
