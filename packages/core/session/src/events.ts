/**
 * Events: the durable facts of a session, and which of them the model sees.
 *
 *     log      0 turn/start · 1 user/message · 2 step/start · 3 request/header · 4 assistant/message · …
 *     surface               [ 1,                                               4, … ]
 *
 * `seq` is an event's zero-based index in the log and its identity; a *position* is an entry's place on the surface. After
 * a replace the two no longer agree, so no variable ever holds now one and now the other.
 */
import type { ContentBlock, FinishReason, LlmFailure, TokenUsage, ToolSchema } from '@deepseek-ai/dsh-llm'

export type Seq = number
export type Position = number

/** Who or what a `user/message` comes from; `inputId` names the inbox entry that it brings to the surface. */
export interface MessageSource {
  readonly kind: string
  readonly inputId?: string
  readonly [key: string]: unknown
}

/** The source of what a person typed; every other kind is context that a program added. */
export const PERSON_SOURCE: MessageSource = Object.freeze({ kind: 'user' })

export function isPersonSource(source: MessageSource): boolean {
  return source.kind === PERSON_SOURCE.kind
}

/** How accepted input waits: opens a turn, joins the next step, or waits for somebody else to wake the agent. */
export type InputKind = 'send' | 'steer' | 'inject'

export interface InboxItem {
  readonly inputId: string
  readonly kind: InputKind
  readonly content: readonly ContentBlock[]
  readonly source: MessageSource
}

export type TurnEndReason =
  | { readonly reason: 'completed' | 'blocked' | 'max-tokens' | 'interrupted' }
  | { readonly reason: 'aborted'; readonly by: string }
  | { readonly reason: 'error'; readonly failure: LlmFailure }

/** What a request is sent with, beside its messages, system prompt and tools. */
export interface CallConfig {
  readonly provider: string
  readonly model: string
  readonly maxTokens?: number
  readonly reasoningEffort?: string
  readonly temperature?: number
}

/** The event vocabulary; packages add theirs by declaration merging. All data is plain JSON. */
export interface SessionEventMap {
  /** Written after inherited events (resume, fork, adoption): everything before it belongs to an earlier lifecycle. */
  'session/end-seed': Record<string, never>
  'turn/start': { readonly turn: number; readonly retry?: true }
  'turn/end': { readonly turn: number } & TurnEndReason
  'step/start': { readonly turn: number; readonly step: number }
  'step/end': { readonly turn: number; readonly step: number }
  'user/message': { readonly content: readonly ContentBlock[]; readonly source: MessageSource }
  'assistant/message': {
    readonly turn: number
    readonly step: number
    readonly content: readonly ContentBlock[]
    readonly provider: string
    readonly model: string
    readonly finish: FinishReason
    readonly usage?: TokenUsage
    readonly interrupted?: true
  }
  /** Execution begins; written before the tool runs. */
  'tool/call': { readonly turn: number; readonly step: number; readonly callId: string }
  'tool/result': {
    readonly turn: number
    readonly step: number
    readonly callId: string
    readonly content: readonly ContentBlock[]
    readonly isError?: true
    readonly error?: { readonly name: string; readonly code: string }
    readonly meta?: { readonly [key: string]: unknown }
  }
  /** Only when it differs from the last one. */
  'request/header': {
    readonly config: CallConfig
    readonly system?: string
    readonly tools?: readonly ToolSchema[]
    readonly reason: 'initial' | 'resume' | 'change'
  }
  /** When the route or its capacity changed; `learned` when a provider's refusal named the limit. Tokens. */
  'request/context': {
    readonly provider: string
    readonly model: string
    readonly contextWindow?: number
    readonly maxOutputTokens?: number
    readonly learned?: true
  }
  'inbox/spliced': { readonly inserted?: readonly InboxItem[]; readonly removed?: readonly string[] }
  'command/run': { readonly commandId: string; readonly name: string; readonly args: string }
  'command/done': { readonly commandId: string; readonly text?: string; readonly error?: string }
}

export type SessionEventType = keyof SessionEventMap

/** The closed set of events a model sees; these carry a `surfaceOp`, no other type may. */
export type SurfaceEventType = 'user/message' | 'assistant/message' | 'tool/result'

/** A replace names *seqs* of current entries; `start` is not behind `end` by position, though it may be the larger number. */
export interface ReplaceOp {
  readonly op: 'replace'
  readonly start: Seq
  readonly end: Seq
}
export type SurfaceOp = 'append' | ReplaceOp

interface EventBase<T extends SessionEventType> {
  readonly seq: Seq
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly type: T
  readonly data: SessionEventMap[T]
}

export type SessionEvent<T extends SessionEventType = SessionEventType> = {
  [K in T]: K extends SurfaceEventType
    ? EventBase<K> & { readonly surfaceOp: SurfaceOp; readonly sourceEventSeqs?: readonly Seq[] }
    : EventBase<K> & { readonly surfaceOp?: never; readonly sourceEventSeqs?: never }
}[T]

export type SurfaceEvent = SessionEvent<SurfaceEventType>

/** The third argument of `append`: required for what the model sees, forbidden for the rest. */
export interface SurfacePlacement {
  readonly surfaceOp: SurfaceOp
  /** For a replace: every shadowed seq at least, unique, each smaller than the event's own. */
  readonly sourceEventSeqs?: readonly Seq[]
}
export type AppendArguments<T extends SessionEventType> = T extends SurfaceEventType
  ? [data: SessionEventMap[T], surface: SurfacePlacement]
  : [data: SessionEventMap[T]]

export function isSurfaceType(type: string): type is SurfaceEventType {
  return type === 'user/message' || type === 'assistant/message' || type === 'tool/result'
}

export function isSurfaceEvent(event: SessionEvent): event is SurfaceEvent {
  return isSurfaceType(event.type)
}
