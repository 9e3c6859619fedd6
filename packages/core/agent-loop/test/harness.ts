/**
 * A whole context with a scripted model, and logs written as one line a person can read.
 */
import { Context } from '@deepseek-ai/cordis'
import AgentService, { type Agent, type AgentOptions } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import LlmService, { ScriptedAdapter, textOf, type ContentBlock, type ScriptedInit, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import SessionService, { Session, type EventSink, type Seq, type SessionEvent, type SessionGuard } from '@deepseek-ai/dsh-session'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import ToolService, { type Tool } from '@deepseek-ai/dsh-tools'

export interface Harness {
  readonly ctx: Context
  readonly session: Session
  readonly agent: Agent
  readonly model: ScriptedAdapter
  /** For further sessions: every event is judged by the invariants of all that is loaded. */
  readonly guard: SessionGuard
  /** Violations that vetoed nothing. */
  readonly reported: readonly string[]
  /** Everything logged as an error or a warning. */
  complaints(): string[]
}

export interface HarnessInit {
  readonly replies: ScriptedInit['replies']
  readonly models?: ScriptedInit['models']
  readonly tools?: readonly Tool[]
  readonly options?: AgentOptions
  readonly sink?: EventSink
  readonly seed?: Iterable<SessionEvent>
  readonly parent?: { readonly id: string; readonly seq: Seq }
}

export async function harness(init: HarnessInit): Promise<Harness> {
  const { replies, models, tools = [], options = { provider: 'scripted', model: 'm' } } = init
  const ctx = new Context()
  const { guard, reported } = await underInvariants(ctx)
  for (const plugin of [SessionService, LlmService, SystemPromptService, ToolService, AgentService, AgentLoop]) await ctx.plugin(plugin)
  const model = new ScriptedAdapter({ replies, ...(models && { models }) })
  ctx.llm.registerAdapter(model)
  for (const tool of tools) ctx.tools.registerTool(tool)
  const { sink, seed, parent } = init
  const session = new Session({ header: { id: 's', createdAt: 0, ...(parent && { parent }) }, guard, ...(sink && { sink }), ...(seed && { seed }) })
  const agent = ctx.agents.create(session, options)
  const complaints = () => ctx.logger.buffer.filter(({ type }) => type === 'error' || type === 'warn').map(({ args }) => args.join(' '))
  return { ctx, session, agent, model, guard, reported, complaints }
}

/** A session's events as they would be read back from a file. */
export function reread(session: Session): SessionEvent[] {
  return JSON.parse(JSON.stringify([...session.log.from(0)]))
}

/** An answer that calls tools: `calls('look', ['a', 'read'], ['b', 'write', {x: 1}])` is text and two calls. */
export function calls(text: string, ...called: (readonly [id: string, name: string, args?: object])[]): ScriptedReply {
  const content: ContentBlock[] = called.map(([id, name, args = {}]) => ({ type: 'tool-call', id, name, arguments: JSON.stringify(args) }))
  return { content: text === '' ? content : [{ type: 'text', text }, ...content] }
}

export function tool(name: string, execute: Tool['execute'], parallel = false): Tool {
  return { name, parameters: { type: 'object' }, parallel, execute }
}

/** Something to wait for, and the hand that lets it happen. */
export function gate<T = void>(): { readonly passed: Promise<T>; open(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { passed: promise, open: resolve }
}

/**
 * The log from `from` on: `+send turn1 u(hi) [1 header(initial) context a(hello) 1] /turn1(completed)`.
 *
 * `[1 … 1]` is a step; `a(text b)` answered text and called b; `result(b:CODE)` is an error result; `-` withdraws input.
 */
export function story(session: Session, from: Seq = 0): string {
  return [...session.log.from(from)].map(wordOf).join(' ')
}

function wordOf(event: SessionEvent): string {
  switch (event.type) {
    case 'inbox/spliced':
      return [...(event.data.inserted ?? []).map(({ kind }) => `+${kind}`), ...(event.data.removed ?? []).map(() => '-')].join(' ')
    case 'turn/start':
      return `turn${event.data.turn}${event.data.retry ? '(retry)' : ''}`
    case 'turn/end': {
      const { turn, reason } = event.data
      const why = reason === 'aborted' ? `aborted by ${event.data.by}` : reason === 'error' ? event.data.failure.code : reason
      return `/turn${turn}(${why})`
    }
    case 'step/start':
      return `[${event.data.step}`
    case 'step/end':
      return `${event.data.step}]`
    case 'user/message':
      return `u(${textOf(event.data.content)})`
    case 'assistant/message': {
      const words = event.data.content.map(block => (block.type === 'text' ? block.text : block.type === 'tool-call' ? block.id : block.type))
      return `a(${words.join(' ')})${event.data.interrupted ? '!' : ''}`
    }
    case 'tool/call':
      return `call(${event.data.callId})`
    case 'tool/result': {
      const { callId, error } = event.data
      return error === undefined ? `result(${callId})` : `result(${callId}:${error.code})`
    }
    case 'request/header':
      return `header(${event.data.reason})`
    case 'request/context':
      return 'context'
    case 'session/end-seed':
      return 'end-seed'
    default:
      return event.type
  }
}
