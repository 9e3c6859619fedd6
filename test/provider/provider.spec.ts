/** The provider by itself, asked with nothing but `fetch`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../packages/compaction/compaction-basic/test/harness.ts'
import { MarkedCache } from './prefix-cache.ts'
import { countTokens, tokensOf, type Part } from './prompt.ts'
import { errorBody, rateLimit, type Answer, type Script } from './script.ts'
import { startProvider, type Provider, type ProviderOptions } from './server.ts'

const providers: Provider[] = []
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close()
})

async function provider(script: Answer | Script, options: Partial<ProviderOptions> = {}): Promise<Provider> {
  const started = await startProvider({ script: typeof script === 'function' ? script : () => script, ...options })
  providers.push(started)
  return started
}

type Dialect = 'openai' | 'anthropic'
interface Turn { readonly role: string; readonly content: unknown; readonly [field: string]: unknown }

const user = (content: unknown): Turn => ({ role: 'user', content })
const long = (label: string, words = 400): string => `${label} ${'lorem ipsum dolor sit amet '.repeat(words / 5)}`

function ask({ url }: Provider, dialect: Dialect, messages: readonly Turn[], init: { key?: string; maxTokens?: number; signal?: AbortSignal } = {}): Promise<Response> {
  const { key = 'k', maxTokens = 1_000, signal } = init
  return fetch(url + (dialect === 'openai' ? '/v1/chat/completions' : '/v1/messages'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(dialect === 'openai' ? { authorization: `Bearer ${key}` } : { 'x-api-key': key }) },
    body: JSON.stringify({ model: 'm', messages, max_tokens: maxTokens, stream: true, stream_options: { include_usage: true } }),
    ...(signal && { signal }),
  })
}

/** The data of every frame. */
async function framesOf(response: Response | Promise<Response>): Promise<any[]> {
  const text = await (await response).text()
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => (data === '[DONE]' ? data : JSON.parse(data!)))
}

function textIn(frames: readonly any[]): string {
  return frames.map(frame => frame.choices?.[0]?.delta.content ?? frame.delta?.text ?? '').join('')
}

