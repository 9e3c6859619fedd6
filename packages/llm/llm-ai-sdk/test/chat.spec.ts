import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAdapter } from '../src/index.ts'
import { ask, call, image, PIXEL, READ, result, says, text, user } from './messages.ts'
import { chat, chatEnd, sse, startServer, type Server } from './server.ts'

const KEY = 'sk-secret-0123456789'
let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const adapter = () => createAdapter({ provider: 'compatible', family: 'openai-compatible', baseURL: server.url, apiKey: KEY })
const lastBody = () => server.requests.at(-1)!.body

it('reads text, reasoning, parallel calls and usage', async () => {
  server.script = sse([
    ...chat({ role: 'assistant', reasoning_content: 'Think' }, { reasoning_content: 'ing.' }, { content: 'I ' }, { content: 'look.' }),
    ...chat(
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"path":' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'read', arguments: '{"path": "2"}' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ' "1"}' } }] },
    ),
    ...chatEnd('tool_calls', { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 }, completion_tokens_details: { reasoning_tokens: 5 } }),
  ])
  expect(await ask(adapter(), { tools: [READ] })).toEqual({
    content: [
      { type: 'reasoning', text: 'Thinking.' },
      text('I look.'),
      call('a', '{"path": "1"}'),
      call('b', '{"path": "2"}'),
    ],
    finish: 'tool-calls',
    usage: { inputTokens: 40, cacheReadTokens: 60, outputTokens: 20, reasoningTokens: 5 },
  })
})

it('asks for a stream with usage, with every option of the request, and the key in the header alone', async () => {
  server.script = sse([...chat({ content: 'ok' }), ...chatEnd('stop')])
  await ask(adapter(), {
    model: 'some/model', system: 'Be brief.', tools: [READ], toolChoice: 'none', maxTokens: 500, temperature: 0.5, stop: ['END'],
    reasoningEffort: 'high', purpose: 'compaction', sessionId: 's1',
  })
  const { path, headers, text: sent } = server.requests.at(-1)!
  expect(path).toBe('/v1/chat/completions')
  expect(headers['authorization']).toBe(`Bearer ${KEY}`)
  expect(sent).not.toContain(KEY)
  expect(lastBody()).toEqual({
    model: 'some/model', stream: true, stream_options: { include_usage: true },
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }],
    tools: [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: READ.parameters } }],
    tool_choice: 'none', max_tokens: 500, temperature: 0.5, stop: ['END'], reasoning_effort: 'high',
  })
})

it('sends a conversation with calls, results, images and odd arguments', async () => {
  server.script = sse([...chat({ content: 'ok' }), ...chatEnd('stop')])
  const own = { provider: 'compatible', model: 'm' }
  await ask(adapter(), {
    messages: [
      { role: 'user', content: [text('See'), image] },
      says([{ type: 'reasoning', text: 'hm' }, text('I look.'), call('a', '{"path":  "1"}'), call('b', '{"path": "2'), call('c', '')], own),
      result('a', [text('one'), image]), result('b', 'no JSON', true), result('c', ''),
      says([{ type: 'reasoning', text: 'only thoughts' }], own),
      user('Go on'),
      says([{ type: 'reasoning', text: 'foreign' }, text('Fine.')], { provider: 'other', model: 'm' }),
      user('And?'),
    ],
  })
  expect(lastBody().messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'See' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }] },
    {
      role: 'assistant', content: 'I look.', reasoning_content: 'hm',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":  "1"}' } },
        { id: 'b', type: 'function', function: { name: 'read', arguments: '{"invalidArguments":"{\\"path\\": \\"2"}' } },
        { id: 'c', type: 'function', function: { name: 'read', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: 'one\n[image]' },
    { role: 'tool', tool_call_id: 'b', content: 'no JSON' },
    { role: 'tool', tool_call_id: 'c', content: '' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }] },
    { role: 'user', content: 'Go on' },
    { role: 'assistant', content: 'Fine.' },
    { role: 'user', content: 'And?' },
  ])
})

it('tells a model that reads no images that there was one', async () => {
  server.script = sse([...chat({ content: 'ok' }), ...chatEnd('stop')])
  const blind = createAdapter({ provider: 'compatible', family: 'openai-compatible', baseURL: server.url, models: { m: { images: false } } })
  await ask(blind, { messages: [{ role: 'user', content: [image] }] })
  expect(lastBody().messages).toEqual([{ role: 'user', content: '[image]' }])
  expect(server.requests.at(-1)!.headers['authorization']).toBeUndefined()
})

it.each([
  ['stop', 'stop'],
  ['length', 'max-tokens'],
  ['content_filter', 'content-filter'],
  ['tool_calls', 'tool-calls'],
  ['new_reason', 'other'],
])('finish %s is %s', async (finish, expected) => {
  server.script = sse([...chat({ content: 'ok' }), ...chatEnd(finish)])
  expect((await ask(adapter())).finish).toBe(expected)
})

it('does not keep a call that the output limit cut off', async () => {
  server.script = sse([
    ...chat({ content: 'ok' }, { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '{"path": "' } }] }),
    ...chatEnd('length'),
  ])
  expect(await ask(adapter())).toMatchObject({ content: [text('ok')], finish: 'max-tokens' })
})
