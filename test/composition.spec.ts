/** The shipped composition as a whole: who runs when, what a row accepts, and what is left when a part goes. */
import type { Context } from '@deepseek-ai/cordis'
import { readFile } from 'node:fs/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { boot, BootError } from '../apps/dsh/src/boot.ts'
import { bracketsOf, call, checkpoints, eventsOf, expectSound, house, MEMORY_STORE, OVERFLOW, play, ROUTE, say, SHIPPED, sized, sizeOf, surfaceOf, turnEnds, until, type House } from './house.ts'

const FULL = 'u6000 a900 u500 a400'

/** The fiber of a row of the composition. */
function rowOf(ctx: Context, id: string) {
  const entry = [...ctx.get('loader')!.entries()].find(({ options }) => options.id === id)
  if (entry?.fiber === undefined) throw new Error(`no row ${id} is active`)
  return entry.fiber
}

/** Everything that is registered: listeners by event, and what the root and every row hold. */
function treeOf(ctx: Context): Record<string, unknown> {
  const listeners = Object.fromEntries(Object.entries(ctx.events._hooks).filter(([, hooks]) => hooks.length > 0).map(([name, hooks]) => [name, hooks.length]))
  const rows = [...ctx.get('loader')!.entries()].map(({ options, fiber }) => [options.id, fiber?.getEffects().map(({ label }) => label)])
  return { listeners, rows, root: ctx.fiber.getEffects().map(({ label }) => label) }
}

describe('before a step', () => {
  it('pressure is relieved after the last step’s end and before the next one’s start, and whoever adds context sees the result', async () => {
    const all = await house()
    const order: string[] = []
    all.ctx.on('agent/pre-step', (event, next) => {
      order.push(`pre-step ${event.turn}.${event.step} sees ${surfaceOf(all.session).split(' ')[0]}`)
      return next()
    })
    all.ctx.on('session/event', (_session, { type, data }) => {
      if (/^step\/|compaction\/(start|end)/.test(type)) order.push('step' in data ? `${type} ${data.turn}.${data.step}` : type)
    })
    await play(all, 'u6000 ca10 ra1500 cb10 rb900 a10')
    expect(order).toEqual([
      'pre-step 1.1 sees ', 'step/start 1.1', 'step/end 1.1',
      'pre-step 1.2 sees u6000', 'step/start 1.2', 'step/end 1.2',
      'compaction/start', 'compaction/end', 'pre-step 1.3 sees S', 'step/start 1.3', 'step/end 1.3',
    ])
    expectSound(all)
  })

  it('steering that comes while a summary is written gets one more pass, which is judged as well', async () => {
    let first = true
    const all: House = await house({
      summary: () => {
        if (first) all.agent.steer(sized('steered', 300))
        first = false
        return 'SUM '.repeat(50)
      },
    })
    const claimed: number[] = []
    all.ctx.on('agent/pre-step', (event, next) => (claimed.push(event.messages.length), next()))
    await play(all, FULL)
    claimed.length = 0
    await say(all, sized('more', 250))
    expect(claimed).toEqual([1, 1])
    expect(surfaceOf(all.session)).toMatch(/^S .* more steered Done\.$/)
    expectSound(all)
  })

  it('what a listener rejects is not asked, however much was compacted for it', async () => {
    const all = await house()
    await play(all, FULL)
    all.ctx.on('agent/pre-step', async () => ({ kind: 'reject' }))
    await say(all, sized('more', 250))
    expect(turnEnds(all.session).at(-1)).toBe('blocked')
    expect(all.requests()).toHaveLength(2)
    expectSound(all)
  })

  it('a listener that throws ends the turn, and no bracket stays open', async () => {
    const all = await house()
    await play(all, FULL)
    const off = all.ctx.on('agent/pre-step', async () => Promise.reject(new Error('no')))
    await say(all, sized('more', 250))
    off()
    expect(turnEnds(all.session).at(-1)).toBe('UNKNOWN')
    all.agent.wake()
    await all.agent.whenIdle()
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expect(eventsOf(all.session, 'compaction/start')).toHaveLength(eventsOf(all.session, 'compaction/end').length)
    expectSound(all)
  })
})

