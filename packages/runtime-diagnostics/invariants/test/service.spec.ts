import { Context } from '@deepseek-ai/cordis'
import AgentService from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import BasicCompactionEngine from '@deepseek-ai/dsh-compaction-basic'
import LlmService, { ScriptedAdapter } from '@deepseek-ai/dsh-llm'
import SessionService, { EventLog, Session, type Invariant } from '@deepseek-ai/dsh-session'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import ToolService from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import InvariantService from '../src/index.ts'
import { underInvariants } from '../src/testing.ts'

const HOUSE = [SessionService, LlmService, TokenMeterService, SystemPromptService, ToolService, AgentService, AgentLoop, BasicCompactionEngine]
const EVERYBODY = ['agent-loop', 'compaction', 'session', 'tools']

async function house(): Promise<Context> {
  const ctx = new Context()
  for (const plugin of HOUSE) await ctx.plugin(plugin)
  return ctx
}

describe('who registers', () => {
  it('everybody who has something to say, whether loaded before or after', async () => {
    const before = new Context()
    await before.plugin(InvariantService)
    for (const plugin of HOUSE) await before.plugin(plugin)
    expect(before.invariants.names().toSorted()).toEqual(EVERYBODY)

    const after = await house()
    await after.plugin(InvariantService)
    expect(after.invariants.names().toSorted()).toEqual(EVERYBODY)
  })

  it('nobody, and nothing is judged, where it is not loaded', async () => {
    const ctx = await house()
    const session = await ctx.sessions.create()
    session.append('step/start', { turn: 7, step: 7 })
    expect(session.log.length).toBe(1)
  })

  it('goes with its package, and a package comes back', async () => {
    const ctx = new Context()
    await ctx.plugin(InvariantService)
    await ctx.plugin(SessionService)
    const tools = await ctx.plugin(ToolService)
    expect(ctx.invariants.names()).toEqual(['session', 'tools'])
    await tools.dispose()
    expect(ctx.invariants.names()).toEqual(['session'])
    await ctx.plugin(ToolService)
    expect(ctx.invariants.names()).toEqual(['session', 'tools'])
  })

  it('is refused under a name that is taken', async () => {
    const ctx = new Context()
    await ctx.plugin(InvariantService)
    const invariant: Invariant<null> = { name: 'mine', init: () => null, apply: state => state, violations: () => [] }
    const dispose = ctx.invariants.register(invariant)
    expect(() => ctx.invariants.register({ ...invariant })).toThrow('an invariant "mine" is registered already')
    dispose()
    ctx.invariants.register(invariant)
    expect(ctx.invariants.names()).toEqual(['mine'])
  })
})

describe('sessions of ctx.sessions', () => {
  it('are judged while it is loaded, those that were open before as well', async () => {
    const ctx = await house()
    const session = await ctx.sessions.create()
    const invariants = await ctx.plugin(InvariantService)
    expect(() => session.append('step/start', { turn: 1, step: 1 })).toThrow('step 1 starts outside any turn (session)')
    const later = await ctx.sessions.create()
    expect(() => later.append('compaction/end', { startSeq: 0, turn: null })).toThrow('an end for start 0, which is not running (compaction)')
    await invariants.dispose()
    session.append('step/start', { turn: 1, step: 1 })
  })

  it('tell nobody of a vetoed event', async () => {
    const ctx = await house()
    await ctx.plugin(InvariantService)
    const told: string[] = []
    ctx.on('session/event', (_session, { type }) => void told.push(type))
    const session = await ctx.sessions.create()
    expect(() => session.append('step/start', { turn: 1, step: 1 })).toThrow('step 1 starts outside any turn')
    session.append('turn/start', { turn: 1 })
    expect(told).toEqual(['turn/start'])
  })
})

it('an invariant sees a stored log as it is loaded', async () => {
  const ctx = await house()
  await ctx.plugin(InvariantService)
  const log = new EventLog()
  ctx.emit('session/loading', log)
  const names = [...log.folds()].map(fold => (fold as Partial<Invariant<unknown>>).name)
  expect(names.filter(name => name !== undefined).toSorted()).toEqual(EVERYBODY)
})

describe('under all invariants', () => {
  it('an agent works, calls tools and is compacted, and nothing is objected to', async () => {
    const ctx = new Context()
    const { reported } = await underInvariants(ctx)
    for (const plugin of HOUSE) await ctx.plugin(plugin)
    let asked = 0
    ctx.llm.registerAdapter(new ScriptedAdapter({
      models: { m: { contextWindow: 4_000 } },
      replies: ({ purpose }) => {
        if (purpose === 'compaction') return `## Current Work\n${'Looking around. '.repeat(20)}`
        asked += 1
        return asked % 5 === 0 ? 'Done.' : { content: [{ type: 'tool-call', id: `call-${asked}`, name: 'look', arguments: '{}' }] }
      },
    }))
    ctx.tools.registerTool({ name: 'look', parameters: { type: 'object' }, execute: () => 'It looks fine from here. '.repeat(60) })
    const agent = ctx.agents.create(await ctx.sessions.create(), { provider: 'scripted', model: 'm' })
    for (let turn = 0; turn < 5; turn++) {
      agent.send(`Look around, for the ${turn}th time.`)
      await agent.whenIdle()
    }
    const events = [...agent.session.log.from(0)]
    expect(events.filter(({ type }) => type === 'compaction/summary').length).toBeGreaterThan(1)
    expect(events.filter(event => event.type === 'turn/end' && event.data.reason === 'completed')).toHaveLength(5)
    expect(reported).toEqual([])
  })

  it('a session made by hand is judged by the same guard, and a report names its event in the application\'s log', async () => {
    const ctx = new Context()
    const { reported, guard } = await underInvariants(ctx)
    await ctx.plugin(SessionService)
    const session = new Session({ header: { id: 's', createdAt: 0 }, guard })
    session.append('turn/end', { turn: 1, reason: 'completed' })
    expect(reported).toEqual(['event 0 (turn/end) of session s violates an invariant: turn 1 ends, and none is open (session)'])
  })
})
