/** What a conversation has cost stands in its log as the provider counted it, in buckets that never overlap. */
import type { TokenUsage } from '@deepseek-ai/dsh-llm'
import { createDeepseek } from '@deepseek-ai/dsh-llm-deepseek'
import { describe, expect, it } from 'vitest'
import { bracketsOf, eventsOf, play, SUMMARY } from './house.ts'
import { expectSoundLodging, KEY, LOCAL, lodging, type Lodging, type LodgingInit } from './provider/house.ts'
import { asksForSummary, type Script } from './provider/script.ts'
import type { Served } from './provider/server.ts'

const WINDOW_TOKENS = 10_000

/** Reasons, calls a tool, and answers. */
const script: Script = request => {
  if (asksForSummary(request)) return SUMMARY
  return request.messages.at(-1)!.role === 'tool' ? [{ reasoning: 'It says so.' }, { text: 'Done.' }] : [{ reasoning: 'Hm, let me look.' }, { text: 'I look.' }, { call: { name: 'look', arguments: {} } }]
}

const ADAPTERS: { readonly [name: string]: Pick<LodgingInit, 'dialect' | 'adapter'> & { readonly provider?: string } } = {
  'OpenAI-compatible': { dialect: 'openai' },
  Anthropic: { dialect: 'anthropic' },
  DeepSeek: {
    dialect: 'openai',
    provider: 'deepseek',
    adapter: baseURL => createDeepseek({ baseURL, apiKey: KEY, models: { [LOCAL.model]: { contextWindow: WINDOW_TOKENS } } }),
  },
}

/** Seven messages, each with a tool step: a compaction is due before the end. */
async function conversation({ provider = LOCAL.provider, ...init }: (typeof ADAPTERS)[string]): Promise<Lodging> {
  const all = await lodging({
    ...init,
    script,
    window: { tokens: WINDOW_TOKENS },
    model: { contextWindow: WINDOW_TOKENS },
    house: { system: 'Look before you answer.', options: { provider, model: LOCAL.model, maxTokens: 1_000 } },
  })
  await play(all, Array.from({ length: 7 }, () => 'u900 r700').join(' '))
  return all
}

function usageOf({ promptTokens, read, written, outputTokens }: Served): Pick<Required<TokenUsage>, 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'outputTokens'> {
  return { inputTokens: promptTokens - read - written, cacheReadTokens: read, cacheWriteTokens: written, outputTokens }
}

describe.each(Object.entries(ADAPTERS))('%s', (_name, adapter) => {
  it('the log has the server’s figures, of answers and of summaries', async () => {
    const all = await conversation(adapter)
    expect(bracketsOf(all.session)).toMatch(/^start\(pressure\) summary\(replay\) checkpoint end/)
    const logged = [...eventsOf(all.session, 'assistant/message'), ...eventsOf(all.session, 'compaction/summary')].toSorted((one, other) => one.seq - other.seq)
    expect(logged.map(({ data: { usage } }) => ({ cacheReadTokens: 0, cacheWriteTokens: 0, ...usage }))).toMatchObject(all.provider.served.map(usageOf))
    expect(all.provider.served.some(({ read }) => read > 0)).toBe(true)
    expectSoundLodging(all)
  })

  it('the meter, once it has seen an answer, is within 3 % of the next prompt', async () => {
    const all = await conversation(adapter)
    const errors: number[] = []
    let expected: number | null = null
    all.ctx.on('llm/stream', (request, next) => {
      expected = request.options.purpose === undefined ? all.ctx.get('tokenMeter')!.measure(all.session).totalTokens : null
      return next()
    })
    all.ctx.on('session/event', (_session, { type }) => {
      if (type === 'assistant/message') errors.push(Math.abs(expected! / all.provider.served.at(-1)!.promptTokens - 1))
    })
    await play(all, 'u900 r700 u400 r900')
    expect(errors).toHaveLength(4)
    expect(Math.max(...errors)).toBeLessThan(0.03)
    expectSoundLodging(all)
  })
})

it('DeepSeek alone is told which requests are for a summary, by a header and by nothing in the body', async () => {
  for (const [name, adapter] of Object.entries(ADAPTERS)) {
    const { served } = (await conversation(adapter)).provider
    const told = served.filter(({ request }) => request.headers['x-deepseek-harness-compact'] !== undefined)
    expect(told).toEqual(name === 'DeepSeek' ? served.filter(({ request }) => asksForSummary(request)) : [])
    for (const { request } of served) expect(JSON.stringify(request.body)).not.toMatch(/purpose|harness/)
  }
})
