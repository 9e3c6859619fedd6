/**
 * A whole context around one session and one engine, with a scripted model and four characters a token, so that sizes in
 * pictures are exact.
 */
import { Context } from '@deepseek-ai/cordis'
import AgentService, { type Agent, type AgentOptions } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import { compactionInvariant } from '@deepseek-ai/dsh-compaction'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import LlmService, { ScriptedAdapter, textOf, type ContentBlock, type GenerateOptions, type LlmFailure, type ModelInfo, type RetryPolicy, type ScriptedInit, type ScriptedReply, type ToolSchema } from '@deepseek-ai/dsh-llm'
import { checkLog, isSurfaceEvent, lastTurn, openTurn, Session, sessionInvariant, type CallConfig, type EventSink, type Seq, type SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import ToolService, { type Tool } from '@deepseek-ai/dsh-tools'
import { expect } from 'vitest'
import { BasicCompactionEngine, type BasicCompactionConfig } from '../src/index.ts'

export interface Harness {
  readonly ctx: Context
  readonly engine: BasicCompactionEngine
  /** Unloads the engine alone. */
  readonly unload: () => Promise<void>
  readonly session: Session
  readonly agent: Agent
  readonly model: ScriptedAdapter
  /** Requests for a summary among all that the model saw. */
  summaryRequests(): GenerateOptions[]
  warnings(): string[]
}

export interface HarnessInit {
  /** What the model says to a summary request; `SUMMARY` by default. */
  readonly summary?: ScriptedReply
  /** What it says to the loop, in order. */
  readonly replies?: readonly ScriptedReply[]
  readonly config?: BasicCompactionConfig
  readonly info?: ModelInfo
  readonly engine?: new (ctx: Context, config?: BasicCompactionConfig) => BasicCompactionEngine
  readonly sink?: EventSink
  readonly seed?: Iterable<SessionEvent>
  /** What others set up before the engine comes. */
  readonly before?: (ctx: Context) => void
  readonly options?: AgentOptions
  readonly tools?: readonly Tool[]
  readonly system?: string
  readonly usage?: ScriptedInit['usage']
}

export const SUMMARY = `## Current Work\n${'SUM '.repeat(50)}`
const WINDOW_TOKENS = 10_000
export const ROUTE = { provider: 'scripted', model: 'm' } as const

/** The engine, but for waits: a summary request that failed for a passing reason is sent again at once. */
export class EagerEngine extends BasicCompactionEngine {
  protected override readonly retry: RetryPolicy = { maxRetries: 1, maxElapsedMs: 30_000, firstWaitMs: 0 }
}

/** The logger's number for warnings; it keeps them to itself unless told otherwise. */
const WARN = 2

/** With a loop only where there are `replies`; otherwise the agent rests and the test is its loop. */
export async function harness(init: HarnessInit = {}): Promise<Harness> {
  const { summary = SUMMARY, replies, config = {}, info = { contextWindow: WINDOW_TOKENS }, engine: Engine = EagerEngine, options = ROUTE } = init
  const ctx = new Context()
  const warnings: string[] = []
  const { guard } = await underInvariants(ctx)
  ctx.logger.exporter({ levels: { default: WARN }, export: ({ type, args }) => void (type !== 'info' && warnings.push(args.join(' '))) })
  await ctx.plugin(LlmService)
  await ctx.plugin(TokenMeterService, { charsPerToken: 4 })
  for (const plugin of [SystemPromptService, ToolService, AgentService]) await ctx.plugin(plugin)
  init.before?.(ctx)
  const fiber = ctx.plugin(Engine, config)
  await fiber
  if (replies !== undefined) await ctx.plugin(AgentLoop)
  if (init.system !== undefined) ctx.systemPrompt.registerSection({ name: 'test', text: init.system })
  for (const tool of init.tools ?? []) ctx.tools.registerTool(tool)
  let answered = 0
  const model = new ScriptedAdapter({
    models: { [ROUTE.model]: info },
    replies: request => (request.purpose === 'compaction' ? summary : (replies ?? [])[answered++] ?? { failure: { code: 'UNKNOWN', message: 'the script is over' } }),
    ...(init.usage && { usage: init.usage }),
  })
  ctx.llm.registerAdapter(model)
  const { sink, seed } = init
  const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => 0, guard, ...(sink && { sink }), ...(seed && { seed }) })
  return {
    ctx,
    engine: ctx.compaction as BasicCompactionEngine,
    unload: () => fiber.dispose(),
    session,
    agent: ctx.agents.create(session, options),
    model,
    summaryRequests: () => model.requests.filter(({ purpose }) => purpose === 'compaction'),
    warnings: () => warnings,
  }
}

