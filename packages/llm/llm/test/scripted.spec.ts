import { expect, it } from 'vitest'
import type { GenerateOptions } from '../src/adapter.ts'
import { BlockAssembler } from '../src/assemble.ts'
import type { Message, StreamChunk } from '../src/content.ts'
import { LlmError } from '../src/errors.ts'
import { ScriptedAdapter } from '../src/scripted.ts'
import type { ScriptedReply } from '../src/scripted.ts'
import { drawn } from './notation.ts'

const asking = (options: Partial<GenerateOptions> = {}): GenerateOptions => ({ provider: 'scripted', model: 'm', messages: [], ...options })

async function heard(adapter: ScriptedAdapter, options?: Partial<GenerateOptions>) {
  const chunks = await Array.fromAsync(adapter.stream(asking(options)))
  const assembler = new BlockAssembler()
  for (const chunk of chunks) assembler.push(chunk)
  return { chunks, assembler, said: drawn(assembler.content()) }
}

it('answers in several deltas, in order, one reply a request', async () => {
  const adapter = new ScriptedAdapter({ replies: ['first one', { content: [{ type: 'tool-call', id: 'a', name: 't', arguments: '{"x":1}' }] }] })
  const first = await heard(adapter)
  expect(first.said).toBe('text(first one)')
  expect(first.chunks.filter((chunk) => chunk.type === 'text-delta').length).toBeGreaterThan(1)
  expect(first.assembler.finish?.reason).toBe('stop')
  const second = await heard(adapter)
  expect(second.said).toBe('call#a({"x":1})')
  expect(second.assembler.finish?.reason).toBe('tool-calls')
  await expect(heard(adapter)).rejects.toThrow('the script has 2 replies, but request 3 came')
})

it('a function decides from the request and its number, and may decide by another function', async () => {
  const adapter = new ScriptedAdapter({ replies: ({ model }, index): ScriptedReply => () => `${model} ${index}` })
  expect((await heard(adapter)).said).toBe('text(m 0)')
  expect((await heard(adapter, { model: 'n' })).said).toBe('text(n 1)')
})

it('a gate holds the answer until it opens', async () => {
  const gate = Promise.withResolvers<ScriptedReply>()
  const answer = heard(new ScriptedAdapter({ replies: [() => gate.promise] }), { signal: new AbortController().signal })
  gate.resolve('through')
  expect((await answer).said).toBe('text(through)')
})

it('an abort ends the wait at a gate', async () => {
  const controller = new AbortController()
  const answer = heard(new ScriptedAdapter({ replies: [() => new Promise<ScriptedReply>(() => {})] }), { signal: controller.signal })
  setImmediate(() => controller.abort('enough'))
  await expect(answer).rejects.toBe('enough')
})

it('an abort is honoured between any two chunks', async () => {
  const total = (await heard(new ScriptedAdapter({ replies: ['some words'] }))).chunks.length
  for (let after = 0; after < total; after++) {
    const controller = new AbortController()
    const seen: StreamChunk[] = []
    const listening = async () => {
      if (after === 0) controller.abort('enough')
      for await (const chunk of new ScriptedAdapter({ replies: ['some words'] }).stream(asking({ signal: controller.signal }))) {
        if (seen.push(chunk) === after) controller.abort('enough')
      }
    }
    await expect(listening()).rejects.toBe('enough')
    expect(seen.length).toBe(after)
  }
})

it('a failure may come after words', async () => {
  const failure = { code: 'SERVER' as const, message: 'overloaded', status: 529 }
  const adapter = new ScriptedAdapter({ replies: [{ failure, after: [{ type: 'text', text: 'I was' }] }] })
  const assembler = new BlockAssembler()
  const listening = async () => {
    for await (const chunk of adapter.stream(asking())) assembler.push(chunk)
  }
  await expect(listening()).rejects.toEqual(new LlmError(failure))
  expect(drawn(assembler.content())).toBe('text(I was)')
})

it('reports the usage of the reply, else that of the rule, else none', async () => {
  const usage = { inputTokens: 1, outputTokens: 2 }
  const rule = (options: GenerateOptions) => ({ inputTokens: options.messages.length, outputTokens: 9 })
  const ruled = new ScriptedAdapter({ replies: [{ content: [{ type: 'text', text: 'a' }], usage }, 'b'], usage: rule })
  expect((await heard(ruled)).assembler.usage).toEqual(usage)
  expect((await heard(ruled)).assembler.usage).toEqual({ inputTokens: 0, outputTokens: 9 })
  expect((await heard(new ScriptedAdapter({ replies: ['a'] }))).assembler.usage).toBeUndefined()
})

it('remembers a request as it was sent, also when the array it was sent in grows', async () => {
  const message = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
  const messages = [message('one')]
  const adapter = new ScriptedAdapter({ replies: ['a', 'b'] })
  await heard(adapter, { messages })
  messages.push(message('two'))
  await heard(adapter, { messages })
  expect(adapter.requests.map((request) => request.messages.length)).toEqual([1, 2])
  expect(adapter.requests[0]).toEqual(asking({ messages: [message('one')] }))
})
