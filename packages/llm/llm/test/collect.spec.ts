import { Context } from '@deepseek-ai/cordis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { GenerateOptions, LlmAdapter } from '../src/adapter.ts'
import { BlockAssembler } from '../src/assemble.ts'
import { collect } from '../src/collect.ts'
import type { StreamChunk } from '../src/content.ts'
import { ScriptedAdapter } from '../src/scripted.ts'
import { LlmService } from '../src/service.ts'
import { drawn } from './notation.ts'

let ctx: Context
beforeEach(async () => {
  ctx = new Context()
  await ctx.plugin(LlmService)
})
afterEach(() => ctx.fiber.dispose())

const asking = (signal?: AbortSignal): GenerateOptions => ({ provider: 'scripted', model: 'm', messages: [], ...(signal && { signal }) })
const reason = { why: 'Escape' }

it('shows every chunk before the next is asked for', async () => {
  const log: string[] = []
  async function* source(): AsyncGenerator<StreamChunk> {
    for (const text of ['a', 'b']) {
      log.push(`ask ${text}`)
      yield { type: 'text-delta', index: 0, text }
    }
    yield { type: 'finish', reason: 'stop', provider: 'p', model: 'm' }
  }
  const { content } = await collect(source(), { onChunk: (chunk) => log.push(`see ${chunk.type === 'text-delta' ? chunk.text : chunk.type}`) })
  expect(log).toEqual(['ask a', 'see a', 'ask b', 'see b', 'see finish'])
  expect(drawn(content)).toBe('text(ab)')
})

it('gives calls ids that the caller has not used', async () => {
  ctx.llm.registerAdapter(new ScriptedAdapter({ replies: [{ content: [{ type: 'tool-call', id: 'a', name: 't', arguments: '{}' }] }] }))
  const { content, finish } = await collect(ctx.llm.stream(asking()), { usedCallIds: ['a'] })
  expect(drawn(content)).toBe('call#a_2({})')
  expect(finish).toBe('tool-calls')
})

it('an abort between chunks ends it with the exact reason, and the assembler keeps the text that came', async () => {
  const controller = new AbortController()
  const assembler = new BlockAssembler()
  ctx.llm.registerAdapter(new ScriptedAdapter({ replies: [{ content: [{ type: 'text', text: 'whole' }, { type: 'text', text: 'half' }] }] }))
  const onChunk = (chunk: StreamChunk) => {
    if (chunk.type === 'text-delta' && chunk.index === 1) controller.abort(reason)
  }
  await expect(collect(ctx.llm.stream(asking(controller.signal)), { signal: controller.signal, onChunk, assembler })).rejects.toBe(reason)
  expect(drawn(assembler.interrupted())).toBe('text(whole) text(ha)')
})

it('the service alone also gives back the exact reason', async () => {
  const controller = new AbortController()
  ctx.llm.registerAdapter(new ScriptedAdapter({ replies: ['never heard'] }))
  controller.abort(reason)
  await expect(collect(ctx.llm.stream(asking(controller.signal)))).rejects.toBe(reason)
})

it('an abort ends the wait for a model that does not listen', async () => {
  const controller = new AbortController()
  const deaf: LlmAdapter = {
    provider: 'scripted',
    async *stream() {
      yield { type: 'text-delta', index: 0, text: 'and then' }
      await new Promise(() => {})
    },
  }
  ctx.llm.registerAdapter(deaf)
  const answer = collect(ctx.llm.stream(asking()), { signal: controller.signal, onChunk: () => setImmediate(() => controller.abort(reason)) })
  await expect(answer).rejects.toBe(reason)
})

it('a signal aborted before asks for nothing', async () => {
  const adapter = new ScriptedAdapter({ replies: ['unheard'] })
  ctx.llm.registerAdapter(adapter)
  await expect(collect(ctx.llm.stream(asking()), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(adapter.requests).toEqual([])
})

it('tells the stream to stop when its reader throws', async () => {
  let stopped = false
  async function* source(): AsyncGenerator<StreamChunk> {
    try {
      yield { type: 'text-delta', index: 0, text: 'a' }
    } finally {
      stopped = true
    }
  }
  const onChunk = () => { throw new Error('reader') }
  await expect(collect(source(), { onChunk })).rejects.toThrow('reader')
  expect(stopped).toBe(true)
})

it('refuses a stream that is not one of ctx.llm', async () => {
  async function* source(): AsyncGenerator<StreamChunk> {
    yield { type: 'finish', reason: 'stop' }
  }
  await expect(collect(source())).rejects.toThrow('collect needs a stream of ctx.llm')
})
