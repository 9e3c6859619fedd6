import { Context } from '@deepseek-ai/cordis'
import AgentService, { type Agent } from '@deepseek-ai/dsh-agent'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import SessionService, { Session, type EventSink } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import CommandService, { CommandError, type Command } from '../src/index.ts'

interface Harness {
  readonly ctx: Context
  readonly agent: Agent
  readonly session: Session
  complaints(): string[]
}

/** The logger's number for warnings; it keeps them to itself unless told otherwise. */
const WARN = 2

async function harness(sink?: EventSink): Promise<Harness> {
  const ctx = new Context()
  const { guard } = await underInvariants(ctx)
  const complaints: string[] = []
  ctx.logger.exporter({ levels: { default: WARN }, export: ({ type, args }) => void (type !== 'info' && complaints.push(args.join(' '))) })
  for (const plugin of [SessionService, AgentService, CommandService]) await ctx.plugin(plugin)
  const session = new Session({ header: { id: 's', createdAt: 0 }, guard, ...(sink && { sink }) })
  const agent = ctx.agents.create(session)
  return { ctx, agent, session, complaints: () => complaints }
}

const echo: Command = { name: 'echo', description: 'says it again', usage: '/echo <words>', run: args => args }
const logged = (session: Session) => [...session.log.from(0)].map(({ type, data }) => ({ type, ...data }))

describe('a command that is run', () => {
  it('stands in the log with its line and its outcome, and the model sees neither', async () => {
    const { ctx, agent, session } = await harness()
    ctx.commands.register(echo)
    expect(await ctx.commands.execute('/echo two words', agent)).toEqual({ commandId: 'command-0', text: 'two words' })
    expect(await ctx.commands.execute('/echo', agent)).toEqual({ commandId: 'command-2', text: '' })
    expect(logged(session)).toEqual([
      { type: 'command/run', commandId: 'command-0', name: 'echo', args: 'two words' },
      { type: 'command/done', commandId: 'command-0', text: 'two words' },
      { type: 'command/run', commandId: 'command-2', name: 'echo', args: '' },
      { type: 'command/done', commandId: 'command-2', text: '' },
    ])
    expect(session.deriveMessages()).toEqual([])
    expectReplays(session)
  })

  it('gets the agent, its session and a signal', async () => {
    const { ctx, agent, session } = await harness()
    ctx.commands.register({ ...echo, run: (_args, context) => `${context.agent === agent} ${context.session === session} ${context.signal.aborted}` })
    expect(await ctx.commands.execute('/echo', agent)).toMatchObject({ text: 'true true false' })
  })

  it('may run while the agent works, and while another command runs', async () => {
    const { ctx, agent, session } = await harness()
    const { promise, resolve } = Promise.withResolvers<string>()
    ctx.commands.register({ ...echo, name: 'wait', run: () => promise })
    ctx.commands.register({ ...echo, name: 'status', run: (_args, context) => context.agent.status })
    const working = agent.runMaintenance(() => promise)
    const waiting = ctx.commands.execute('/wait', agent)
    expect(await ctx.commands.execute('/status', agent)).toMatchObject({ text: 'running' })
    resolve('done')
    expect(await waiting).toEqual({ commandId: 'command-0', text: 'done' })
    await working
    expect(logged(session).map(({ type, commandId }: { type: string; commandId?: string }) => `${type} ${commandId}`)).toEqual([
      'command/run command-0', 'command/run command-1', 'command/done command-1', 'command/done command-0',
    ])
  })

  it('is durable with its outcome when execute resolves', async () => {
    const taken: string[] = []
    let durable = 0
    const { ctx, agent } = await harness({ append: event => void taken.push(event.type), flush: async () => void (durable = taken.length) })
    ctx.commands.register(echo)
    await ctx.commands.execute('/echo', agent)
    expect(taken.slice(0, durable)).toEqual(['command/run', 'command/done'])
  })
})

describe('a command that fails', () => {
  it('tells the person what it says for them', async () => {
    const { ctx, agent, session, complaints } = await harness()
    ctx.commands.register({ ...echo, run: () => { throw new CommandError('Usage: /echo <words>') } })
    expect(await ctx.commands.execute('/echo', agent)).toEqual({ commandId: 'command-0', error: 'Usage: /echo <words>' })
    expect(logged(session)[1]).toEqual({ type: 'command/done', commandId: 'command-0', error: 'Usage: /echo <words>' })
    expect(complaints()).toEqual([])
  })

  it('is reported as a fault where it throws anything else, and told of all the same', async () => {
    const { ctx, agent, complaints } = await harness()
    ctx.commands.register({ ...echo, run: async () => { throw new TypeError('x is undefined') } })
    expect(await ctx.commands.execute('/echo', agent)).toMatchObject({ error: 'x is undefined' })
    expect(complaints()).toEqual([expect.stringContaining('/%s failed')])
  })

  it('has an outcome also when its session does not take it', async () => {
    const { ctx, agent, session, complaints } = await harness()
    ctx.commands.register({ ...echo, name: 'quit', run: () => { session.close(); return 'Bye.' } })
    expect(await ctx.commands.execute('/quit', agent)).toMatchObject({ text: 'Bye.' })
    expect(complaints()).toEqual([expect.stringContaining('is not stored')])
    await expect(ctx.commands.execute('/quit', agent)).rejects.toThrow('session s is closed')
  })
})