describe('the route', () => {
  const models = { m: { contextWindow: 100_000 }, small: { contextWindow: 10_000 } }

  it('that agent/request chose is the one pressure is judged by, from the next step on', async () => {
    const all = await house({ models })
    all.ctx.on('agent/request', async (_event, next) => ({ ...(await next()), model: 'small' }))
    await play(all, `${FULL} u300 a10`)
    expect(eventsOf(all.session, 'request/header').map(({ data }) => data.config.model)).toEqual(['small'])
    expect(all.summaryRequests().map(({ model }) => model)).toEqual(['small'])
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
    expectSound(all)
  })

  it('is chosen for conversation only: the summarizer’s request does not pass there', async () => {
    const all = await house({ models })
    const asked: string[] = []
    all.ctx.on('agent/request', (event, next) => (asked.push(`${event.turn}.${event.step}`), next()))
    await play(all, FULL)
    await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
    expect(asked).toEqual(['1.1', '2.1'])
    expect(all.summaryRequests()).toHaveLength(1)
    expectSound(all)
  })

  it('that llm/stream chose is the one on record, of answers and summaries', async () => {
    const all = await house({ models: { m: { contextWindow: 10_000 }, other: { contextWindow: 10_000 } } })
    all.ctx.on('llm/stream', (request, next) => {
      request.options = { ...request.options, model: 'other' }
      return next()
    })
    await play(all, `${FULL} u300 a10`)
    expect(new Set(eventsOf(all.session, 'assistant/message').map(({ data }) => data.model))).toEqual(new Set(['other']))
    expect(eventsOf(all.session, 'compaction/summary')[0]!.data).toMatchObject({ provider: 'scripted', model: 'other' })
    expectSound(all)
  })

  it('changed in the middle of a turn: the next step is judged by the smaller window', async () => {
    const all = await house({ models })
    let model = 'm'
    all.ctx.on('agent/request', async (_event, next) => ({ ...(await next()), model }))
    await play(all, 'u4000 a900 u900 a500')
    all.replies.push(() => {
      model = 'small'
      return { content: [call('a')] }
    }, { content: [call('b')] })
    all.results.push(sized('ra', 1_500), sized('rb', 900))
    await say(all, 'go on')
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expect(sizeOf(all.requests().at(-1)!)).toBeLessThan(9_000)
    expect(checkpoints(all.session)).toHaveLength(1)
    expectSound(all)
  })
})

