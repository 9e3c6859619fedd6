import { Context } from '@deepseek-ai/cordis'
import Llm, { collect, type GenerateOptions, type Message } from '@deepseek-ai/dsh-llm'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import Deepseek, { deepseekBody, deepseekUsage } from '../src/index.ts'

const KEY = 'sk-deepseek-secret'
const USAGE = { prompt_tokens: 100, completion_tokens: 20, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36, completion_tokens_details: { reasoning_tokens: 8 } }
const FRAMES = [
  ': keep-alive\n\n',
  data({ delta: { role: 'assistant', content: null, reasoning_content: 'Hm.' } }),
  data({ delta: { content: 'Hello.', reasoning_content: null } }),
  data({ delta: { content: '' }, finish_reason: 'stop' }, { usage: USAGE }),
  'data: [DONE]\n\n',
]

const seen: { headers: IncomingHttpHeaders; text: string; body: any }[] = []
const server = createServer(async (request, response) => {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  seen.push({ headers: request.headers, text, body: JSON.parse(text) })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(FRAMES.join(''))
})
let baseURL: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

const user: Message = { role: 'user', content: [{ type: 'text', text: 'Hi' }] }

async function ask(request: Partial<GenerateOptions> = {}) {
  const ctx = new Context()
  await ctx.plugin(Llm)
  await ctx.plugin(Deepseek, { apiKey: KEY, baseURL })
  return collect(ctx.llm.stream({ provider: 'deepseek', model: 'deepseek-v4-flash', messages: [user], ...request }))
}

it('reads reasoning and text, and usage in disjoint buckets', async () => {
  expect(await ask()).toEqual({
    content: [{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'Hello.' }],
    finish: 'stop',
    usage: { inputTokens: 36, cacheReadTokens: 64, outputTokens: 20, reasoningTokens: 8 },
    provider: 'deepseek',
    model: 'deepseek-v4-flash',
  })
})

it('marks compaction in a header and in nothing else', async () => {
  await ask({ sessionId: 's' })
  await ask({ sessionId: 's', purpose: 'compaction' })
  const [plain, compact] = seen.slice(-2)
  expect(plain!.headers).not.toHaveProperty('x-deepseek-harness-compact')
  expect(compact!.headers['x-deepseek-harness-compact']).toBe('1')
  expect(compact!.text).toBe(plain!.text)
})

it('sends the reasoning of every answer of the model back, and an empty one for answers of others', async () => {
  const said = (text: string, model: string): Message => ({ role: 'assistant', content: [{ type: 'reasoning', text: `${text}?` }, { type: 'text', text }], provider: 'deepseek', model })
  await ask({ messages: [user, said('mine', 'deepseek-v4-flash'), user, said('other', 'deepseek-chat'), user] })
  expect(seen.at(-1)!.body.messages.filter((message: { role: string }) => message.role === 'assistant')).toEqual([
    { role: 'assistant', content: 'mine', reasoning_content: 'mine?' },
    { role: 'assistant', content: 'other', reasoning_content: '' },
  ])
})

it('leaves a model that does not think without reasoning', () => {
  expect(deepseekBody({ model: 'deepseek-chat', messages: [{ role: 'assistant', content: 'a' }] })).toEqual({ model: 'deepseek-chat', messages: [{ role: 'assistant', content: 'a' }] })
})

it.each([
  ['none', { thinking: { type: 'disabled' } }],
  ['low', { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
  ['medium', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
  ['xhigh', { thinking: { type: 'enabled' }, reasoning_effort: 'max' }],
])('asks for effort %s in its own words', (effort, expected) => {
  expect(deepseekBody({ model: 'deepseek-v4-pro', messages: [], reasoning_effort: effort })).toEqual({ model: 'deepseek-v4-pro', messages: [], ...expected })
})

it('counts cached tokens by whichever field names them', () => {
  expect(deepseekUsage({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 4 } }).inputTokens).toMatchObject({ total: 10, cacheRead: 4 })
})

describe('the plugin', () => {
  it('knows the capacities of its models and says where requests go, without the key', async () => {
    const ctx = new Context()
    await ctx.plugin(Llm)
    await ctx.plugin(Deepseek, { apiKey: KEY, models: { 'deepseek-next': { contextWindow: 5_000 } } })
    const [adapter] = ctx.llm.list()
    expect(adapter).toMatchObject({ provider: 'deepseek', origin: 'api.deepseek.com, key from the configuration' })
    expect(adapter!.models).toEqual(['deepseek-next', 'deepseek-flash', 'deepseek-v4-flash', 'deepseek-v4-pro', 'deepseek-chat', 'deepseek-reasoner'])
    expect(ctx.llm.resolveModelInfo('deepseek', 'deepseek-chat')).toMatchObject({ contextWindow: 131_072, maxOutputTokens: 8_192 })
    expect(ctx.llm.resolveModelInfo('deepseek', 'deepseek-next')).toEqual({ contextWindow: 5_000, source: 'the configuration' })
    expect(ctx.llm.resolveModelInfo('deepseek', 'nobody')).toBeUndefined()
  })

  it('refuses a configuration by the name of its key', async () => {
    const ctx = new Context()
    await ctx.plugin(Llm)
    await expect(ctx.plugin(Deepseek, { apiKy: KEY } as object)).rejects.toThrow(/apiKy/)
  })
})

/** One frame of the stream. */
function data(choice: object, more: object = {}): string {
  return `data: ${JSON.stringify({ id: 'd', created: 1, model: 'deepseek', object: 'chat.completion.chunk', choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`
}