describe('a line that names no command', () => {
  it('is told the closest names, or else all of them', async () => {
    const { ctx, agent, session } = await harness()
    expect(await ctx.commands.execute('/compact', agent)).toMatchObject({ error: 'There is no command /compact. There are none.' })
    for (const name of ['model', 'compact']) ctx.commands.register({ ...echo, name })
    expect(await ctx.commands.execute('/compcat now', agent)).toEqual({ commandId: 'command-2', error: 'There is no command /compcat. Did you mean /compact?' })
    expect(await ctx.commands.execute('/frobnicate', agent)).toMatchObject({ error: 'There is no command /frobnicate. There are: /compact, /model.' })
    expect(logged(session)[2]).toEqual({ type: 'command/run', commandId: 'command-2', name: 'compcat', args: 'now' })
  })

  it('is refused where it is a message, and nothing is logged', async () => {
    const { ctx, agent, session } = await harness()
    await expect(ctx.commands.execute('/home/me is full', agent)).rejects.toThrow('no command: /home/me is full')
    expect(session.log.length).toBe(0)
  })
})

describe('cancelling', () => {
  const untilAborted: Command = {
    ...echo,
    run: (_args, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  }

  it('ends a command that listens, and nothing is started under a signal that was aborted before', async () => {
    const { ctx, agent, complaints } = await harness()
    let runs = 0
    ctx.commands.register({ ...untilAborted, run: (...args) => { runs += 1; return untilAborted.run(...args) } })
    const controller = new AbortController()
    const running = ctx.commands.execute('/echo', agent, controller.signal)
    controller.abort(new Error('Escape'))
    expect(await running).toMatchObject({ error: '/echo was cancelled' })
    expect(await ctx.commands.execute('/echo', agent, controller.signal)).toMatchObject({ error: '/echo was cancelled' })
    expect(runs).toBe(1)
    expect(complaints()).toEqual([])
  })

  it('keeps what a command did nevertheless', async () => {
    const { ctx, agent } = await harness()
    const controller = new AbortController()
    ctx.commands.register({ ...echo, run: () => { controller.abort(); return 'too late, it is done' } })
    expect(await ctx.commands.execute('/echo', agent, controller.signal)).toMatchObject({ text: 'too late, it is done' })
    ctx.commands.register({ ...echo, name: 'half', run: () => { throw new CommandError('done, but not stored') } })
    const late = new AbortController()
    const outcome = ctx.commands.execute('/half', agent, late.signal)
    late.abort()
    expect(await outcome).toMatchObject({ error: 'done, but not stored' })
  })

  it('unloading a command ends what it runs', async () => {
    const { ctx, agent } = await harness()
    const dispose = ctx.commands.register(untilAborted)
    const running = ctx.commands.execute('/echo', agent)
    dispose()
    expect(await running).toMatchObject({ error: '/echo was unloaded' })
  })
})

describe('registration', () => {
  it('is one effect of the registering fiber and goes with it', async () => {
    const { ctx } = await harness()
    const fiber = await ctx.plugin({ name: 'echoing', inject: ['commands'], apply: (inner: Context) => void inner.commands.register(echo) })
    expect(ctx.commands.list()).toEqual([echo])
    expect(fiber.getEffects().map(({ label }) => label)).toContain('ctx.commands.register("echo")')
    await fiber.dispose()
    expect(ctx.commands.list()).toEqual([])
    ctx.commands.register(echo)
  })

  it('lists by name, whatever the order', async () => {
    const { ctx } = await harness()
    for (const name of ['quit', 'compact', 'model']) ctx.commands.register({ ...echo, name })
    expect(ctx.commands.list().map(({ name }) => name)).toEqual(['compact', 'model', 'quit'])
  })

  it.each(['', 'Compact', '/compact', 'two words', '1st', 'é'])('refuses %j as a name', async name => {
    const { ctx } = await harness()
    expect(() => ctx.commands.register({ ...echo, name })).toThrow(`${JSON.stringify(name)} is no name for a command`)
  })

  it('refuses a name that is taken', async () => {
    const { ctx } = await harness()
    ctx.commands.register(echo)
    expect(() => ctx.commands.register(echo)).toThrow('a command /echo is registered already')
    expect(ctx.commands.list()).toEqual([echo])
  })
})