/** A text of exactly so many tokens, beginning with `label`. */
export function sized(label: string, tokens: number): string {
  return `${label} ${'lorem ipsum dolor sit amet '.repeat(Math.ceil(tokens / 6))}`.slice(0, Math.max(1, 4 * (tokens - 4)))
}

export interface Drawing {
  readonly config?: CallConfig
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
}

/**
 * Writes a conversation as the loop would: `u600` a person's message of 600 tokens that opens a turn, `x50` context that a
 * program adds, `a200` an answer, `cab10` an answer of 10 tokens that calls a and b, `ra900` the result for a, `s500` an earlier
 * checkpoint, `)` the end of the turn. The request header stands in the first step.
 */
export function converse(session: Session, text: string, { config = ROUTE, ...envelope }: Drawing = {}): void {
  let step = lastStep(session)
  let open: string[] = []
  const at = () => ({ turn: lastTurn(session), step })
  const closeStep = () => {
    if (step > 0 && open.length === 0 && isStepOpen) session.append('step/end', at())
    isStepOpen &&= open.length > 0
  }
  let isStepOpen = false
  for (const word of text.split(' ')) {
    const [, kind, ids = '', size = '0'] = /^([uxacrs)])([a-z]*)(\d*)$/.exec(word) ?? []
    const content = [{ type: 'text', text: sized(word, Number(size)) }] as const
    switch (kind) {
      case 'u':
        if (openTurn(session) !== null) session.append('turn/end', { turn: lastTurn(session), reason: 'completed' })
        session.append('turn/start', { turn: lastTurn(session) + 1 })
        step = 0
        session.append('user/message', { content, source: { kind: 'user' } }, { surfaceOp: 'append' })
        break
      case 'x':
        session.append('user/message', { content, source: { kind: 'context' } }, { surfaceOp: 'append' })
        break
      case 's':
        session.append('user/message', { content, source: { kind: 'plugin', plugin: 'compact' } }, { surfaceOp: 'append' })
        break
      case 'a':
      case 'c': {
        step += 1
        session.append('step/start', at())
        isStepOpen = true
        if (![...session.log.from(0)].some(event => event.type === 'request/header')) session.append('request/header', { config, ...envelope, reason: 'initial' })
        open = [...ids]
        const calls = open.map((id): ContentBlock => ({ type: 'tool-call', id, name: 'look', arguments: '{}' }))
        session.append('assistant/message', { ...at(), content: [...content, ...calls], ...config, finish: open.length > 0 ? 'tool-calls' : 'stop' }, { surfaceOp: 'append' })
        closeStep()
        break
      }
      case 'r':
        open.splice(open.indexOf(ids), 1)
        session.append('tool/call', { ...at(), callId: ids })
        session.append('tool/result', { ...at(), callId: ids, content }, { surfaceOp: 'append' })
        closeStep()
        break
      case ')':
        session.append('turn/end', { turn: lastTurn(session), reason: 'completed' })
        break
      default:
        throw new SyntaxError(`not an event: ${word}`)
    }
  }
}

/** The newest step's number in the newest turn. */
function lastStep(session: Session): number {
  let step = 0
  for (const event of session.log.from(0)) {
    if (event.type === 'turn/start') step = 0
    else if (event.type === 'step/start') step = event.data.step
  }
  return step
}

/** The surface as the words it was drawn with; a checkpoint is `S`. */
export function surfaceOf(session: Session): string {
  return session.surface.entries
    .map(seq => {
      const event = session.log.at(seq)
      if (!isSurfaceEvent(event)) throw new Error(`${seq} is no entry`)
      if (event.type === 'user/message' && event.data.source['plugin'] === 'compact' && event.surfaceOp !== 'append') return 'S'
      return textOf(event.data.content).split(' ')[0]
    })
    .join(' ')
}

