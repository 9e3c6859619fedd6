import { Cancelled, pendingInput } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import { untilAborted } from '@deepseek-ai/dsh-llm'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { expect, it } from 'vitest'
import { calls, gate, harness, story, tool, type Harness } from './harness.ts'

async function settled({ agent, session }: Harness): Promise<void> {
  await agent.whenIdle()
  expect(agent.status).toBe('idle')
  expectReplays(session)
}

it('before the turn opened: it opens and ends, and its message waits', async () => {
  const all = await harness({ replies: [] })
  all.agent.send('a')
  all.agent.cancel('escape')
  await settled(all)
  expect(story(all.session)).toBe('+send turn1 /turn1(aborted by escape)')
  expect(pendingInput(all.session)).toHaveLength(1)
})

it('during agent/pre-step: nothing enters, nothing is lost, and the agent rests until it is woken', async () => {
  const all = await harness({ replies: ['now'] })
  const { ctx, agent, session } = all
  let cancelled = false
  ctx.on('agent/pre-step', async (event, next) => {
    if (!cancelled) queueMicrotask(() => agent.cancel('escape'))
    if (!cancelled) await untilAborted(new Promise(() => {}), event.signal).catch(reason => expect(reason).toBeInstanceOf(Cancelled))
    cancelled = true
    return next()
  })
  agent.send('a')
  agent.send('b')
  await settled(all)
  expect(story(session)).toBe('+send +send turn1 /turn1(aborted by escape)')
  expect(pendingInput(session).map(({ inputId }) => inputId)).toEqual(['input-0', 'input-1'])
  agent.wake()
  agent.cancel('again') // cancels the turn that is about to open; its message stays
  await settled(all)
  expect(pendingInput(session)).toHaveLength(2)
})

it('during agent/pre-step, then new input: the old message comes first', async () => {
  const all = await harness({ replies: ['1', '2'] })
  const { ctx, agent, session } = all
  const slow = gate()
  ctx.on('agent/pre-step', async (event, next) => {
    if (event.turn === 1) await slow.passed
    return next()
  })
  agent.send('a')
  await new Promise(resolve => setImmediate(resolve))
  agent.cancel('escape')
  agent.send('b') // while the cancelled turn still winds down
  slow.open()
  await settled(all)
  expect(story(session)).toBe(
    '+send turn1 +send /turn1(aborted by escape) turn2 u(a) [1 header(initial) context a(1) 1] /turn2(completed) turn3 u(b) [1 a(2) 1] /turn3(completed)',
  )
})

it('during agent/request: the step and the turn end', async () => {
  const all = await harness({ replies: [] })
  all.ctx.on('agent/request', (_event, next) => {
    all.agent.cancel('escape')
    return next()
  })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session)).toBe('+send turn1 u(a) [1 1] /turn1(aborted by escape)')
})

it('while the model is silent: the request is aborted with the cause', async () => {
  const all = await harness({ replies: [() => { queueMicrotask(() => all.agent.cancel('escape')); return new Promise<string>(() => {}) }] })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session)).toBe('+send turn1 u(a) [1 header(initial) context 1] /turn1(aborted by escape)')
  expect(all.model.requests[0]?.signal?.reason).toMatchObject({ name: 'AbortError', by: 'escape' })
})

it('during the stream: what was said is kept as an interrupted answer without its calls', async () => {
  const all = await harness({ replies: [calls('Let me look.', ['a', 'noop'])], tools: [tool('noop', () => 'never')] })
  all.ctx.on('agent/delta', (agent, chunk) => {
    if (chunk.type === 'block-start' && chunk.block.type === 'tool-call') agent.cancel('escape')
  })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session, 6)).toBe('a(Let me look.)! 1] /turn1(aborted by escape)')
  expect(all.session.deriveMessages()).toHaveLength(2)
})

it('during the stream, in the middle of a text: as far as it came', async () => {
  const all = await harness({ replies: ['half a sentence'] })
  all.ctx.on('agent/delta', (agent, chunk) => {
    if (chunk.type === 'text-delta') agent.cancel('escape')
  })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session, 6)).toBe('a(half )! 1] /turn1(aborted by escape)')
})

it('during the stream, before any text: no answer is logged', async () => {
  const all = await harness({ replies: [{ content: [{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'never' }] }] })
  all.ctx.on('agent/delta', (agent, chunk) => {
    if (chunk.type === 'reasoning-delta') agent.cancel('escape')
  })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session, 6)).toBe('1] /turn1(aborted by escape)')
})

it('during tools: running and waiting calls are answered ABORTED, finished ones keep their results', async () => {
  let told: unknown
  const all = await harness({
    replies: [calls('', ['a', 'deaf'], ['b', 'quick'], ['c', 'write'])],
    tools: [
      tool('deaf', (_args, { signal }) => { signal.addEventListener('abort', () => { told = signal.reason }); return new Promise<string>(() => {}) }, true),
      tool('quick', async () => { setImmediate(() => all.agent.cancel('escape')); return 'done' }, true),
      tool('write', () => 'never'),
    ],
  })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session, 6)).toBe('a(a b c) call(a) call(b) result(a:ABORTED) result(b) result(c:ABORTED) 1] /turn1(aborted by escape)')
  expect(told).toMatchObject({ by: 'escape' })
})

it('during agent/request-error: a cancel beats a retry', async () => {
  const all = await harness({ replies: [{ failure: { code: 'SERVER', message: 'down' } }] })
  all.ctx.on('agent/request-error', async () => {
    all.agent.cancel('escape')
    return { kind: 'retry' }
  })
  all.agent.send('a')
  await settled(all)
  expect(story(all.session)).toBe('+send turn1 u(a) [1 header(initial) context 1] /turn1(aborted by escape)')
})

it('with steering waiting: it opens the next turn', async () => {
  const all = await harness({
    replies: [() => { all.agent.steer('the other way'); all.agent.cancel('escape'); return 'never' }, 'turning'],
  })
  all.agent.send('this way')
  await settled(all)
  expect(story(all.session, 6)).toBe('+steer 1] /turn1(aborted by escape) turn2 u(the other way) [1 a(turning) 1] /turn2(completed)')
})

it('of an idle agent does nothing', async () => {
  const all = await harness({ replies: ['ok'] })
  all.agent.cancel('escape')
  all.agent.send('a')
  await settled(all)
  expect(story(all.session)).toContain('/turn1(completed)')
})

it('by unloading the loop: the turn ends, and the queue goes on with the next loop', async () => {
  const all = await harness({ replies: [() => new Promise<string>(() => {}), 'back'] })
  const { ctx, agent, session } = all
  agent.send('a')
  agent.send('b')
  await new Promise(resolve => setImmediate(resolve))
  ctx.registry.delete(AgentLoop)
  await agent.whenIdle()
  expect(story(session, 2)).toBe('turn1 u(a) [1 header(initial) context 1] /turn1(aborted by the loop was unloaded)')
  expect(pendingInput(session)).toHaveLength(1)
  await ctx.plugin(AgentLoop)
  await settled(all)
  expect(story(session, 9)).toBe('turn2 u(b) [1 a(back) 1] /turn2(completed)')
})
