/**
 * The house: the shipped composition, brought up by the loader as `dsh` does it, with a scripted model for a provider, a store
 * in memory, four characters a token, so that the sizes in pictures are exact, and the invariants on.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent'
import { compactionInvariant, isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { BasicCompactionConfig } from '@deepseek-ai/dsh-compaction-basic'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import { ScriptedAdapter, textOf, type ContentBlock, type GenerateOptions, type LlmAdapter, type Message, type ModelInfo, type ScriptedInit, type ScriptedReply, type TokenUsage } from '@deepseek-ai/dsh-llm'
import { checkLog, isSurfaceEvent, sessionInvariant, type Seq, type Session, type SessionEvent, type SessionEventType } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import type { Tool } from '@deepseek-ai/dsh-tools'
import { fileURLToPath } from 'node:url'
import { afterEach, expect } from 'vitest'
import { boot } from '../apps/dsh/src/boot.ts'
import { INTERFACE, LIVE_ONLY } from '../apps/dsh/src/composition.ts'
import { sized } from '../packages/compaction/compaction-basic/test/harness.ts'
import type { Store } from './store.ts'

export { bracketsOf, gate, rejection, sized, surfaceOf, until } from '../packages/compaction/compaction-basic/test/harness.ts'

export const SHIPPED = fileURLToPath(new URL('../examples/tui-agent/cordis.yml', import.meta.url))
export const MEMORY_STORE = new URL('./store.ts', import.meta.url).href

/** Words and tools that pictures do not draw, models that cannot be reached, and waits for a failure to pass. */
const BESIDE_THE_POINT = new Set([...LIVE_ONLY, ...INTERFACE, '@deepseek-ai/dsh-llm-retry'])

export const WINDOW_TOKENS = 10_000
export const SUMMARY = `SUM${' and so it went on'.repeat(12).slice(0, 200)}`
export const ROUTE = { provider: 'scripted', model: 'm' } as const
export const OVERFLOW = { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } } satisfies ScriptedReply
/** The meter of the house, for whoever sets a price on what was sent. */
export const meter = tokenMeter({ charsPerToken: 4 })

export interface HouseInit {
  /** What the model says to a summary request; `SUMMARY` by default. */
  readonly summary?: ScriptedReply
  /** What it says to the loop, in order; after that, `Done.` */
  readonly replies?: readonly ScriptedReply[]
  readonly compaction?: BasicCompactionConfig
  readonly models?: { readonly [model: string]: ModelInfo }
  /** Whether the model refuses, as a provider does, what its window does not hold. */
  readonly strict?: boolean
  readonly options?: AgentOptions
  readonly system?: string
  readonly tools?: readonly Tool[]
  readonly usage?: ScriptedInit['usage']
  /** In place of the scripted model. */
  readonly adapter?: LlmAdapter
  /** Rows by id with a configuration of their own. */
  readonly configs?: ReadonlyMap<string, unknown>
  /** Packages in place of others. */
  readonly swaps?: ReadonlyMap<string, string>
  /** A folder for sessions on disk, in place of the store in memory. */
  readonly dir?: string
  /** What another process left behind, to be resumed. */
  readonly left?: Iterable<SessionEvent>
}

export interface House {
  readonly ctx: Context
  readonly session: Session
  readonly agent: Agent
  readonly model: ScriptedAdapter
  /** What the model says next; `play` adds to it. */
  readonly replies: ScriptedReply[]
  /** What the tool `look` answers next. */
  readonly results: ReturnType<Tool['execute']>[]
  readonly store: Store
  summaryRequests(): GenerateOptions[]
  /** Requests of the loop. */
  requests(): GenerateOptions[]
  warnings(): string[]
  /** What the invariants could not veto. */
  readonly reported: readonly string[]
  dispose(): Promise<void>
}

const houses: Context[] = []
afterEach(async () => {
  for (const ctx of houses.splice(0)) await ctx.fiber.dispose()
})

/** With one session, new or resumed, and its agent; all of it goes with the test. */
export async function house(init: HouseInit = {}): Promise<House> {
  const { summary = SUMMARY, compaction, models = { [ROUTE.model]: { contextWindow: WINDOW_TOKENS } }, options = { ...ROUTE, maxTokens: 1_000 }, dir } = init
  const ctx = await boot({
    path: SHIPPED,
    drop: BESIDE_THE_POINT,
    configs: new Map<string, unknown>([
      ['token-meter', { charsPerToken: 4 }],
      ...(compaction === undefined ? [] : [['compaction', compaction] as const]),
      ...(dir === undefined ? [] : [['session-persistence', { dir }] as const]),
      ...(init.configs ?? []),
    ]),
    swaps: new Map([
      ...(dir === undefined ? [['@deepseek-ai/dsh-session-persistence-jsonl', MEMORY_STORE] as const] : []),
      ...(init.swaps ?? []),
    ]),
  })
  houses.push(ctx)
  ctx.logger.exporters.clear() // what the app prints is read here
  const { reported } = await underInvariants(ctx)
  const warnings: string[] = []
  ctx.logger.exporter({ levels: { default: 2 }, export: ({ type, args }) => void (type !== 'info' && warnings.push(args.join(' '))) })
  const replies = [...(init.replies ?? [])]
  const results: House['results'] = []
  const model = new ScriptedAdapter({
    models,
    replies: request => {
      if (init.strict && sizeOf(request) > models[request.model]!.contextWindow!) return OVERFLOW
      return request.purpose === 'compaction' ? summary : (replies.shift() ?? 'Done.')
    },
    ...(init.usage && { usage: init.usage }),
  })
  ctx.get('llm')!.registerAdapter(init.adapter ?? model)
  if (init.system !== undefined) ctx.get('systemPrompt')!.registerSection({ name: 'test', text: init.system })
  ctx.get('tools')!.registerTool({ name: 'look', parameters: { type: 'object' }, parallel: true, execute: () => results.shift() ?? 'nothing there' })
  for (const tool of init.tools ?? []) ctx.get('tools')!.registerTool(tool)
  const store = ctx.get('sessionPersistence') as unknown as Store
  if (init.left !== undefined) store.leave({ id: 's', createdAt: 0 }, init.left)
  const sessions = ctx.get('sessions')!
  const session = init.left === undefined ? await sessions.create({ id: 's' }) : await sessions.resume('s')
  return {
    ctx, session, model, replies, results, store,
    agent: ctx.get('agents')!.create(session, options),
    summaryRequests: () => model.requests.filter(({ purpose }) => purpose === 'compaction'),
    requests: () => model.requests.filter(({ purpose }) => purpose === undefined),
    warnings: () => warnings,
    reported,
    dispose: () => ctx.fiber.dispose(),
  }
}

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })
export const call = (id: string, name = 'look', args = '{}'): ContentBlock => ({ type: 'tool-call', id, name, arguments: args })