/**
 * What compactions wrote from `from` on: `start(pressure) summary(replay) checkpoint end`, or `end(summary)` with the code of a
 * failure. Everything else is left out.
 */
export function bracketsOf(session: Session, from: Seq = 0): string {
  const words: string[] = []
  for (const event of session.log.from(from)) {
    if (event.type === 'compaction/start') words.push(`start(${event.data.trigger})`)
    else if (event.type === 'compaction/summary') words.push(`summary(${event.data.strategy})`)
    else if (event.type === 'compaction/end') words.push(event.data.error === undefined ? 'end' : `end(${event.data.code})`)
    else if (event.type === 'user/message' && event.surfaceOp !== 'append') words.push('checkpoint')
  }
  return words.join(' ')
}

/** What every story ends in: live state is replayed state, and no invariant is broken. */
export function expectSound(session: Session): void {
  expectReplays(session)
  expect(checkLog(session.log.from(0), [sessionInvariant, compactionInvariant])).toEqual([])
}

/** One pass of `agent/pre-step`, as the loop makes it; resolves to whether the step may go on. */
export async function preStep({ ctx, agent, session }: Harness, signal = new AbortController().signal, pending: readonly ContentBlock[] = []): Promise<boolean> {
  const messages = pending.length === 0 ? [] : [{ content: pending, source: { kind: 'user' } }]
  let passed = 0
  const result = await ctx.waterfall('agent/pre-step', { agent, turn: lastTurn(session), step: 1, messages, signal }, async () => {
    passed += 1
    return { kind: 'enter', messages }
  })
  expect(passed).toBe(1)
  return result.kind === 'enter'
}

/** One pass of `agent/request-error`. */
export function requestError({ ctx, agent, session }: Harness, failure: LlmFailure, signal = new AbortController().signal) {
  return ctx.waterfall('agent/request-error', { agent, turn: lastTurn(session), step: 1, failure, signal }, async () => undefined)
}

/** What a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  return expect.unreachable('the promise was fulfilled')
}

/** A store that refuses, from now on or until it is told otherwise, the events it is told to refuse. */
export class FailingSink implements EventSink {
  readonly stored: SessionEvent[] = []
  refuses: (event: SessionEvent) => boolean = () => false
  failsFlush = false
  flushes = 0

  append(event: SessionEvent): void {
    if (this.refuses(event)) throw new Error(`the disk is full at ${event.type}`)
    this.stored.push(event)
  }

  async flush(): Promise<void> {
    this.flushes += 1
    if (this.failsFlush) throw new Error('the disk is gone')
  }
}

/** Something to wait for, and the hand that lets it happen. */
export function gate<T = void>(): { readonly passed: Promise<T>; open(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { passed: promise, open: resolve }
}

export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

/** 8,322 tokens of 10,000: pressure acts, and keeps the last 1,600. */
export const LONG = 'u3000 a200 u2000 ca10 ra1500 a10 u1400 a200'
export const COMPACTED = 'S u1400 a200'

/** A harness with a conversation in it, by default one that is due. */
export async function conversation(init: HarnessInit = {}, text = LONG): Promise<Harness> {
  const all = await harness(init)
  converse(all.session, text)
  return all
}

/** Runs one check under pressure as the loop would; the run always goes on. */
export async function underPressure(all: Harness): Promise<void> {
  expect(await preStep(all)).toBe(true)
}

export interface Before {
  readonly length: number
  readonly entries: readonly Seq[]
  readonly generation: number
}

export function remember({ session }: Harness): Before {
  return { length: session.log.length, entries: session.surface.entries.slice(), generation: session.surface.replaceGeneration }
}

export function expectSameSurface({ session }: Harness, { entries, generation }: Before): void {
  expect(session.surface.entries).toEqual(entries)
  expect(session.surface.replaceGeneration).toBe(generation)
}

/** The data of the newest `compaction/end`. */
export function endOf(session: Session): unknown {
  return [...session.log.from(0)].findLast(event => event.type === 'compaction/end')!.data
}

/** A signal that nobody aborts. */
export const never = new AbortController().signal
