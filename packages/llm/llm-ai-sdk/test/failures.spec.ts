import { LlmError, textOf, type GenerateOptions, type LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAdapter } from '../src/index.ts'
import { ask, requestTo } from './messages.ts'
import { chat, chatEnd, json, sse, startServer, type Script, type Server } from './server.ts'

const KEY = 'sk-secret-0123456789'
let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const adapter = (idleMs = 60_000) => createAdapter({ provider: 'p', family: 'openai-compatible', baseURL: server.url, apiKey: KEY, idleMs })

/** Everything that came, and what ended it. */
async function listen(to: LlmAdapter, request: Partial<GenerateOptions> = {}): Promise<{ chunks: StreamChunk[]; error: unknown }> {
  const chunks: StreamChunk[] = []
  try {
    for await (const chunk of to.stream(requestTo(to, request))) chunks.push(chunk)
  } catch (error) {
    return { chunks, error }
  }
  return { chunks, error: undefined }
}

async function failureOf(script: Script, to = adapter()) {
  server.script = script
  const { error } = await listen(to)
  expect(error).toBeInstanceOf(LlmError)
  return (error as LlmError).failure
}

const saying = (chunks: readonly StreamChunk[]) => chunks.map(chunk => (chunk.type === 'text-delta' ? chunk.text : '')).join('')
const OVERFLOW = { error: { message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8900 in the messages, 100 in the completion).", type: 'invalid_request_error', code: 'invalid_request_error' } }

it.each<[string, Script, object]>([
  ['an overflow', json(400, OVERFLOW), { code: 'CONTEXT_WINDOW_EXCEEDED', status: 400, limitTokens: 8192, requestedTokens: 9000 }],
  ['a body that is too large', json(413, { error: { message: 'Request Entity Too Large' } }), { code: 'REQUEST_TOO_LARGE', status: 413 }],
  ['a rate limit in seconds', json(429, { error: { message: 'slow down' } }, { 'retry-after': '7' }), { code: 'RATE_LIMIT', status: 429, retryAfterMs: 7_000 }],
  ['a rate limit in milliseconds', json(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '1500', 'retry-after': '2' }), { code: 'RATE_LIMIT', retryAfterMs: 1_500 }],
  ['a date that has passed', json(503, { error: { message: 'later' } }, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }), { code: 'SERVER', status: 503, retryAfterMs: 0 }],
  ['a delay in the answer', json(429, { error: { message: 'x', details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }] } }), { code: 'RATE_LIMIT', retryAfterMs: 34_000 }],
  ['a wrong key', json(401, { error: { message: 'bad key' } }), { code: 'AUTH', status: 401, message: 'bad key' }],
  ['no money', json(402, { error: { message: 'Insufficient Balance' } }), { code: 'QUOTA', status: 402 }],
  ['an outage of a proxy', json(502, '<html><body>Bad Gateway</body></html>', { 'content-type': 'text/html' }), { code: 'SERVER', status: 502 }],
  ['an error of a shape of its own', json(400, { detail: 'input too long: context length exceeded' }), { code: 'CONTEXT_WINDOW_EXCEEDED', status: 400 }],
  ['an empty refusal', json(400, ''), { code: 'CONTEXT_WINDOW_EXCEEDED', status: 400 }],
])('%s is one failure', async (_name, script, expected) => {
  const before = server.requests.length
  expect(await failureOf(script)).toMatchObject(expected)
  expect(server.requests.length).toBe(before + 1) // and no retry
})