describe.each<Dialect>(['openai', 'anthropic'])('in the dialect of %s', dialect => {
  it('says a text in pieces and counts it', async () => {
    const said = long('Hello', 60)
    const all = await provider(said)
    const frames = await framesOf(ask(all, dialect, [user('Hi')]))
    expect(textIn(frames)).toBe(said)
    expect(frames.length).toBeGreaterThan(8)
    expect(all.served).toMatchObject([{ outputTokens: countTokens(said), outcome: 'answered', request: { dialect, key: 'k', maxTokens: 1_000 } }])
  })

  it('stops where the request’s own limit is', async () => {
    const all = await provider(long('Hello', 60))
    const frames = await framesOf(ask(all, dialect, [user('Hi')], { maxTokens: 10 }))
    expect(tokensOf(textIn(frames))).toHaveLength(10)
    expect(JSON.stringify(frames)).toContain(dialect === 'openai' ? '"finish_reason":"length"' : '"stop_reason":"max_tokens"')
  })

  it('reasons, speaks and calls tools', async () => {
    const all = await provider([{ reasoning: 'Hm.' }, { text: 'So.' }, { call: { name: 'look', arguments: { at: 1 } } }, { call: { id: 'mine', name: 'look', arguments: '{oops' } }])
    const frames = await framesOf(ask(all, dialect, [user('Hi')]))
    const call = (index: number, id: string, json: string) => ({ index, id, type: 'function', function: { name: 'look', arguments: json } })
    expect(dialect === 'openai' ? frames.slice(0, -2).map(({ choices }) => choices[0].delta) : frames.slice(2, -2)).toEqual(dialect === 'openai'
      ? [
          { role: 'assistant', content: '' },
          { reasoning_content: 'Hm.' },
          { content: 'So.' },
          { tool_calls: [call(0, 'call_0_1', '{"at')] }, { tool_calls: [{ index: 0, function: { arguments: '":1}' } }] },
          { tool_calls: [call(1, 'mine', '{o')] }, { tool_calls: [{ index: 1, function: { arguments: 'ops' } }] },
          {},
        ]
      : [
          { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'signed-0' } },
          { type: 'content_block_stop', index: 0 },
          { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'So.' } },
          { type: 'content_block_stop', index: 1 },
          { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'call_0_1', name: 'look', input: {} } },
          { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"at":1}' } },
          { type: 'content_block_stop', index: 2 },
          { type: 'content_block_start', index: 3, content_block: { type: 'tool_use', id: 'mine', name: 'look', input: {} } },
          { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{oops' } },
          { type: 'content_block_stop', index: 3 },
        ])
    expect(JSON.stringify(frames)).toContain(dialect === 'openai' ? '"finish_reason":"tool_calls"' : '"stop_reason":"tool_use"')
  })

  it('refuses what does not fit, in its own words or in those it is given', async () => {
    const own = await provider('Hello', { window: { tokens: 500 } })
    const refused = await ask(own, dialect, [user(long('u'))], { maxTokens: 100 })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toMatch(dialect === 'openai' ? /maximum context length is 500 tokens/ : /prompt is too long: \d+ tokens > 500 maximum/)
    expect((await ask(own, dialect, [user('u')], { maxTokens: 600 })).status).toBe(400)
    expect((await ask(own, dialect, [user('u')], { maxTokens: 100 })).status).toBe(200)

    const given = await provider('Hello', { window: { tokens: 500, holdsOutput: false, refuse: () => ({ status: 413, body: '' }) } })
    expect((await ask(given, dialect, [user('u')], { maxTokens: 600 })).status).toBe(200)
    const empty = await ask(given, dialect, [user(long('u', 800))])
    expect([empty.status, await empty.text()]).toEqual([413, ''])

    const inBand = await provider('Hello', { window: { tokens: 500, refuse: () => [{ text: 'I begin' }, { error: errorBody(dialect, 'too long') }] } })
    const frames = await framesOf(ask(inBand, dialect, [user(long('u', 800))]))
    expect(textIn(frames)).toBe('I begin')
    expect(frames.at(-1)).toEqual(errorBody(dialect, 'too long'))
    expect(inBand.served).toMatchObject([{ outcome: 'failed' }])
  })

  it('says “not now” as often as its script says so', async () => {
    const all = await provider(({ index }) => (index < 2 ? rateLimit(dialect, 3) : 'Hello'))
    const answers = [1, 2, 3].map(() => ask(all, dialect, [user('Hi')]))
    const statuses: number[] = []
    for (const answer of answers) {
      const { status, headers } = await answer
      statuses.push(status)
      if (status === 429) expect(headers.get('retry-after')).toBe('3')
    }
    expect(statuses.toSorted()).toEqual([200, 429, 429])
  })

  it('cuts the connection in the middle of an answer', async () => {
    const all = await provider([{ text: 'I begin' }, { cut: true }])
    const response = await ask(all, dialect, [user('Hi')])
    await expect(response.text()).rejects.toThrow()
    expect(all.served).toMatchObject([{ outcome: 'cut' }])
  })

  it('waits at a gate, before the headers or behind some words, and sees a client go', async () => {
    const all = await provider([{ wait: 'headers' }, { text: 'I begin' }, { wait: 'never' }])
    const aborted = new AbortController()
    const asked = ask(all, dialect, [user('Hi')], { signal: aborted.signal })
    await until(() => all.gates.waiting().includes('headers'))
    all.gates.release('headers')
    const response = await asked
    expect(response.status).toBe(200)
    await until(() => all.gates.waiting().includes('never'))
    expect(all.served).toMatchObject([{ outcome: 'open', outputTokens: countTokens('I begin') }])
    aborted.abort()
    await until(() => all.served[0]!.outcome === 'gone')
    expect(all.gates.waiting()).toEqual([])
  })

  it.each<[string, object[]]>([
    ['a call without its result', [{ call: 'c' }, { say: 'and?' }]],
    ['a result without its call', [{ result: 'c' }]],
    ['a call at the end', [{ call: 'c' }]],
  ])('refuses %s', async (_title, words) => {
    const all = await provider('Hello')
    const response = await ask(all, dialect, [user('Hi'), ...words.map(word => turn(word as { call?: string; result?: string; say?: string }))])
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(/tool (calls were|result answers)/)
  })

  function turn({ call, result, say }: { call?: string; result?: string; say?: string }): Turn {
    if (say !== undefined) return user(say)
    if (dialect === 'openai') {
      return call === undefined
        ? { role: 'tool', tool_call_id: result, content: 'done' }
        : { role: 'assistant', content: null, tool_calls: [{ id: call, type: 'function', function: { name: 'look', arguments: '{}' } }] }
    }
    return call === undefined ? user([{ type: 'tool_result', tool_use_id: result, content: 'done' }]) : { role: 'assistant', content: [{ type: 'tool_use', id: call, name: 'look', input: {} }] }
  }
})

