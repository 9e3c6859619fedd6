/**
 * The envelope: what a request is sent with beside its messages, and when the log needs to hear of it.
 *
 * Pure.
 */
import type { ModelInfo, ToolSchema } from '@deepseek-ai/dsh-llm'
import { endSeedSeq, latestHeader, type CallConfig, type Fold, type FoldReader, type SessionEventMap } from '@deepseek-ai/dsh-session'

export interface Envelope {
  readonly system: string | undefined
  readonly tools: readonly ToolSchema[]
}

type RequestHeader = SessionEventMap['request/header']
type RequestContext = SessionEventMap['request/context']

/** The header to log before this request; null when the last one says the same. */
export function headerChange(session: FoldReader, config: CallConfig, { system, tools }: Envelope): RequestHeader | null {
  const last = latestHeader(session)
  const header = { config, ...(system === undefined ? {} : { system }), ...(tools.length === 0 ? {} : { tools }) }
  if (last === null) return { ...header, reason: 'initial' }
  const { config: lastConfig, system: lastSystem, tools: lastTools } = last.data
  if (lastSystem === system && sameJson(lastConfig, config) && sameJson(lastTools ?? [], tools)) return null
  return { ...header, reason: last.seq < endSeedSeq(session) ? 'resume' : 'change' }
}

/** The last context that was declared, not learned from a refusal: a learned limit must not be taken for a change. */
export const declaredContextFold: Fold<{ context: RequestContext | null }> = {
  init: () => ({ context: null }),
  apply(state, event) {
    if (event.type === 'request/context' && event.data.learned !== true) state.context = event.data
    return state
  },
}

/** The context to log before this request; null when route and capacity are what they were. */
export function contextChange(session: FoldReader, { provider, model }: CallConfig, info: ModelInfo = {}): RequestContext | null {
  const { contextWindow, maxOutputTokens } = info
  const context: RequestContext = {
    provider,
    model,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  }
  return sameJson(session.read(declaredContextFold).context, context) ? null : context
}

/** Equality of plain data, whatever the order of its keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(key => Object.hasOwn(b, key) && sameJson(a[key as keyof typeof a], b[key as keyof typeof b]))
}

/** Tokens of the window kept for the answer, where answers count inside it. */
export function reserveTokens(contextWindow: number, maxTokens: number | undefined, outputInWindow: boolean): number {
  return outputInWindow && maxTokens !== undefined ? Math.min(maxTokens, Math.floor(contextWindow / 2)) : 0
}

/**
 * Whether a request is so much larger than the window that no error of the estimate explains it: 1.25 is well above what
 * calibrated estimates are off by.
 */
export function plainlyExceeds(requestTokens: number, contextWindow: number, reserve: number): boolean {
  return requestTokens >= 1.25 * (contextWindow - reserve)
}

/**
 * The output limit to send: what was configured, but no more than the window leaves. A window that is full already by the
 * estimate clamps nothing: an answer of no room helps nobody, and the provider may know better.
 */
export function clampOutput(maxTokens: number, contextWindow: number, requestTokens: number): number {
  const left = contextWindow - requestTokens
  return left > 0 ? Math.min(maxTokens, left) : maxTokens
}
