import { Context } from '@deepseek-ai/cordis'
import Llm, { BlockAssembler, collect, failureOf } from '@deepseek-ai/dsh-llm'
import type { ContentBlock, GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import { afterEach, beforeEach, expect, it } from 'vitest'
import Recorded, { RecordedAdapter } from '../src/index.ts'
import type { RecordedInit } from '../src/index.ts'

let ctx: Context
beforeEach(async () => {
  ctx = new Context()
  await ctx.plugin(Llm)
})
afterEach(() => ctx.fiber.dispose())

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const call: ContentBlock = { type: 'tool-call', id: 'a', name: 'ls', arguments: '{"path":"."}' }
const asking = (options: Partial<GenerateOptions> = {}): GenerateOptions => ({ provider: 'recorded', model: 'm', messages: [], ...options })
const ask = (options?: Partial<GenerateOptions>) => collect(ctx.llm.stream(asking(options)))
const failed = (options?: Partial<GenerateOptions>) => ask(options).then(() => null, failureOf)

function load(init: Partial<RecordedInit>): RecordedAdapter {
  const adapter = new RecordedAdapter({ model: 'm', answers: [], ...init })
  ctx.llm.registerAdapter(adapter)
  return adapter
}

it('gives the answers in order, finishing each as it finished or as is natural', async () => {
  const adapter = load({ answers: [{ content: [text('let me'), call] }, { content: [text('done')] }, { content: [text('cut')], finish: 'max-tokens' }] })
  expect(await ask()).toMatchObject({ content: [text('let me'), call], finish: 'tool-calls' })
  expect(await ask()).toMatchObject({ content: [text('done')], finish: 'stop' })
  expect(await ask()).toMatchObject({ content: [text('cut')], finish: 'max-tokens' })
  expect(adapter.given).toBe(3)
})

it('keeps the answers to the summarizer apart from those to the conversation', async () => {
  const adapter = load({ answers: [{ content: [text('one')] }, { content: [text('two')] }], summaries: [{ content: [text('summary')] }] })
  expect((await ask()).content).toEqual([text('one')])
  expect((await ask({ purpose: 'compaction' })).content).toEqual([text('summary')])
  expect((await ask()).content).toEqual([text('two')])
  expect(adapter.given).toBe(2)
  expect(await failed({ purpose: 'compaction' })).toMatchObject({ message: 'the recording of m is at its end (summaries: 1)' })
})

it('asked beyond its end, says how many answers it had, every time', async () => {
  load({ answers: [{ content: [text('only')] }] })
  await ask()
  const failure = { code: 'INVALID_REQUEST', message: 'the recording of m is at its end (answers: 1)' }
  expect(await failed()).toEqual(failure)
  expect(await failed()).toEqual(failure)
})

it('refuses what its window does not hold, and keeps the answer for a request that fits', async () => {
  const adapter = load({ answers: [{ content: [text('fits')] }], contextWindow: 100, estimateTokens: ({ system }) => (system ?? '').length })
  expect(await failed({ system: 'x'.repeat(101) })).toEqual({
    code: 'CONTEXT_WINDOW_EXCEEDED', message: 'the request has about 101 tokens, the window holds 100', limitTokens: 100, requestedTokens: 101,
  })
  expect(await failed({ system: 'x'.repeat(101), purpose: 'compaction' })).toMatchObject({ code: 'CONTEXT_WINDOW_EXCEEDED' })
  expect(adapter.given).toBe(0)
  expect((await ask({ system: 'x'.repeat(100) })).content).toEqual([text('fits')])
})

it('gives a recorded failure once, then goes on', async () => {
  const failure = { code: 'RATE_LIMIT' as const, message: 'slow down', retryAfterMs: 10 }
  load({ answers: [{ failure }, { content: [text('now')] }] })
  expect(await failed()).toEqual(failure)
  expect((await ask()).content).toEqual([text('now')])
})

it('an answer aborted before its last word is given again', async () => {
  const adapter = load({ answers: [{ content: [text('many words')] }] })
  const total = (await Array.fromAsync(new RecordedAdapter({ model: 'm', answers: [{ content: [text('many words')] }] }).stream(asking()))).length
  for (let after = 0; after < total; after++) {
    const controller = new AbortController()
    let seen = 0
    const onChunk = () => {
      seen += 1
      if (seen === after) controller.abort('enough')
    }
    if (after === 0) controller.abort('enough')
    const { signal } = controller
    await expect(collect(ctx.llm.stream(asking({ signal })), { onChunk })).rejects.toBe('enough')
    expect(adapter.given).toBe(0)
  }
  expect((await ask()).content).toEqual([text('many words')])
})

it.each([
  ['at its last word', (cancel: () => void) => cancel()],
  ['while it waits', (cancel: () => void) => void setImmediate(cancel)],
])('an interrupted answer gives its text, ends with the cancel %s, and is not given again', async (_name, then) => {
  load({ answers: [{ content: [text('I was about to')], interrupted: true }, { content: [text('yes?')] }] })
  const controller = new AbortController()
  const { signal } = controller
  const assembler = new BlockAssembler()
  const onChunk = (chunk: StreamChunk) => {
    if (chunk.type === 'block-end') then(() => controller.abort('enough'))
  }
  await expect(collect(ctx.llm.stream(asking({ signal })), { onChunk, assembler })).rejects.toBe('enough')
  expect(assembler.interrupted()).toEqual([text('I was about to')])
  expect((await ask()).content).toEqual([text('yes?')])
})

it('an interrupted answer that nobody can cancel breaks off', async () => {
  load({ answers: [{ content: [text('I was')], interrupted: true }] })
  expect(await failed()).toEqual({ code: 'ABORTED', message: 'the recorded answer was interrupted here' })
})

it('knows its own model only', () => {
  load({ contextWindow: 100, estimateTokens: () => 0 })
  expect(ctx.llm.resolveModelInfo('recorded', 'm')).toEqual({ contextWindow: 100 })
  expect(ctx.llm.resolveModelInfo('recorded', 'other')).toBeUndefined()
})

it.each([[0], [-1], [1.5], [Number.NaN]])('refuses a window of %s tokens', (contextWindow) => {
  expect(() => load({ contextWindow, estimateTokens: () => 0 })).toThrow('contextWindow must be a positive whole number of tokens')
})

it('refuses a window that it could not keep', () => {
  expect(() => load({ contextWindow: 100 })).toThrow('contextWindow needs estimateTokens')
})

it('as a plugin comes and goes with its fiber', async () => {
  const before = JSON.stringify(ctx.fiber.getEffects())
  const fiber = await ctx.plugin(Recorded, { provider: 'tape', model: 'm', answers: [{ content: [text('hi')] }] })
  expect((await ask({ provider: 'tape' })).content).toEqual([text('hi')])
  await fiber.dispose()
  expect(await failed({ provider: 'tape' })).toMatchObject({ code: 'NO_ADAPTER' })
  expect(JSON.stringify(ctx.fiber.getEffects())).toBe(before)
})
