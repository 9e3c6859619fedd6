import { pendingInput } from '@deepseek-ai/dsh-agent'
import type { LlmFailure } from '@deepseek-ai/dsh-llm'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { calls, harness, story, tool } from './harness.ts'

const down = { failure: { code: 'SERVER', message: 'down', status: 503 } } as const

describe('a failed request', () => {
  it('ends its step, then asks agent/request-error, then ends its turn with the failure', async () => {
    const { ctx, agent, session } = await harness({ replies: [{ ...down, after: [{ type: 'text', text: 'half' }] }] })
    ctx.on('agent/request-error', (event, next) => {
      expect(story(session)).toBe('+send turn1 u(a) [1 header(initial) context 1]')
      expect(event).toMatchObject({ agent, turn: 1, step: 1, failure: { ...down.failure, cause: expect.objectContaining({ name: 'LlmError' }) } })
      return next()
    })
    agent.send('a')
    await agent.whenIdle()
    expect([...session.log.from(0)].at(-1)).toMatchObject({ type: 'turn/end', data: { turn: 1, reason: 'error', failure: down.failure } })
    expect(JSON.stringify([...session.log.from(0)].at(-1))).not.toContain('cause')
    expectReplays(session)
  })

  it('that is retried closes its turn with its error and opens the next, which claims no queued message', async () => {
    const { ctx, agent, session, model } = await harness({ replies: [down, 'better', 'next'] })
    const statuses: string[] = []
    ctx.on('agent/status', (_agent, status) => void statuses.push(status))
    ctx.on('agent/request-error', async () => {
      agent.steer('hurry')
      agent.inject('note')
      return { kind: 'retry' }
    })
    agent.send('a')
    agent.send('b')
    await agent.whenIdle()
    expect(story(session, 2)).toBe(
      'turn1 u(a) [1 header(initial) context 1] +steer +inject /turn1(SERVER) turn2(retry) u(hurry) u(note) [1 a(better) 1] /turn2(completed) turn3 u(b) [1 a(next) 1] /turn3(completed)',
    )
    expect(model.requests[1]?.messages).toHaveLength(3)
    expect(statuses).toEqual(['running', 'idle'])
    expectReplays(session)
  })

  it('is retried from its own step on: what was answered before stays', async () => {
    const { ctx, agent, session } = await harness({ replies: [calls('', ['a', 'noop']), down, 'done'], tools: [tool('noop', () => 'ok')] })
    ctx.on('agent/request-error', async () => ({ kind: 'retry' }))
    agent.send('go')
    await agent.whenIdle()
    expect(story(session, 6)).toBe('a(a) call(a) result(a) 1] [2 2] /turn1(SERVER) turn2(retry) [1 a(done) 1] /turn2(completed)')
  })

  it.each<[string, () => never, LlmFailure]>([
    ['a plain error', () => { throw new TypeError('bug in the adapter') }, { code: 'UNKNOWN', message: 'bug in the adapter' }],
    ['an abort of its own', () => { throw new DOMException('gone', 'AbortError') }, { code: 'ABORTED', message: 'gone' }],
    ['an elapsed timeout', () => { throw new DOMException('slow', 'TimeoutError') }, { code: 'TIMEOUT', message: 'slow' }],
  ])('may be %s that the adapter throws', async (_name, thrower, failure) => {
    const { agent, session } = await harness({ replies: [thrower] })
    agent.send('a')
    await agent.whenIdle()
    expect([...session.log.from(0)].at(-1)).toMatchObject({ data: { reason: 'error', failure } })
  })

  it('may be in-band: an empty answer', async () => {
    const { agent, session } = await harness({ replies: [{ content: [] }] })
    agent.send('a')
    await agent.whenIdle()
    expect(story(session)).toContain('context 1] /turn1(EMPTY_RESPONSE)')
  })

  it('stands as it was when a listener of agent/request-error throws', async () => {
    const { ctx, agent, session, complaints } = await harness({ replies: [down] })
    ctx.on('agent/request-error', async () => { throw new Error('clumsy') })
    agent.send('a')
    await agent.whenIdle()
    expect(story(session)).toContain('/turn1(SERVER)')
    expect(complaints().join()).toContain('clumsy')
  })
})

describe('an error of a listener is no request error', () => {
  it.each([
    ['agent/pre-step', '+send turn1 /turn1(UNKNOWN)', 1],
    ['agent/request', '+send turn1 u(a) [1 1] /turn1(UNKNOWN)', 0],
  ] as const)('in %s it ends the turn, naming it, and asks nobody for a retry', async (name, expected, waiting) => {
    const { ctx, agent, session, complaints } = await harness({ replies: [] })
    let asked = false
    ctx.on(name, async () => { throw new Error('clumsy') })
    ctx.on('agent/request-error', (_event, next) => { asked = true; return next() })
    agent.send('a')
    await agent.whenIdle()
    expect(story(session)).toBe(expected)
    expect([...session.log.from(0)].at(-1)).toMatchObject({ data: { failure: { message: `a listener of ${name} failed: clumsy` } } })
    expect(complaints().join()).toContain('clumsy')
    expect(asked).toBe(false)
    expect(pendingInput(session)).toHaveLength(waiting)
    expectReplays(session)
  })

  it('nor is a session that is closed in the middle of a turn: the agent is let go, and nothing hangs', async () => {
    const { ctx } = await harness({ replies: [() => new Promise<string>(() => {})] })
    const session = await ctx.sessions.create({ id: 'closing' })
    const agent = ctx.agents.create(session, { provider: 'scripted', model: 'm' })
    agent.send('a')
    await new Promise(resolve => setImmediate(resolve))
    await ctx.sessions.close(session)
    await agent.whenIdle()
    expect(story(session)).toBe('+send turn1 u(a) [1 header(initial) context') // a resume completes it
    expect(ctx.agents.get('closing')).toBeUndefined()
  })

  it('in a prompt section it ends the turn and keeps its message', async () => {
    const { ctx, agent, session } = await harness({ replies: ['ok'] })
    const dispose = ctx.systemPrompt.registerSection({ name: 'bad', text: () => { throw new Error('clumsy') } })
    agent.send('a')
    await agent.whenIdle()
    expect(story(session)).toBe('+send turn1 /turn1(UNKNOWN)')
    dispose()
    agent.wake()
    await agent.whenIdle()
    expect(story(session, 3)).toBe('turn2 u(a) [1 header(initial) context a(ok) 1] /turn2(completed)')
  })
})
