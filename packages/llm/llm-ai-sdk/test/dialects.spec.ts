import { type LlmError, type Message } from '@deepseek-ai/dsh-llm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdapter, type Family } from '../src/index.ts'
import { ask, call, image, PIXEL, READ, result, says, text, user } from './messages.ts'
import { sse, startServer, type Server } from './server.ts'

const KEY = 'secret-0123456789'
let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const adapter = (family: Family) => createAdapter({ provider: family, family, baseURL: server.url, apiKey: KEY })
const last = () => server.requests.at(-1)!
const failure = (request: Promise<unknown>) => request.then(() => undefined, (error: LlmError) => error.failure)

describe('anthropic', () => {
  const begin = (inputTokens = 10, more: object = {}) => ({
    type: 'message_start',
    message: { type: 'message', id: 'm1', role: 'assistant', model: 'served', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: inputTokens, output_tokens: 1, ...more } },
  })
  const block = (index: number, content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  const end = (stop_reason: string, outputTokens = 30) => [
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: outputTokens } },
    { type: 'message_stop' },
  ]
  const thoughts = [{ type: 'reasoning' as const, text: 'Thinking.', providerMetadata: { anthropic: { signature: 'sig' } } }]

  it('reads signed thoughts, text, calls with and without arguments, and usage beside the cache', async () => {
    server.script = sse([
      begin(10, { cache_read_input_tokens: 700, cache_creation_input_tokens: 20 }),
      { type: 'ping' },
      ...block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'Thin' }, { type: 'thinking_delta', thinking: 'king.' }, { type: 'signature_delta', signature: 'sig' }),
      ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'I look.' }),
      ...block(2, { type: 'tool_use', id: 't1', name: 'read', input: {} }, { type: 'input_json_delta', partial_json: '{"path":' }, { type: 'input_json_delta', partial_json: ' "a"}' }),
      ...block(3, { type: 'tool_use', id: 't2', name: 'list', input: {} }),
      ...end('tool_use'),
    ])
    expect(await ask(adapter('anthropic'), { tools: [READ] })).toEqual({
      content: [...thoughts, text('I look.'), call('t1', '{"path": "a"}'), call('t2', '{}', 'list')],
      finish: 'tool-calls',
      usage: { inputTokens: 10, cacheReadTokens: 700, cacheWriteTokens: 20, outputTokens: 30 },
    })
  })

  it('sends thoughts back to the model that had them alone, and marks what is to be cached', async () => {
    server.script = sse([begin(), ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'ok' }), ...end('end_turn')])
    const said = (model: string): Message => says([...thoughts, text('I look.'), call('call:1', '{"path":"a"}')], { provider: 'anthropic', model })
    const conversation = [user('Hi'), said('claude-x'), result('call:1', [text('one'), image]), said('claude-y'), result('call:1', 'gone', true)]
    await ask(adapter('anthropic'), { model: 'claude-x', system: 'Be brief.', tools: [READ], toolChoice: 'none', maxTokens: 99, messages: [...conversation, user('Summarize.')], purpose: 'compaction' })
    const { path, headers, body } = last()
    const mark = { cache_control: { type: 'ephemeral' } }
    const use = { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' } }
    expect(path).toBe('/v1/messages')
    expect(headers['x-api-key']).toBe(KEY)
    expect(body).toMatchObject({ model: 'claude-x', max_tokens: 99, stream: true, system: [{ type: 'text', text: 'Be brief.', ...mark }] })
    expect(body).not.toHaveProperty('tool_choice')
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Thinking.', signature: 'sig' }, { type: 'text', text: 'I look.' }, use] },
      {
        role: 'user',
        content: [{
          type: 'tool_result', tool_use_id: 'call_1', ...mark,
          content: [{ type: 'text', text: 'one' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }],
        }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, { ...use, id: '2_call_1' }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: '2_call_1', content: 'gone', is_error: true, ...mark }, { type: 'text', text: 'Summarize.', ...mark }],
      },
    ])
  })

  it.each<[string, object, object]>([
    ['an overload', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, { code: 'SERVER' }],
    ['an overflow', { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' } }, { code: 'CONTEXT_WINDOW_EXCEEDED', limitTokens: 200_000, requestedTokens: 210_000 }],
  ])('%s is a failure, at the beginning of a stream and within', async (_name, error, expected) => {
    server.script = sse([error])
    expect(await failure(ask(adapter('anthropic')))).toMatchObject(expected)
    server.script = sse([begin(), ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'So far' }), error])
    expect(await failure(ask(adapter('anthropic')))).toMatchObject(expected)
  })

  it('a request without a limit asks for the longest answer that its model is said to give', async () => {
    server.script = sse([begin(), ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'ok' }), ...end('end_turn')])
    const to = createAdapter({ provider: 'anthropic', family: 'anthropic', baseURL: server.url, apiKey: KEY, models: { small: { maxOutputTokens: 2_000 } } })
    await ask(to, { model: 'small' })
    expect(last().body).toMatchObject({ model: 'small', max_tokens: 2_000 })
    await ask(to, { model: 'small', maxTokens: 99 })
    expect(last().body).toMatchObject({ max_tokens: 99 })
  })

  it('a stream that stops before its end is a failure', async () => {
    server.script = sse([begin(), ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'So far' })])
    expect(await failure(ask(adapter('anthropic')))).toMatchObject({ code: 'TRANSPORT' })
  })

  it.each([['end_turn', 'stop'], ['max_tokens', 'max-tokens'], ['model_context_window_exceeded', 'max-tokens'], ['refusal', 'content-filter']])('stop reason %s is %s', async (reason, finish) => {
    server.script = sse([begin(), ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'ok' }), ...end(reason)])
    expect((await ask(adapter('anthropic'))).finish).toBe(finish)
  })

  it('drops what the provider runs itself, with a count', async () => {
    const notices: string[] = []
    server.script = sse([
      begin(),
      ...block(0, { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
      ...block(1, { type: 'web_search_tool_result', tool_use_id: 's1', content: [] }),
      ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'Found.' }),
      ...end('end_turn'),
    ])
    const to = createAdapter({ provider: 'anthropic', family: 'anthropic', baseURL: server.url, apiKey: KEY, notice: notice => notices.push(notice) })
    expect((await ask(to)).content).toEqual([text('Found.')])
    expect(notices).toEqual(['the provider sent 1 tool-call, 1 tool-result of a kind that is not supported'])
  })
})

