import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { expect, it } from 'vitest'
import { calls, gate, harness, story, tool } from './harness.ts'

it('logs the results of parallel calls in the order of the calls, whoever answers first', async () => {
  const slow = gate<string>()
  const order: string[] = []
  const { agent, session } = await harness({
    replies: [calls('', ['a', 'slow'], ['b', 'quick'], ['c', 'quick']), 'done'],
    tools: [
      tool('slow', async () => { const text = await slow.passed; order.push('slow'); return text }, true),
      tool('quick', async (_args, { callId }) => { order.push(callId); if (callId === 'c') slow.open('late'); return 'early' }, true),
    ],
  })
  agent.send('hi')
  await agent.whenIdle()
  expect(order).toEqual(['b', 'c', 'slow'])
  expect(story(session, 6)).toBe('a(a b c) call(a) call(b) call(c) result(a) result(b) result(c) 1] [2 a(done) 2] /turn1(completed)')
  expectReplays(session)
})

it('runs calls of other tools one after the other, between the parallel ones', async () => {
  let running = 0
  const busy: Record<string, number> = {}
  const execute = async (_args: unknown, { callId }: { callId: string }) => {
    running += 1
    await new Promise(resolve => setImmediate(resolve))
    busy[callId] = running
    await new Promise(resolve => setImmediate(resolve))
    running -= 1
    return 'ok'
  }
  const { agent, session } = await harness({
    replies: [calls('', ['a', 'read'], ['b', 'read'], ['c', 'write'], ['d', 'write'], ['e', 'read']), 'done'],
    tools: [tool('read', execute, true), tool('write', execute)],
  })
  agent.send('hi')
  await agent.whenIdle()
  expect(busy).toEqual({ a: 2, b: 2, c: 1, d: 1, e: 1 })
  expect(story(session, 7)).toBe(
    'call(a) call(b) result(a) result(b) call(c) result(c) call(d) result(d) call(e) result(e) 1] [2 a(done) 2] /turn1(completed)',
  )
})

it('runs no more than sixteen calls at a time', async () => {
  let running = 0
  let most = 0
  const read = tool('read', async () => {
    most = Math.max(most, ++running)
    await new Promise(resolve => setImmediate(resolve))
    running -= 1
    return 'ok'
  }, true)
  const ids = Array.from({ length: 40 }, (_, index) => [`c${index}`, 'read'] as const)
  const { agent, session } = await harness({ replies: [calls('', ...ids), 'done'], tools: [read] })
  agent.send('hi')
  await agent.whenIdle()
  expect(most).toBe(16)
  expect(story(session).match(/result\(c\d+\)/g)).toHaveLength(40)
})

it('answers every call, also one of an unknown tool, of bad arguments, of a tool that throws or returns no JSON', async () => {
  const { agent, session } = await harness({
    replies: [calls('', ['a', 'nowhere'], ['b', 'strict', { n: 'x' }], ['c', 'throws'], ['d', 'dates'], ['e', 'cyclic']), 'done'],
    tools: [
      { name: 'strict', parameters: { type: 'object', properties: { n: { type: 'integer' } } }, execute: () => 'never' },
      tool('throws', () => { throw new Error('broken') }),
      tool('dates', () => ({ content: [], meta: { when: new Date(0) as unknown as string } })),
      tool('cyclic', () => { const meta: Record<string, unknown> = {}; meta['self'] = meta; return { content: [], meta } }),
    ],
  })
  agent.send('hi')
  await agent.whenIdle()
  expect(story(session).match(/result\([^)]*\)/g)).toEqual([
    'result(a:TOOL_UNKNOWN)',
    'result(b:TOOL_ARGUMENTS_INVALID)',
    'result(c:TOOL_FAILED)',
    'result(d:TOOL_RESULT_INVALID)',
    'result(e:TOOL_RESULT_INVALID)',
  ])
  expect(story(session)).toContain('1] [2 a(done) 2] /turn1(completed)')
  expectReplays(session)
})

it('gives a tool its session and keeps its meta from the model', async () => {
  let told: unknown
  const { agent, session, model } = await harness({
    replies: [calls('', ['a', 'x']), 'done'],
    tools: [tool('x', (_args, context) => { told = context.session; return { content: [{ type: 'text', text: 'no' }], isError: true, meta: { exitCode: 1 } } })],
  })
  agent.send('hi')
  await agent.whenIdle()
  expect(told).toBe(session)
  expect(model.requests[1]?.messages.at(-1)).toEqual({
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'a', content: [{ type: 'text', text: 'no' }], isError: true }],
  })
})
