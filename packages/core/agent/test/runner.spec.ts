import { Context } from '@deepseek-ai/cordis'
import AgentService, { Cancelled, nextInput, pendingInput, type AgentDriver } from '@deepseek-ai/dsh-agent'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import SessionService, { type Session } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'

/** The smallest driver: every turn takes in what waits, and nothing more. */
const takesAll: AgentDriver = async ({ session }) => {
  for (const { content, source, inputId } of nextInput(session, true)) {
    session.append('user/message', { content, source: { ...source, inputId } }, { surfaceOp: 'append' })
  }
}

async function agents(driver?: AgentDriver) {
  const ctx = new Context()
  await underInvariants(ctx)
  await ctx.plugin(SessionService)
  await ctx.plugin(AgentService)
  if (driver !== undefined) ctx.agents.setDriver(driver)
  const session = await ctx.sessions.create({ id: 's' })
  return { ctx, session, agent: ctx.agents.create(session) }
}

const entered = (session: Session) => session.surface.entries.length

describe('one agent a session', () => {
  it('is found by the session, and a second is refused until the first is let go', async () => {
    const { ctx, session, agent } = await agents(takesAll)
    expect(ctx.agents.get('s')).toBe(agent)
    expect(() => ctx.agents.create(session)).toThrow('session s has an agent already')
    expect(ctx.agents.get('s')).toBe(agent)
    await ctx.agents.release(agent)
    expect(ctx.agents.get('s')).toBeUndefined()
    expect(() => agent.send('a')).toThrow('let go')
    expect(ctx.agents.create(session)).not.toBe(agent)
  })

  it('goes with the plugin that created it, its turn cancelled', async () => {
    const { ctx } = await agents()
    let reason: unknown
    ctx.agents.setDriver((_agent, signal) => new Promise(resolve => signal.addEventListener('abort', () => { reason = signal.reason; resolve() })))
    const session = await ctx.sessions.create({ id: 'other' })
    const plugin = Object.assign((inner: Context) => void inner.agents.create(session).send('a'), { inject: ['agents'] })
    const fiber = await ctx.plugin(plugin)
    expect(ctx.agents.get('other')?.status).toBe('running')
    await fiber.dispose()
    expect(ctx.agents.get('other')).toBeUndefined()
    expect(reason).toBeInstanceOf(Cancelled)
  })

  it('goes with the service, which leaves no listener behind', async () => {
    const ctx = new Context()
    await ctx.plugin(SessionService)
    const before = ctx.events.dispatch('emit', ['session/closed']).length
    const fiber = await ctx.plugin(AgentService)
    const agent = ctx.agents.create(await ctx.sessions.create())
    await fiber.dispose()
    expect(() => agent.send('a')).toThrow('let go')
    expect(ctx.get('agents')).toBeUndefined()
    expect(ctx.events.dispatch('emit', ['session/closed'])).toHaveLength(before)
  })

  it('is let go once its turn has ended, also for whoever comes second', async () => {
    const over: string[] = []
    const begun = Promise.withResolvers<void>()
    const { ctx, agent } = await agents(async (_agent, signal) => {
      begun.resolve()
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      await new Promise(resolve => setImmediate(resolve))
      over.push('turn')
    })
    agent.send('a')
    await begun.promise
    await Promise.all(['first', 'second'].map(async who => {
      await ctx.agents.release(agent)
      over.push(who)
    }))
    expect(over).toEqual(['turn', expect.any(String), expect.any(String)])
  })

  it('goes with its session', async () => {
    const { ctx, session, agent } = await agents(takesAll)
    await ctx.sessions.close(session)
    expect(ctx.agents.get('s')).toBeUndefined()
    expect(() => agent.inject('a')).toThrow('let go')
  })
})

describe('the driver', () => {
  it('is one', async () => {
    const { ctx } = await agents(takesAll)
    expect(() => ctx.agents.setDriver(takesAll)).toThrow('already')
  })

  it('that comes late goes on with what was sent before it', async () => {
    const { ctx, session, agent } = await agents()
    agent.send('a')
    agent.inject('b')
    expect(agent.status).toBe('idle')
    ctx.agents.setDriver(takesAll)
    await agent.whenIdle()
    expect(entered(session)).toBe(2)
  })

  it('that rejects is reported, and the agent rests', async () => {
    const { ctx, agent } = await agents(async () => { throw new Error('the log is closed') })
    agent.send('a')
    await agent.whenIdle()
    expect(agent.status).toBe('idle')
    expect(ctx.logger.buffer.map(({ args }) => args.join(' ')).join()).toContain('the log is closed')
  })
})

