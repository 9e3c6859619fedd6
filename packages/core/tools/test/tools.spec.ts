import { Context } from '@deepseek-ai/cordis'
import type { ToolCallBlock } from '@deepseek-ai/dsh-llm'
import ToolService, { type PermissionEvent, type Tool, type ToolContext } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'

async function tools(...registered: Tool[]) {
  const ctx = new Context()
  await ctx.plugin(ToolService)
  for (const tool of registered) ctx.tools.registerTool(tool)
  return ctx
}

const call = (name: string, args: unknown = {}): ToolCallBlock => ({ type: 'tool-call', id: 'call-1', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) })
const never = new AbortController().signal
const open = { type: 'object' }
const textOf = (outcome: { content: readonly unknown[] }) => (outcome.content[0] as { text: string }).text

describe('what a model is shown', () => {
  it('is the JSON Schema of each tool, in the order of registration', async () => {
    const ctx = await tools()
    ctx.tools.registerTool({ name: 'add', description: 'Adds.', parameters: z.object({ a: z.number(), b: z.number().default(1) }), execute: ({ a, b }) => `${a + b}` })
    ctx.tools.registerTool({ name: 'raw', parameters: open, execute: () => '' })
    expect(ctx.tools.schemas()).toEqual([
      {
        name: 'add',
        description: 'Adds.',
        parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number', default: 1 } }, required: ['a'] },
      },
      { name: 'raw', parameters: open },
    ])
  })

  it('is the same array until a tool comes or goes', async () => {
    const ctx = await tools({ name: 'one', parameters: open, execute: () => '' })
    const before = ctx.tools.schemas()
    expect(ctx.tools.schemas()).toBe(before)
    const dispose = ctx.tools.registerTool({ name: 'two', parameters: open, execute: () => '' })
    expect(ctx.tools.schemas()).not.toBe(before)
    dispose()
    expect(ctx.tools.schemas()).toEqual(before)
  })

  it('ends with the plugin that registered it', async () => {
    const ctx = await tools()
    const plugin = Object.assign((inner: Context) => void inner.tools.registerTool({ name: 'x', parameters: open, execute: () => '' }), { inject: ['tools'] })
    const fiber = await ctx.plugin(plugin)
    expect(ctx.tools.schemas()).toHaveLength(1)
    await fiber.dispose()
    expect(ctx.tools.schemas()).toHaveLength(0)
  })

  it('has one tool a name', async () => {
    const ctx = await tools({ name: 'x', parameters: open, execute: () => '' })
    expect(() => ctx.tools.registerTool({ name: 'x', parameters: open, execute: () => '' })).toThrow('"x"')
  })
})

describe('arguments', () => {
  const add: Tool<z.ZodObject<{ a: z.ZodNumber; b: z.ZodDefault<z.ZodNumber> }>> = {
    name: 'add',
    parameters: z.object({ a: z.number(), b: z.number().default(1) }),
    execute: ({ a, b }) => `${a + b}`,
  }

  it('arrive parsed and completed', async () => {
    const ctx = await tools(add as Tool)
    expect(await ctx.tools.execute(call('add', { a: 2 }), { signal: never })).toEqual({ content: [{ type: 'text', text: '3' }] })
  })

  it.each([
    ['text that is no JSON', '{"a": 1', 'not valid JSON'],
    ['a missing field', '{}', 'a'],
    ['a wrong type', '{"a": "1"}', 'expected number'],
    ['no object', '[1]', 'expected object'],
  ])('of %s are answered with what is wrong', async (_name, text, part) => {
    const ctx = await tools(add as Tool)
    const outcome = await ctx.tools.execute(call('add', text), { signal: never })
    expect(outcome).toMatchObject({ isError: true, error: { code: 'TOOL_ARGUMENTS_INVALID' } })
    expect(textOf(outcome)).toContain(part)
  })

  it('may be left out by a model that has nothing to say', async () => {
    const ctx = await tools({ name: 'now', parameters: z.object({}), execute: () => 'noon' } as Tool)
    expect(textOf(await ctx.tools.execute(call('now', ''), { signal: never }))).toBe('noon')
  })

  it('of a JSON Schema are checked, too', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const ctx = await tools({ name: 'raw', parameters, execute: args => JSON.stringify(args) })
    expect(textOf(await ctx.tools.execute(call('raw', { n: 1, more: true }), { signal: never }))).toBe('{"n":1,"more":true}')
    expect(await ctx.tools.execute(call('raw', { n: 'x' }), { signal: never })).toMatchObject({ error: { code: 'TOOL_ARGUMENTS_INVALID' } })
  })

  it('of a JSON Schema beyond our reading need only be an object', async () => {
    const parameters = { type: 'object', if: { required: ['a'] }, else: { required: ['b'] } }
    const ctx = await tools({ name: 'odd', parameters, execute: args => JSON.stringify(args) })
    expect(ctx.tools.schemas()[0]?.parameters).toEqual(parameters)
    expect(textOf(await ctx.tools.execute(call('odd', { a: 1 }), { signal: never }))).toBe('{"a":1}')
    expect(await ctx.tools.execute(call('odd', '3'), { signal: never })).toMatchObject({ error: { code: 'TOOL_ARGUMENTS_INVALID' } })
  })
})