describe('the cache', () => {
  it('of OpenAI keeps every prompt in blocks of 16 tokens, for each key by itself', async () => {
    const all = await provider('Hello')
    const first = [user(long('one'))]
    const second = [...first, { role: 'assistant', content: 'Hello' }, user(long('two'))]
    const changed = [user(long('One')), ...second.slice(1)]
    const usages = []
    for (const [messages, key] of [[first, 'k'], [second, 'k'], [second, 'k'], [changed, 'k'], [second, 'other']] as const) {
      usages.push((await framesOf(ask(all, 'openai', messages, { key }))).at(-2).usage)
    }
    const prompts = all.served.map(({ promptTokens }) => promptTokens)
    expect(all.served.map(({ read }) => read)).toEqual([0, Math.floor(prompts[0]! / 16) * 16, Math.floor(prompts[1]! / 16) * 16, 0, 0])
    expect(usages[1]).toMatchObject({
      prompt_tokens: prompts[1], prompt_tokens_details: { cached_tokens: all.served[1]!.read }, prompt_cache_hit_tokens: all.served[1]!.read,
      prompt_cache_miss_tokens: prompts[1]! - all.served[1]!.read,
    })
  })

  it('of Anthropic keeps what is marked, in disjoint figures', async () => {
    const all = await provider('Hello')
    const marked = (text: string) => user([{ type: 'text', text, cache_control: { type: 'ephemeral' } }])
    const conversation = [marked(long('one')), { role: 'assistant', content: 'Hello' }, marked(long('two')), { role: 'assistant', content: 'Hello' }, user('three')]
    const usages = []
    for (const length of [1, 3, 5]) usages.push((await framesOf(ask(all, 'anthropic', conversation.slice(0, length))))[0].message.usage)
    const [one, two, three] = all.served
    expect(usages[0]).toMatchObject({ input_tokens: 0, cache_creation_input_tokens: one!.promptTokens, cache_read_input_tokens: 0 })
    expect(usages[1]).toMatchObject({ input_tokens: 0, cache_creation_input_tokens: two!.promptTokens - one!.promptTokens, cache_read_input_tokens: one!.promptTokens })
    expect(usages[2]).toMatchObject({ cache_creation_input_tokens: 0, cache_read_input_tokens: two!.promptTokens })
    expect(usages[2].input_tokens).toBe(three!.promptTokens - two!.promptTokens)
  })

  it('of Anthropic finds nothing without a mark, and nothing more than twenty parts before one', () => {
    const parts = (count: number, ...marks: number[]): Part[] => Array.from({ length: count }, (_, index) => ({ tokens: tokensOf(`part ${index}`), ...(marks.includes(index) ? { isMarked: true } : {}) }))
    const cache = new MarkedCache()
    const all = (count: number): number => parts(count).reduce((sum, { tokens }) => sum + tokens.length, 0)
    expect(cache.use(parts(5))).toEqual({ read: 0, written: 0 })
    expect(cache.use(parts(5, 4))).toEqual({ read: 0, written: all(5) })
    expect(cache.use(parts(25, 24))).toEqual({ read: all(5), written: all(25) - all(5) })
    expect(new MarkedCache().use(parts(25, 24)).read).toBe(0)
    expect(cache.use(parts(50, 49))).toEqual({ read: 0, written: all(50) })
    expect(cache.use(parts(50, 24, 49)).read).toBe(all(50))
    const set = (setting: string): Part[] => parts(50, 49).map((part, index) => (index < 3 ? part : { ...part, setting }))
    expect([cache.use(set('a')), cache.use(set('b')), cache.use(set('a'))].map(({ read }) => read)).toEqual([0, 0, all(50)])
  })

  it('of Anthropic takes four marks', async () => {
    const all = await provider('Hello')
    const block = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }
    expect((await ask(all, 'anthropic', [user(Array(4).fill(block))])).status).toBe(200)
    expect((await ask(all, 'anthropic', [user(Array(5).fill(block))])).status).toBe(400)
  })
})

it('runs as a process of its own and is steered from outside', async () => {
  const child = spawn(process.execPath, [new URL('main.ts', import.meta.url).pathname, '--script', 'gated', '--window', '9000'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line') as [string]
  const { url, control } = JSON.parse(line) as { url: string; control: string }
  const post = async (path: string, body?: unknown) => (await fetch(control + path, { method: 'POST', ...(body === undefined ? {} : { body: JSON.stringify(body) }) })).json()
  const get = async (path: string): Promise<any> => (await fetch(control + path)).json()
  const there = { url } as Provider

  expect(await post('/answers', ['Given in advance.'])).toBe(1)
  expect(textIn(await framesOf(ask(there, 'openai', [user('Hi')])))).toBe('Given in advance.')
  const slow = framesOf(ask(there, 'openai', [user('Two words')]))
  for (let word = 0; word < 2; word++) await post('/release?gate=word')
  expect(textIn(await slow)).toBe('Two words')
  expect(await get('/waiting')).toEqual([])
  expect(await get('/served')).toMatchObject([{ index: 0, outcome: 'answered', asksForSummary: false }, { index: 1, outcome: 'answered' }])
  expect(await post('/nothing')).toBe('no such thing')
  expect(await post('/answers', 'none')).toMatch(/a list/)
  child.kill()
  expect(await once(child, 'exit')).toEqual([0, null])
})
