/**
 * Agents: what one is to everybody else, and what happens around its steps.
 *
 * Pure types, but for `Cancelled`.
 */
import type { ContentBlock, LlmFailure, ToolSchema } from '@deepseek-ai/dsh-llm'
import type { CallConfig, MessageSource, Session, SessionEventMap } from '@deepseek-ai/dsh-session'

/** `running` while turns or a maintenance task are under way, also between two turns of a queue. */
export type AgentStatus = 'idle' | 'running'

/** The route and output limit that requests begin with; `agent/request` has the last word. Without a route, the one last logged. */
export interface AgentOptions {
  readonly provider?: string
  readonly model?: string
  /** Output tokens. */
  readonly maxTokens?: number
}

export interface Agent {
  /** The session's id. */
  readonly id: string
  readonly session: Session
  readonly options: AgentOptions
  readonly status: AgentStatus

  /**
   * Accepts input that opens a turn: now when idle, else after the turns before it. Returns its inputId. `source` is
   * `{kind: 'user'}` by default, a person.
   */
  send(content: string | readonly ContentBlock[], source?: MessageSource): string
  /** Accepts input that joins the next step of the running turn; an idle agent is woken by it as by `send`. */
  steer(content: string | readonly ContentBlock[], source?: MessageSource): string
  /** Accepts input that joins the next step whenever there is one; never wakes. */
  inject(content: string | readonly ContentBlock[], source?: MessageSource): string
  /** Takes back input that has not entered; false when it has, or was never here. */
  withdraw(inputId: string): boolean
  /** Goes on with input that waits: after a resume, or after a turn that ended before its input entered. Nothing without any. */
  wake(): void

  /**
   * Ends the running turn as `aborted {by: cause}`, or aborts the maintenance task. Input that had not entered stays; if the
   * turn's own was among it, the agent rests until it is woken again, otherwise the queue goes on. Nothing when idle.
   */
  cancel(cause: string): void
  /** Resolves once the agent is idle, the log flushed; an idle agent may hold input back that nothing woke it for. */
  whenIdle(): Promise<void>
  /**
   * Runs `task` while no turn can open; waking input that arrives meanwhile opens one afterwards. The signal aborts when the
   * agent is cancelled or let go. Settles as the task does.
   *
   * @throws Error at once, synchronously, unless the agent is idle.
   */
  runMaintenance<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/**
 * What gives agents their run: one turn, together with the turns that retry it, from `turn/start` to `turn/end`. There is
 * waking input when it is called. It rejects only when the log could not be brought to a `turn/end`.
 */
export type AgentDriver = (agent: Agent, signal: AbortSignal) => Promise<void>

/** The reason of every signal that `cancel` aborts; `by` is the cause it was given. */
export class Cancelled extends Error {
  override readonly name = 'AbortError'
  readonly by: string

  constructor(by: string) {
    super(`cancelled: ${by}`)
    this.by = by
  }
}

/** A message on its way to the surface. Accepted input has its `inputId` in the source; a plugin's own context has none. */
export type StepInput = SessionEventMap['user/message']

interface StepEvent {
  readonly agent: Agent
  readonly turn: number
  readonly step: number
  readonly signal: AbortSignal
}

/** Listeners may replace `messages` for those after them; what the last one answers counts. */
export interface PreStepEvent extends StepEvent {
  messages: readonly StepInput[]
}
/** Claimed input that is not among the `messages` that enter is withdrawn, and all of it by a rejection. */
export type PreStepResult = { readonly kind: 'enter'; readonly messages: readonly StepInput[] } | { readonly kind: 'reject' }

export interface RequestEvent extends StepEvent {
  config: CallConfig
  /** What the request is sent with beside its messages; the log may not have it yet. */
  readonly envelope: { readonly system: string | undefined; readonly tools: readonly ToolSchema[] }
}

/** `cause` is the thrown value itself; it is never logged. */
export interface RequestErrorEvent extends StepEvent {
  readonly failure: LlmFailure & { readonly cause?: unknown }
}
export type RequestErrorResult = { readonly kind: 'retry' } | undefined