describe('a call', () => {
  it.each([
    ['text', 'done', { content: [{ type: 'text', text: 'done' }] }],
    ['nothing', '', { content: [] }],
    ['blocks', [{ type: 'text', text: 'a' }], { content: [{ type: 'text', text: 'a' }] }],
    ['a verdict', { content: [], isError: true, meta: { exitCode: 1 } }, { content: [], isError: true, meta: { exitCode: 1 } }],
  ] as const)('may return %s', async (_name, returned, outcome) => {
    const ctx = await tools({ name: 'x', parameters: open, execute: async () => returned })
    expect(await ctx.tools.execute(call('x'), { signal: never })).toEqual(outcome)
  })

  it.each([
    ['throws an Error', () => { throw new RangeError('too far') }, { name: 'RangeError', code: 'TOOL_FAILED' }, 'too far'],
    ['rejects with a coded one', () => Promise.reject(Object.assign(new Error('no such file'), { code: 'ENOENT' })), { name: 'Error', code: 'ENOENT' }, 'no such file'],
    ['throws a string', () => { throw 'odd' }, { name: 'Error', code: 'TOOL_FAILED' }, 'odd'],
    ['throws nothing', () => { throw undefined }, { name: 'Error', code: 'TOOL_FAILED' }, 'undefined'],
    ['throws an error without a message', () => { throw new Error('') }, { name: 'Error', code: 'TOOL_FAILED' }, 'without saying why'],
    ['returns garbage', () => 3 as never, { name: 'ToolError', code: 'TOOL_RESULT_INVALID' }, 'neither text nor content'],
    ['returns undefined', () => undefined as never, { name: 'ToolError', code: 'TOOL_RESULT_INVALID' }, 'neither text nor content'],
  ])('never throws: one that %s is an error result', async (_name, execute, error, part) => {
    const ctx = await tools({ name: 'x', parameters: open, execute })
    const outcome = await ctx.tools.execute(call('x'), { signal: never })
    expect(outcome).toMatchObject({ isError: true, error })
    expect(textOf(outcome)).toContain(part)
  })

  it('of an unknown tool names the known ones', async () => {
    const ctx = await tools({ name: 'x', parameters: open, execute: () => '' })
    const outcome = await ctx.tools.execute(call('y'), { signal: never })
    expect(outcome).toMatchObject({ isError: true, error: { code: 'TOOL_UNKNOWN' } })
    expect(textOf(outcome)).toBe('There is no tool "y". Available: x.')
  })

  it('is told its id and its signal', async () => {
    let told: unknown
    const ctx = await tools({ name: 'x', parameters: open, execute: (_args, context) => { told = context; return '' } })
    await ctx.tools.execute(call('x'), { signal: never })
    expect(told).toEqual({ callId: 'call-1', signal: never, output: expect.any(Function) })
  })

  it('is answered at once when cancelled, though its tool does not listen', async () => {
    const controller = new AbortController()
    const ctx = await tools({ name: 'deaf', parameters: open, execute: () => new Promise<string>(() => {}) })
    const outcome = ctx.tools.execute(call('deaf'), { signal: controller.signal })
    controller.abort(new Error('enough'))
    expect(await outcome).toMatchObject({ isError: true, error: { name: 'AbortError', code: 'ABORTED' } })
  })

  it('is not begun when cancelled before', async () => {
    let began = false
    const ctx = await tools({ name: 'x', parameters: open, execute: () => { began = true; return '' } })
    expect(await ctx.tools.execute(call('x'), { signal: AbortSignal.abort() })).toMatchObject({ error: { code: 'ABORTED' } })
    expect(began).toBe(false)
  })
})