it.each<[string, object | string, object]>([
  ['an overflow', OVERFLOW, { code: 'CONTEXT_WINDOW_EXCEEDED', limitTokens: 8192 }],
  ['an outage', { error: { message: 'Internal server error', code: 502 } }, { code: 'SERVER', status: 502 }],
  ['an error that is only text', { error: 'rate limit exceeded' }, { code: 'RATE_LIMIT' }],
  ['an error without an envelope', { object: 'error', message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", code: 400 }, { code: 'CONTEXT_WINDOW_EXCEEDED', limitTokens: 4096 }],
  ['a frame that is no JSON', 'data: oops\n\n', { code: 'UNKNOWN', message: 'the provider sent what is no answer: oops' }],
])('%s in the middle of an answer ends it as a failure', async (_name, frame, expected) => {
  server.script = sse([...chat({ content: 'So far' }), frame, ...chat({ content: ' more' }), ...chatEnd('stop')])
  const { chunks, error } = await listen(adapter())
  expect(saying(chunks)).toBe('So far')
  expect(chunks.some(chunk => chunk.type === 'finish' || chunk.type === 'block-end')).toBe(false)
  expect((error as LlmError).failure).toMatchObject(expected)
})

it.each<[string, Script]>([
  ['that is cut', sse(chat({ content: 'So far' }), 'cut')],
  ['that ends without a finish', sse(chat({ content: 'So far' }))],
  ['that never began', response => void response.destroy()],
  ['that ends before its first word', sse([])],
])('a connection %s is a failure of the transport', async (_name, script) => {
  expect((await failureOf(script)).code).toBe('TRANSPORT')
})

it('an endpoint that is not there is a failure of the transport', async () => {
  const gone = await startServer()
  await gone.close()
  const { error } = await listen(createAdapter({ provider: 'p', family: 'openai-compatible', baseURL: gone.url, apiKey: KEY }))
  expect((error as LlmError).failure.code).toBe('TRANSPORT')
})

it('an abort closes the socket and ends with its own reason', async () => {
  server.script = sse(chat({ content: 'So far' }), 'hang')
  const controller = new AbortController()
  const reason = new Error('enough')
  const to = adapter()
  await expect(async () => {
    for await (const chunk of to.stream(requestTo(to, { signal: controller.signal }))) if (chunk.type === 'text-delta') controller.abort(reason)
  }).rejects.toBe(reason)
  await server.requests.at(-1)!.closed
})

it('an abort before the answer begins closes the socket', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  server.script = () => controller.abort(reason)
  await expect(ask(adapter(), { signal: controller.signal })).rejects.toBe(reason)
  await server.requests.at(-1)!.closed
})

it('an aborted request is not sent at all', async () => {
  const before = server.requests.length
  await expect(ask(adapter(), { signal: AbortSignal.abort() })).rejects.toThrow()
  expect(server.requests.length).toBe(before)
})

it('whoever stops listening closes the socket', async () => {
  server.script = sse(chat({ content: 'So far' }), 'hang')
  const to = adapter()
  for await (const chunk of to.stream(requestTo(to))) if (chunk.type === 'text-delta') break
  await server.requests.at(-1)!.closed
})

it.each<[string, Script]>([
  ['before its first byte', () => {}],
  ['in the middle of its answer', sse(chat({ content: 'So far' }), 'hang')],
])('a provider that is silent %s is given up, and its socket closed', async (_name, script) => {
  expect(await failureOf(script, adapter(50))).toEqual({ code: 'TIMEOUT', message: 'the provider was silent for 0.05 s' })
  await server.requests.at(-1)!.closed
})

it('comments that say that a request waits keep it alive', async () => {
  server.script = async (response, request) => {
    const wait = setInterval(() => response.write(': waiting\n\n'), 20)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    await new Promise(waited => setTimeout(waited, 1_500))
    clearInterval(wait)
    await sse([...chat({ content: 'ok' }), ...chatEnd('stop')])(Object.assign(response, { writeHead: () => response }), request)
  }
  expect(textOf((await ask(adapter(1_000))).content)).toBe('ok')
})

it.each<[string, Script]>([
  ['a refusal', json(401, { error: { message: `Incorrect API key provided: ${KEY}` } })],
  ['a frame', sse([{ error: { message: `no such key: ${KEY}` } }])],
  ['a page', json(500, `<html>${KEY}</html>`)],
])('the key that %s repeats is in no failure', async (_name, script) => {
  server.script = script
  const { error } = await listen(adapter())
  const { failure, stack, cause } = error as LlmError
  expect(failure.message).toContain('***')
  expect(JSON.stringify([failure, stack])).not.toContain(KEY)
  expect(cause).toBeUndefined()
})

it('words in which a key stands that is none are left as they are', async () => {
  server.script = json(400, { error: { message: 'a token is missing' } })
  const local = createAdapter({ provider: 'p', family: 'openai-compatible', baseURL: server.url, apiKey: 'token' })
  expect(((await listen(local)).error as LlmError).failure.message).toBe('a token is missing')
})

it('a key that no header can carry is in no failure', async () => {
  const key = 'sk-two\nlines'
  const { error } = await listen(createAdapter({ provider: 'p', family: 'openai-compatible', baseURL: server.url, apiKey: key }))
  expect((error as LlmError).message).not.toMatch(/sk-two|lines/)
})

it('a password in the address is in no failure and not in the origin', async () => {
  const to = createAdapter({ provider: 'p', family: 'openai-compatible', baseURL: server.url.replace('//', '//me:pass%2Fword@') })
  const { error } = await listen(to)
  expect((error as LlmError).message).not.toMatch(/pass/)
  expect(to.origin).not.toMatch(/pass/)
})

it('an effort that nobody knows is refused before anything is sent', async () => {
  const before = server.requests.length
  const { error } = await listen(adapter(), { reasoningEffort: 'auto' })
  expect((error as LlmError).failure).toEqual({ code: 'INVALID_REQUEST', message: 'not sent: reasoning effort "auto" is none of none, minimal, low, medium, high, xhigh, max' })
  expect(server.requests.length).toBe(before)
})