describe('input', () => {
  it('has an id that names the event which accepted it, and is a person\'s unless it says otherwise', async () => {
    const { session, agent } = await agents()
    expect(agent.send('a')).toBe('input-0')
    expect(agent.inject([{ type: 'text', text: 'b' }], { kind: 'plugin', plugin: 'clock' })).toBe('input-1')
    expect([session.log.at(0).data, session.log.at(1).data]).toEqual([
      { inserted: [{ inputId: 'input-0', kind: 'send', content: [{ type: 'text', text: 'a' }], source: { kind: 'user' } }] },
      { inserted: [{ inputId: 'input-1', kind: 'inject', content: [{ type: 'text', text: 'b' }], source: { kind: 'plugin', plugin: 'clock' } }] },
    ])
  })

  it('that is no plain JSON is refused whole', async () => {
    const { session, agent } = await agents(takesAll)
    expect(() => agent.send([{ type: 'text', text: 3n as never }])).toThrow(TypeError)
    expect([session.log.length, agent.status]).toEqual([0, 'idle'])
  })

  it('can be taken back until it enters', async () => {
    const { session, agent } = await agents()
    const inputId = agent.send('a')
    expect(agent.withdraw(inputId)).toBe(true)
    expect(agent.withdraw(inputId)).toBe(false)
    expect(pendingInput(session)).toEqual([])
  })

  it('tells of running once, and of idle once, however many turns a queue takes', async () => {
    const { ctx, agent } = await agents(takesAll)
    const statuses: string[] = []
    ctx.on('agent/status', (who, status) => {
      expect(who.status).toBe(status)
      statuses.push(status)
    })
    agent.send('a')
    agent.send('b')
    await agent.whenIdle()
    expect(statuses).toEqual(['running', 'idle'])
  })
})

describe('maintenance', () => {
  it('is refused at once while the agent runs, or is under maintenance already', async () => {
    const { agent } = await agents(takesAll)
    agent.send('a')
    expect(() => agent.runMaintenance(async () => {})).toThrow('not idle')
    await agent.whenIdle()
    const first = agent.runMaintenance(async () => 'first')
    expect(() => agent.runMaintenance(async () => {})).toThrow('not idle')
    expect(await first).toBe('first')
    expect(await agent.runMaintenance(async () => 'second')).toBe('second')
  })

  it('holds waking input back until its task settles', async () => {
    const { session, agent } = await agents(takesAll)
    const { promise, resolve } = Promise.withResolvers<void>()
    const task = agent.runMaintenance(() => promise)
    expect(agent.status).toBe('running')
    agent.send('a')
    agent.steer('b')
    await new Promise(done => setImmediate(done))
    expect(entered(session)).toBe(0)
    resolve()
    await task
    await agent.whenIdle()
    expect(entered(session)).toBe(2)
  })

  it('leaves an agent idle that nothing woke meanwhile', async () => {
    const { session, agent } = await agents(takesAll)
    await agent.runMaintenance(async () => void agent.inject('a'))
    expect([agent.status, entered(session)]).toEqual(['idle', 0])
  })

  it('is aborted by a cancel, and the input held back goes on', async () => {
    const { session, agent } = await agents(takesAll)
    const task = agent.runMaintenance(signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))
    agent.send('a')
    agent.cancel('escape')
    await expect(task).rejects.toMatchObject({ name: 'AbortError', by: 'escape' })
    await agent.whenIdle()
    expect(entered(session)).toBe(1)
  })

  it('is aborted when the agent is let go, which waits for it', async () => {
    const { ctx, agent } = await agents(takesAll)
    let over = false
    const task = agent.runMaintenance(async signal => {
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      await new Promise(resolve => setImmediate(resolve))
      over = true
    })
    await ctx.agents.release(agent)
    expect(over).toBe(true)
    await task
  })

  it.each([['throws', () => { throw new Error('bad') }], ['rejects', async () => { throw new Error('bad') }]])(
    'whose task %s rejects the same, and the agent is idle again',
    async (_name, task) => {
      const { agent } = await agents(takesAll)
      await expect(agent.runMaintenance(task)).rejects.toThrow('bad')
      expect(agent.status).toBe('idle')
    },
  )
})