describe('permission', () => {
  const request = { scope: 'write', title: 'Write a.txt' }
  const writer = (ran: { count: number }): Tool => ({
    name: 'write',
    parameters: open,
    permission: args => ((args as { path?: string }).path === 'scratch' ? null : request),
    execute: () => { ran.count += 1; return 'written' },
  })

  it('is asked with the call, and an allowed one runs', async () => {
    const ran = { count: 0 }
    const ctx = await tools(writer(ran))
    const events: PermissionEvent[] = []
    ctx.on('tools/permission', async event => { events.push(event); return { kind: 'allow' } })
    expect(textOf(await ctx.tools.execute(call('write'), { signal: never }))).toBe('written')
    expect(events).toEqual([{ call: call('write'), request, signal: never }])
  })

  it('is not asked for where the tool needs none', async () => {
    const ran = { count: 0 }
    const ctx = await tools(writer(ran))
    expect(textOf(await ctx.tools.execute(call('write', { path: 'scratch' }), { signal: never }))).toBe('written')
  })

  it.each<[string, ((ctx: Context) => void) | null, string, string]>([
    ['nobody decides', null, 'PERMISSION_DENIED', 'ask what to do instead'],
    ['all who listen delegate', ctx => void ctx.on('tools/permission', (_event, next) => next()), 'PERMISSION_DENIED', 'ask what to do instead'],
    ['it is denied', ctx => void ctx.on('tools/permission', async () => ({ kind: 'deny' })), 'PERMISSION_DENIED', 'ask what to do instead'],
    ['it is denied for a reason', ctx => void ctx.on('tools/permission', async () => ({ kind: 'deny', reason: 'Not on a Friday.' })), 'PERMISSION_DENIED', 'Not on a Friday.'],
    ['who decides fails', ctx => void ctx.on('tools/permission', async () => { throw new Error('no terminal') }), 'TOOL_FAILED', 'no terminal'],
  ])('keeps a call from running when %s', async (_name, listen, code, part) => {
    const ran = { count: 0 }
    const ctx = await tools(writer(ran))
    listen?.(ctx)
    const outcome = await ctx.tools.execute(call('write'), { signal: never })
    expect(outcome).toMatchObject({ isError: true, error: { code } })
    expect(textOf(outcome)).toContain(part)
    expect(ran.count).toBe(0)
  })

  it('that the tool cannot word is a failure of the call', async () => {
    const ctx = await tools({ ...writer({ count: 0 }), permission: () => { throw Object.assign(new Error('no such file'), { code: 'ENOENT' }) } })
    expect(await ctx.tools.execute(call('write'), { signal: never })).toMatchObject({ isError: true, error: { code: 'ENOENT' } })
  })

  it('is waited for until the call is cancelled, and a late yes runs nothing', async () => {
    const ran = { count: 0 }
    const ctx = await tools(writer(ran))
    const controller = new AbortController()
    const { promise, resolve } = Promise.withResolvers<{ kind: 'allow' }>()
    ctx.on('tools/permission', () => promise)
    const outcome = ctx.tools.execute(call('write'), { signal: controller.signal })
    controller.abort()
    expect(await outcome).toMatchObject({ error: { code: 'ABORTED' } })
    expect(textOf(await outcome)).toBe('The call was cancelled before it was run.')
    resolve({ kind: 'allow' })
    await promise
    expect(ran.count).toBe(0)
  })
})

describe('output', () => {
  it('is told as it comes, though a listener throws, and not after the answer', async () => {
    let context: ToolContext | undefined
    const ctx = await tools({ name: 'x', parameters: open, execute: (_args, given) => { context = given; given.output('one\n'); given.output('two\n'); return 'done' } })
    const heard: unknown[] = []
    ctx.on('tools/output', () => { throw new Error('deaf') })
    ctx.on('tools/output', output => void heard.push(output))
    await ctx.tools.execute(call('x'), { signal: never })
    context!.output('three\n')
    expect(heard).toEqual([{ callId: 'call-1', text: 'one\n' }, { callId: 'call-1', text: 'two\n' }])
  })
})