describe('openai', () => {
  const created = { type: 'response.created', response: { id: 'r1', created_at: 1, model: 'served' } }
  const item = (type: 'added' | 'done', output_index: number, content: object) => ({ type: `response.output_item.${type}`, output_index, item: content })
  const completed = { type: 'response.completed', response: { usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 80 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 8 } } } }
  const message = [
    item('added', 1, { type: 'message', id: 'msg1' }),
    { type: 'response.output_text.delta', item_id: 'msg1', output_index: 1, delta: 'I look.' },
    item('done', 1, { type: 'message', id: 'msg1' }),
  ]

  it('asks the Responses API to store nothing, and sends encrypted reasoning back to the model that had it', async () => {
    server.script = sse([
      created,
      item('added', 0, { type: 'reasoning', id: 'rs1', encrypted_content: '' }),
      item('done', 0, { type: 'reasoning', id: 'rs1', encrypted_content: 'sealed', summary: [] }),
      ...message,
      item('added', 2, { type: 'function_call', id: 'fc1', call_id: 'c1', name: 'read', arguments: '' }),
      { type: 'response.function_call_arguments.delta', item_id: 'fc1', output_index: 2, delta: '{"path":' },
      { type: 'response.function_call_arguments.delta', item_id: 'fc1', output_index: 2, delta: ' "a"}' },
      item('done', 2, { type: 'function_call', id: 'fc1', call_id: 'c1', name: 'read', arguments: '{"path": "a"}', status: 'completed' }),
      completed,
    ])
    const answer = await ask(adapter('openai'), { model: 'gpt-5', tools: [READ], sessionId: 's1', reasoningEffort: 'low' })
    expect(answer).toMatchObject({
      content: [{ type: 'reasoning', text: '' }, { type: 'text', text: 'I look.' }, { type: 'tool-call', id: 'c1', arguments: '{"path": "a"}' }],
      finish: 'tool-calls',
      usage: { inputTokens: 20, cacheReadTokens: 80, outputTokens: 20, reasoningTokens: 8 },
    })
    expect(last().path).toBe('/v1/responses')
    expect(last().headers['authorization']).toBe(`Bearer ${KEY}`)
    expect(last().body).toMatchObject({ model: 'gpt-5', stream: true, store: false, include: ['reasoning.encrypted_content'], prompt_cache_key: 's1', reasoning: { effort: 'low' }, tools: [{ type: 'function', strict: false }] })

    server.script = sse([created, ...message, completed])
    const conversation = [user('Hi'), says(answer.content, { provider: 'openai', model: 'gpt-5' }), result('c1', [text('one'), image])]
    await ask(adapter('openai'), { model: 'gpt-5', messages: conversation })
    expect(last().body.input).toMatchObject([
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'reasoning', encrypted_content: 'sealed' },
      { role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"path": "a"}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'one' }, { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` }] },
    ])
    await ask(adapter('openai'), { model: 'gpt-4.1', messages: [...conversation.slice(0, 2), result('c1', 'no\nsuch file', true)] })
    expect(last().body.input.at(-1)).toEqual({ type: 'function_call_output', call_id: 'c1', output: 'no\nsuch file' })
    expect(last().text).not.toContain('sealed')
  })

  it.each<[string, object, object]>([
    ['a failed response', { type: 'response.failed', sequence_number: 1, response: { error: { code: 'server_error', message: 'boom' } } }, { code: 'SERVER' }],
    ['an overflow', { type: 'error', sequence_number: 1, error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.', param: 'input' } }, { code: 'CONTEXT_WINDOW_EXCEEDED' }],
  ])('%s within a stream is a failure', async (_name, frame, expected) => {
    server.script = sse([created, ...message, frame])
    expect(await failure(ask(adapter('openai')))).toMatchObject(expected)
  })

  it('an answer cut by its limit says so', async () => {
    server.script = sse([created, ...message, { type: 'response.incomplete', response: { ...completed.response, incomplete_details: { reason: 'max_output_tokens' } } }])
    expect((await ask(adapter('openai'))).finish).toBe('max-tokens')
  })
})

describe('google', () => {
  const frame = (parts: object[], more: object = {}) => ({ candidates: [{ content: { role: 'model', parts }, ...more }], usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 12, thoughtsTokenCount: 8 } })

  it('reads thoughts, text and calls, and counts thoughts into the output', async () => {
    server.script = sse([
      frame([{ text: 'Hm.', thought: true }]),
      frame([{ text: 'I look.' }]),
      frame([{ functionCall: { id: 'g1', name: 'read', args: { path: 'a' } }, thoughtSignature: 'sig' }], { finishReason: 'STOP' }),
    ])
    const answer = await ask(adapter('google'), { model: 'gemini-3-pro-preview', system: 'Be brief.', tools: [READ], toolChoice: 'required', stop: ['END'], reasoningEffort: 'low' })
    expect(answer).toMatchObject({
      content: [{ type: 'reasoning', text: 'Hm.' }, text('I look.'), { type: 'tool-call', name: 'read', arguments: '{"path":"a"}' }],
      finish: 'tool-calls',
      usage: { inputTokens: 40, cacheReadTokens: 60, outputTokens: 20, reasoningTokens: 8 },
    })
    expect(last().path).toBe('/v1/models/gemini-3-pro-preview:streamGenerateContent?alt=sse')
    expect(last().headers['x-goog-api-key']).toBe(KEY)
    expect(last().body).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { stopSequences: ['END'], thinkingConfig: { thinkingLevel: 'low' } },
    })

    server.script = sse([frame([{ text: 'ok' }], { finishReason: 'STOP' })])
    const second = call('g2', '{"path": "b"}')
    await ask(adapter('google'), {
      model: 'gemini-3-pro-preview',
      messages: [user('Hi'), says([...answer.content, second], { provider: 'google', model: 'gemini-3-pro-preview' }), result('g1', 'one'), result('g2', 'two')],
    })
    const [, model, results] = last().body.contents
    expect(model.parts.filter((part: object) => 'functionCall' in part)).toMatchObject([{ functionCall: { name: 'read', args: { path: 'a' } }, thoughtSignature: 'sig' }, { functionCall: { args: { path: 'b' } } }])
    expect(results).toMatchObject({ role: 'user', parts: [{ functionResponse: { name: 'read' } }, { functionResponse: { name: 'read' } }] })
  })

  it.each([['STOP', 'stop'], ['MAX_TOKENS', 'max-tokens'], ['SAFETY', 'content-filter']])('finish reason %s is %s', async (finishReason, finish) => {
    server.script = sse([frame([{ text: 'ok' }], { finishReason })])
    expect((await ask(adapter('google'))).finish).toBe(finish)
  })

  it.each<[string, object, object]>([
    ['a call that is none', frame([{ text: 'ok' }], { finishReason: 'MALFORMED_FUNCTION_CALL' }), { code: 'SERVER', message: 'the provider ended its answer with an error: MALFORMED_FUNCTION_CALL' }],
    ['an error within', { error: { code: 429, message: 'Resource exhausted', status: 'RESOURCE_EXHAUSTED' } }, { code: 'RATE_LIMIT', status: 429 }],
  ])('%s is a failure', async (_name, last, expected) => {
    server.script = sse([frame([{ text: 'So far' }]), last])
    expect(await failure(ask(adapter('google')))).toMatchObject(expected)
  })

  it('a stream that stops before its end is a failure', async () => {
    server.script = sse([frame([{ text: 'So far' }])])
    expect(await failure(ask(adapter('google')))).toMatchObject({ code: 'TRANSPORT' })
  })
})
