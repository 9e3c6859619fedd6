/**
 * One long conversation of the shipped composition with a real server, to see how much of each prompt the server has read before.
 *
 * A person asks for something every twenty steps; a step calls a tool that answers about 2 KB, and now and then 12 KB, which is
 * what the pruner shortens. All figures are the server's.
 */
import { createAdapter } from '@deepseek-ai/dsh-llm-ai-sdk'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { fileURLToPath } from 'node:url'
import { boot } from '../apps/dsh/src/boot.ts'
import { INTERFACE, LIVE_ONLY } from '../apps/dsh/src/composition.ts'
import type { ProviderRequest } from '../test/provider/prompt.ts'
import { asksForSummary, type Act, type Script } from '../test/provider/script.ts'
import { startProvider, type Served } from '../test/provider/server.ts'

export interface CacheRun {
  readonly dialect: ProviderRequest['dialect']
  readonly steps: number
  /** Tokens. */
  readonly contextWindow: number
  /** Whether some results are so long that a pruner shortens them. */
  readonly hasLongResults?: boolean
  /** Whether the pruner of the composition is loaded; it is by default. */
  readonly prunes?: boolean
}

/** Tokens, and the part of them that came out of the cache. */
export interface Share {
  readonly requests: number
  readonly promptTokens: number
  readonly readTokens: number
}

export interface CacheFigures {
  /** Requests that follow another one of the conversation. */
  readonly between: Share
  /** The first requests after a compaction. */
  readonly after: Share
  readonly summaries: Share
  /** Of all requests; what was read afresh and what was written into the cache. */
  readonly unreadTokens: number
  readonly peakTokens: number
  readonly refused: number
  /** Tool results that were rewritten. */
  readonly prunes: number
  readonly compactions: number
}

export const shareOf = ({ readTokens, promptTokens }: Share): number => readTokens / promptTokens

const SHIPPED = fileURLToPath(new URL('../examples/tui-agent/cordis.yml', import.meta.url))
const MEMORY_STORE = new URL('../test/store.ts', import.meta.url).href
const PRUNER = '@deepseek-ai/dsh-compaction-tool-result-pruner'
const ROUTE = { provider: 'local', model: 'm' } as const
const FAMILIES = { openai: 'openai-compatible', anthropic: 'anthropic' } as const
const STEPS_A_TURN = 20
const RESULT_CHARS = 2_000
const LONG_RESULT_CHARS = 12_000
const STEPS_A_LONG_RESULT = 6

export async function cacheRun({ dialect, steps, contextWindow, hasLongResults = false, prunes = true }: CacheRun): Promise<CacheFigures> {
  const provider = await startProvider({ script: conversation(), window: { tokens: contextWindow } })
  const ctx = await boot({
    path: SHIPPED,
    drop: new Set([...LIVE_ONLY, ...INTERFACE, ...(prunes ? [] : [PRUNER])]),
    swaps: new Map([['@deepseek-ai/dsh-session-persistence-jsonl', MEMORY_STORE]]),
  })
  try {
    ctx.get('llm')!.registerAdapter(createAdapter({
      provider: ROUTE.provider, family: FAMILIES[dialect], baseURL: `${provider.url}/v1`, apiKey: 'k', models: { [ROUTE.model]: { contextWindow } },
    }))
    ctx.get('systemPrompt')!.registerSection({ name: 'bench', text: prose('You read what you are asked to read.', 2_000) })
    let results = 0
    ctx.get('tools')!.registerTool({
      name: 'read',
      description: 'Reads a part of a file.',
      parameters: { type: 'object', properties: { path: { type: 'string' }, from: { type: 'number' } } },
      execute: () => prose(`Part ${results}`, hasLongResults && results++ % STEPS_A_LONG_RESULT === 0 ? LONG_RESULT_CHARS : RESULT_CHARS),
    })
    const session = await ctx.get('sessions')!.create()
    const agent = ctx.get('agents')!.create(session, { ...ROUTE, maxTokens: 2_000 })
    for (let turn = 0; turn * STEPS_A_TURN < steps; turn++) {
      agent.send(`Read the next parts, ${turn}, and tell what is in them.`)
      await agent.whenIdle()
    }
    expectReplays(session)
    const events = [...session.log.from(0)]
    return {
      ...figuresOf(provider.served),
      prunes: events.filter(({ type, surfaceOp }) => type === 'tool/result' && surfaceOp !== 'append').length,
      compactions: events.filter(({ type }) => type === 'compaction/summary').length,
    }
  } finally {
    await ctx.fiber.dispose()
    await provider.close()
  }
}

/** A tool call a step; the last step of a turn answers. */
function conversation(): Script {
  let step = 0
  return request => {
    if (asksForSummary(request)) return `## Current Work\n${prose('The parts were read.', 1_500)}`
    step += 1
    const said: Act = { text: prose(`Step ${step}.`, 200) }
    return step % STEPS_A_TURN === 0 ? [said] : [said, { call: { name: 'read', arguments: { path: 'notes.md', from: step } } }]
  }
}

function figuresOf(served: readonly Served[]): Omit<CacheFigures, 'prunes' | 'compactions'> {
  const between: Served[] = []
  const after: Served[] = []
  const summaries: Served[] = []
  served.forEach((one, index) => {
    const previous = served[index - 1]
    if (asksForSummary(one.request)) summaries.push(one)
    else if (previous !== undefined && asksForSummary(previous.request)) after.push(one)
    else between.push(one)
  })
  return {
    between: shares(between),
    after: shares(after),
    summaries: shares(summaries),
    unreadTokens: sum(served, ({ promptTokens, read }) => promptTokens - read),
    peakTokens: Math.max(...served.map(({ promptTokens }) => promptTokens)),
    refused: served.filter(({ outcome }) => outcome === 'refused').length,
  }
}

function shares(served: readonly Served[]): Share {
  return { requests: served.length, promptTokens: sum(served, ({ promptTokens }) => promptTokens), readTokens: sum(served, ({ read }) => read) }
}

function sum(served: readonly Served[], size: (one: Served) => number): number {
  return served.reduce((total, one) => total + size(one), 0)
}

const WORDS = 'the brown fox reads line number and finds that each word of it stands where the index said it would be'.split(' ')

/** Words of which no two texts share more than their beginning. */
function prose(label: string, chars: number): string {
  let seed = [...label].reduce((hash, letter) => (hash * 31 + letter.codePointAt(0)!) % 65_521, 7)
  let text = label
  while (text.length < chars) {
    seed = (seed * 75 + 74) % 65_537
    text += ` ${WORDS[seed % WORDS.length]!}`
  }
  return text
}