describe('a row of the composition', () => {
  const dir = mkdtempSync(join(tmpdir(), 'dsh-rows-'))
  afterAll(() => rmSync(dir, { recursive: true }))
  const booted = (id: string, config: unknown) => boot({
    path: SHIPPED,
    configs: new Map([[id, config]]),
    swaps: new Map([['@deepseek-ai/dsh-session-persistence-jsonl', MEMORY_STORE]]),
  })

  it.each<[string, string, unknown]>([
    ['an empty configuration', 'compaction', {}],
    ['every key of the engine', 'compaction', {
      thresholdRatio: 0.7, retainTokens: 4_000, summarizationProvider: 'p', summarizationModel: 'm', maxTokens: 2_000, compactionRetries: 2, maxOverflowRetries: 0, auto: false,
      modelPolicies: [{ provider: 'p', model: 'm', retainRatio: 0.2, thresholdRatio: 0.5 }],
    }],
    ['keys left empty', 'compaction', { summarizationProvider: '', summarizationModel: '' }],
    ['a meter of its own density', 'token-meter', { charsPerToken: 3.5 }],
    ['a pruner of other sizes', 'tool-result-pruner', { thresholdChars: 4_000, headChars: 2_000, tailChars: 500 }],
  ])('accepts %s', async (_title, id, config) => {
    const ctx = await booted(id, config)
    expect(ctx.get('compaction')).toBeDefined()
    await ctx.fiber.dispose()
  })

  it.each<[string, string, unknown, string]>([
    ['an unknown key', 'compaction', { thresholdRato: 0.5 }, 'thresholdRato'],
    ['a ratio above one', 'compaction', { thresholdRatio: 1.2 }, 'thresholdRatio'],
    ['a ratio of nothing', 'compaction', { retainRatio: 0 }, 'retainRatio'],
    ['a word for a number', 'compaction', { retainTokens: 'many' }, 'retainTokens'],
    ['half a token', 'compaction', { maxTokens: 0.5 }, 'maxTokens'],
    ['fewer than no retries', 'compaction', { compactionRetries: -1 }, 'compactionRetries'],
    ['endless retries', 'compaction', { maxOverflowRetries: Infinity }, 'maxOverflowRetries'],
    ['both forms of retention', 'compaction', { retainRatio: 0.1, retainTokens: 100 }, 'retainTokens'],
    ['more kept than the threshold leaves', 'compaction', { thresholdRatio: 0.1 }, 'thresholdRatio'],
    ['a summarizer without its model', 'compaction', { summarizationProvider: 'p' }, 'summarizationModel'],
    ['a summarizer without its provider', 'compaction', { summarizationModel: 'm' }, 'summarizationProvider'],
    ['a switch that is no switch', 'compaction', { auto: 'no' }, 'auto'],
    ['a policy for no model', 'compaction', { modelPolicies: [{ provider: 'p' }] }, 'model'],
    ['an unknown key in a policy', 'compaction', { modelPolicies: [{ ...ROUTE, auto: false }] }, 'auto'],
    ['two policies of one model', 'compaction', { modelPolicies: [{ ...ROUTE }, { ...ROUTE }] }, 'modelPolicies'],
    ['a policy that contradicts what it inherits', 'compaction', { retainRatio: 0.5, modelPolicies: [{ ...ROUTE, thresholdRatio: 0.4 }] }, 'thresholdRatio'],
    ['a density of nothing', 'token-meter', { charsPerToken: 0 }, 'charsPerToken'],
    ['an unknown key of the meter', 'token-meter', { charsPerTokn: 4 }, 'charsPerTokn'],
    ['a pruner that keeps more than it is given', 'tool-result-pruner', { thresholdChars: 100, headChars: 90, tailChars: 20 }, 'thresholdChars'],
    ['an unknown key of the pruner', 'tool-result-pruner', { threshold: 100 }, 'threshold'],
  ])('refuses %s, naming row and key', async (_title, id, config, key) => {
    const error = await booted(id, config).then(ctx => ctx.fiber.dispose(), (thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BootError)
    expect((error as BootError).message).toMatch(new RegExp(`${id} \\(@deepseek-ai/[\\w-]+\\)[^]*\\b${key}\\b`))
  })

  it('keeps sessions on disk where it is told to: what was compacted there is there again', async () => {
    const all = await house({ dir })
    await play(all, `${FULL} u300 a10`)
    const messages = JSON.stringify(all.session.deriveMessages())
    const { ctx, session } = all
    await ctx.get('sessions')!.close(session)
    const again = await ctx.get('sessions')!.resume('s')
    expect(JSON.stringify(again.deriveMessages())).toBe(messages)
    expect(checkpoints(again)).toHaveLength(1)
    expect(await readFile(join(dir, 's.jsonl'), 'utf8')).toContain('compaction/summary')
    expectSound({ ...all, session: again })
  })
})

describe('what goes takes everything along', () => {
  it('the engine: its listeners, its command, its service; and the same one comes back', async () => {
    const all = await house()
    await play(all, FULL)
    const { ctx } = all
    const loaded = treeOf(ctx)
    expect(loaded['listeners']).toMatchObject({ 'agent/pre-step': 1, 'agent/request-error': 1 })
    const row = rowOf(ctx, 'compaction')
    await row.dispose()
    expect(ctx.get('compaction')).toBeUndefined()
    expect(ctx.get('commands')!.list()).toEqual([])
    const { listeners } = treeOf(ctx) as { listeners: Record<string, number> }
    for (const name of ['agent/pre-step', 'agent/request-error', 'agent/request']) expect(listeners[name], name).toBeUndefined()
    const bare = treeOf(ctx)

    await say(all, sized('more', 250))
    all.replies.push(OVERFLOW)
    await say(all, 'and more')
    expect(bracketsOf(all.session)).toBe('')
    expect(turnEnds(all.session).at(-1)).toBe('CONTEXT_WINDOW_EXCEEDED')

    // Whoever came before it still runs after it.
    const seen: string[] = []
    const off = ctx.on('agent/pre-step', (_event, next) => (seen.push(surfaceOf(all.session).split(' ')[0]!), next()))
    const { default: Engine } = await import('@deepseek-ai/dsh-compaction-basic')
    const engine = await ctx.plugin(Engine)
    await until(() => ctx.get('commands')!.list().length === 1)
    await say(all, 'and now')
    expect(seen).toEqual(['S'])
    off()
    expect(treeOf(ctx)['listeners']).toEqual(loaded['listeners'])
    expect(checkpoints(all.session)).toHaveLength(1)
    await engine.dispose()
    expect(treeOf(ctx)).toEqual(bare)
    expectSound(all)
  })

  it('auto: false leaves nothing to take', async () => {
    const all = await house({ compaction: { auto: false } })
    const { listeners } = treeOf(all.ctx) as { listeners: Record<string, number> }
    expect(Object.keys(listeners).filter(name => name.startsWith('agent/'))).toEqual([])
    expectSound(all)
  })

  it('the pruner: results stay as they are, summaries are made', async () => {
    const all = await house()
    await rowOf(all.ctx, 'tool-result-pruner').dispose()
    await play(all, 'u100 ca10 ra3000 cb10 rb2900 cc10 rc2800 a10')
    expect(eventsOf(all.session, 'tool/result').every(({ surfaceOp }) => surfaceOp === 'append')).toBe(true)
    expect(eventsOf(all.session, 'compaction/summary').length).toBeGreaterThan(0)
    expectSound(all)
  })

  it('the whole composition: not a listener, not an effect is left', async () => {
    const all = await house()
    await play(all, FULL)
    await all.dispose()
    const left = Object.entries(all.ctx.events._hooks).flatMap(([name, hooks]) => (hooks.length > 0 ? [name] : []))
    expect(left.filter(name => !name.startsWith('internal/'))).toEqual([]) // those are the bus’s own
    expect(all.ctx.fiber.getEffects()).toEqual([])
  })
})