/**
 * Plays a conversation through the loop and waits until it rests: `u600` a person says 600 tokens, `a200` an answer, `cab10` an
 * answer of 10 tokens that calls a and b, `ra900` the result for a (results of one answer in the order of its calls), `x50`
 * context that waits for the next message of a person.
 */
export async function play(house: House, picture: string): Promise<void> {
  for (const turn of picture.split(/ (?=u)/)) {
    let message: string | null = null
    for (const word of turn.split(' ')) {
      const [, kind, ids = '', size = '0'] = /^([uxacr])([a-z]*)(\d+)$/.exec(word) ?? []
      const said = sized(word, Number(size))
      if (kind === 'u') message = said
      else if (kind === 'x') house.agent.inject(said, { kind: 'context' })
      else if (kind === 'a') house.replies.push(said)
      else if (kind === 'c') house.replies.push({ content: [text(said), ...[...ids].map(id => call(id))] })
      else if (kind === 'r') house.results.push(said)
      else throw new SyntaxError(`nothing to play: ${word}`)
    }
    if (message !== null) await say(house, message)
  }
}

/** A person says something, and the agent works until it rests. */
export async function say({ agent }: House, message: string): Promise<void> {
  agent.send(message)
  await agent.whenIdle()
}

/** The estimated size of a request, by the meter of the house. */
export function sizeOf({ system, tools, messages }: GenerateOptions): number {
  return messages.reduce((sum, message) => sum + meter.estimateMessage(message), meter.estimateEnvelope(system, tools))
}

/** Usage of exactly what was sent. */
export function exactUsage(options: GenerateOptions, content: readonly ContentBlock[]): TokenUsage {
  return { inputTokens: sizeOf(options), outputTokens: meter.estimateMessage({ role: 'assistant', content }) }
}

/**
 * What every story ends in: live state is replayed state, no invariant is broken, and whatever was sent is what a provider
 * takes: each call answered once, before anything else is said, no result without its call, somebody's words to answer.
 */
export function expectSound({ session, model, reported }: House): void {
  expectReplays(session)
  expect(reported).toEqual([])
  expect(checkLog(session.log.from(0), [sessionInvariant, compactionInvariant])).toEqual([])
  for (const { messages } of model.requests) expectPaired(messages)
}

function expectPaired(messages: readonly Message[]): void {
  const faults: string[] = messages.some(({ role }) => role === 'user') ? [] : ['nobody said anything']
  const open: string[] = []
  for (const { role, content } of messages) {
    if (role !== 'tool' && open.length > 0) faults.push(`unanswered before ${role}: ${open.splice(0).join(', ')}`)
    for (const block of content) {
      if (block.type === 'tool-call') open.push(block.id)
      if (block.type !== 'tool-result') continue
      if (!open.includes(block.toolCallId)) faults.push(`a result without its call: ${block.toolCallId}`)
      else open.splice(open.indexOf(block.toolCallId), 1)
    }
  }
  expect([...faults, ...open]).toEqual([])
}

export function eventsOf<T extends SessionEventType>(session: Session, type: T, from: Seq = 0): SessionEvent<T>[] {
  return [...session.log.from(from)].filter((event): event is SessionEvent<T> => event.type === type)
}

export const typesOf = (session: Session, from: Seq = 0): SessionEventType[] => [...session.log.from(from)].map(({ type }) => type)

/** How the turns ended, in order: `completed`, `aborted by …`, or the code of a failure. */
export function turnEnds(session: Session): string[] {
  return eventsOf(session, 'turn/end').map(({ data }) => (data.reason === 'error' ? data.failure.code : data.reason === 'aborted' ? `aborted by ${data.by}` : data.reason))
}

/** The texts of the checkpoints on the surface. */
export function checkpoints(session: Session): string[] {
  return session.surface.entries.flatMap(seq => {
    const event = session.log.at(seq)
    return isSurfaceEvent(event) && event.type === 'user/message' && isCompactCheckpointSource(event.data.source) ? [textOf(event.data.content)] : []
  })
}

/** What a model was sent, as one text. */
export const sent = ({ system = '', messages }: GenerateOptions): string => `${system}\n${JSON.stringify(messages)}`
