import { Context } from '@deepseek-ai/cordis'
import Permissions, { isGranted, type Answer, type Asker } from '@deepseek-ai/dsh-permissions'
import { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import Tools from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'

const never = new AbortController().signal

/** A context whose one tool `do` asks with the scope it is called with, and lists what it did. */
async function stage(config?: { mode: 'ask' | 'allow' }) {
  const ctx = new Context()
  await ctx.plugin(Tools)
  await ctx.plugin(Permissions, config)
  const done: string[] = []
  ctx.tools.registerTool({
    name: 'do',
    parameters: { type: 'object' },
    permission: args => ({ scope: (args as { scope: string }).scope, title: 'Do it' }),
    execute: args => {
      done.push((args as { scope: string }).scope)
      return 'done'
    },
  })
  const run = (scope: string, options: { session?: Session; signal?: AbortSignal } = {}) =>
    ctx.tools.execute({ type: 'tool-call', id: scope, name: 'do', arguments: JSON.stringify({ scope }) }, { signal: never, ...options })
  return { ctx, done, run }
}

const newSession = () => new Session({ header: { id: 's', createdAt: 0 } })

/** Asks a script: one answer a question, each asked for by name. */
function scripted(answers: Record<string, Answer>): Asker & { asked: string[] } {
  const asked: string[] = []
  return Object.assign(async ({ request: { scope } }: { request: { scope: string } }) => {
    asked.push(scope)
    return answers[scope]!
  }, { asked })
}

describe('an answer', () => {
  it('of once lets one call run', async () => {
    const { ctx, run, done } = await stage()
    const asker = scripted({ write: 'once' })
    ctx.permissions.setAsker(asker)
    const session = newSession()
    await run('write', { session })
    await run('write', { session })
    expect(asker.asked).toEqual(['write', 'write'])
    expect(done).toEqual(['write', 'write'])
    expect(session.log.length).toBe(0)
  })

  it('of always lets every call of its scope run, in this session, also after it was read back from its log', async () => {
    const { ctx, run } = await stage()
    const asker = scripted({ write: 'always', shell: 'once' })
    ctx.permissions.setAsker(asker)
    const session = newSession()
    for (const scope of ['write', 'write', 'shell']) await run(scope, { session })
    expect(asker.asked).toEqual(['write', 'shell'])
    expectReplays(session)
    const resumed = new Session({ header: session.header, seed: session.log.from(0) })
    expect(isGranted(resumed, 'write')).toBe(true)
    await run('write', { session: resumed })
    await run('write', { session: newSession() })
    expect(asker.asked).toEqual(['write', 'shell', 'write'])
  })

  it.each([
    ['a reason', ' use pnpm ', 'The call was not run: permission was denied. The person says: use pnpm'],
    ['no reason', '', 'The call was not run: permission was denied. Do not try'],
  ])('of no, with %s, is read by the model', async (_title, deny, words) => {
    const { ctx, run, done } = await stage()
    ctx.permissions.setAsker(async () => ({ deny }))
    const outcome = await run('write')
    expect(outcome).toMatchObject({ isError: true, error: { code: 'PERMISSION_DENIED' } })
    expect((outcome.content[0] as { text: string }).text).toContain(words)
    expect(done).toEqual([])
  })

  it('that never comes because the asker fails lets nothing run, and the next question is asked', async () => {
    const { ctx, run, done } = await stage()
    let questions = 0
    ctx.permissions.setAsker(async () => {
      if (questions++ === 0) throw new Error('the terminal is gone')
      return 'once'
    })
    const [first, second] = await Promise.all([run('a'), run('b')])
    expect(first).toMatchObject({ isError: true })
    expect(second).not.toHaveProperty('isError')
    expect(done).toEqual(['b'])
  })
})

describe('questions', () => {
  it('are asked one after the other, and not at all when an earlier answer settles them', async () => {
    const { ctx, run } = await stage()
    let open = 0
    const asked: string[] = []
    ctx.permissions.setAsker(async ({ request: { scope } }) => {
      open += 1
      expect(open).toBe(1)
      asked.push(scope)
      await new Promise(resolve => setImmediate(resolve))
      open -= 1
      return 'always'
    })
    const session = newSession()
    await Promise.all(['a', 'b', 'a', 'b', 'a'].map(scope => run(scope, { session })))
    expect(asked).toEqual(['a', 'b'])
  })

  it('are taken back when their call is cancelled, the one that is open and those that wait', async () => {
    const { ctx, run, done } = await stage()
    const controller = new AbortController()
    const asked: AbortSignal[] = []
    ctx.permissions.setAsker(({ request, signal }) => {
      asked.push(signal)
      return request.scope === 'after' ? Promise.resolve('once') : new Promise<never>(() => {})
    })
    const cancelled = [run('open', { signal: controller.signal }), run('waiting', { signal: controller.signal })]
    const after = run('after')
    await new Promise(resolve => setImmediate(resolve))
    controller.abort()
    for (const outcome of await Promise.all(cancelled)) expect(outcome).toMatchObject({ error: { code: 'ABORTED' } })
    await after
    expect(asked.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(done).toEqual(['after'])
  })

  it('that nobody is there to ask are refused with what can be done about it', async () => {
    const { run } = await stage()
    expect(JSON.stringify(await run('write'))).toContain('by starting with --yes')
  })

  it('that nobody is there to ask are left to whoever decides after it', async () => {
    const { ctx, run } = await stage()
    ctx.on('tools/permission', async ({ request }) => (request.scope === 'read' ? { kind: 'allow' } : { kind: 'deny', reason: 'By policy.' }))
    expect(await run('read')).not.toHaveProperty('isError')
    expect(JSON.stringify(await run('write'))).toContain('By policy.')
  })

  it('are nobody\'s once the asker has left, and another may take its place', async () => {
    const { ctx, run } = await stage()
    const leave = ctx.permissions.setAsker(() => new Promise(() => {}))
    expect(() => ctx.permissions.setAsker(async () => 'once')).toThrow('somebody asks')
    const outcome = run('write')
    await new Promise(resolve => setImmediate(resolve))
    leave()
    expect(JSON.stringify(await outcome)).toContain('Nobody is here')
    ctx.permissions.setAsker(async () => 'once')
    expect(await run('write')).not.toHaveProperty('isError')
  })
})

describe('a person who said yes to everything', () => {
  it.each([
    ['by the configuration', { mode: 'allow' } as const, () => {}],
    ['while it runs', undefined, (ctx: Context) => ctx.permissions.allowAll()],
  ])('%s is not asked', async (_title, config, change) => {
    const { ctx, run, done } = await stage(config)
    change(ctx)
    ctx.permissions.setAsker(async () => { throw new Error('asked') })
    await run('write')
    expect(done).toEqual(['write'])
  })
})

it('refuses a configuration that it does not know', async () => {
  await expect(stage({ mode: 'maybe' as 'ask' })).rejects.toThrow('mode')
})
