/**
 * Scripts: what a server answers, said as a function of what it was asked.
 *
 * An answer is plain JSON, so that another process can give it.
 */
import { summaryDirective } from '../../packages/compaction/compaction-basic/src/directive.ts'
import type { ProviderRequest } from './prompt.ts'

/** One thing after the other, as it happens on the wire. */
export type Act =
  | { readonly text: string }
  | { readonly reasoning: string }
  /** Arguments that are a string are sent as they are, JSON or not. */
  | { readonly call: { readonly id?: string; readonly name: string; readonly arguments: unknown } }
  /** Goes on when somebody releases this gate, or never. As the first act, not even headers are sent before. */
  | { readonly wait: string }
  /** The end, in a word of the provider's own. */
  | { readonly finish: string }
  /** The end: an error in the stream. */
  | { readonly error: unknown }
  /** The end: the connection is cut. */
  | { readonly cut: true }

/** An answer that is none. A string is sent as it is. */
export interface Refusal {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
  readonly body: unknown
}

export type Answer = string | readonly Act[] | Refusal
export type Script = (request: ProviderRequest) => Answer | Promise<Answer>

export function isRefusal(answer: Answer): answer is Refusal {
  return typeof answer === 'object' && 'status' in answer
}

/** An error in the form that clients of a dialect know. */
export function errorBody(dialect: ProviderRequest['dialect'], message: string, code?: string | number): unknown {
  return dialect === 'openai'
    ? { error: { message, type: code ?? 'invalid_request_error', param: null, code: code ?? null } }
    : { type: 'error', error: { type: String(code ?? 'invalid_request_error'), message } }
}

export function refusal(dialect: ProviderRequest['dialect'], status: number, message: string, code?: string | number): Refusal {
  return { status, body: errorBody(dialect, message, code) }
}

/** "Not now", with the time to wait. */
export function rateLimit(dialect: ProviderRequest['dialect'], retryAfterSeconds: number): Refusal {
  return { ...refusal(dialect, 429, 'Rate limit reached, please wait before trying again.', 'rate_limit_error'), headers: { 'retry-after': String(retryAfterSeconds) } }
}

const [SUMMARY_WORDS] = summaryDirective(0).split('\n', 1) as [string]

/** Whether a summary is asked for: a header says so, or the words do, where a client sends no such header. */
export function asksForSummary({ headers, messages }: ProviderRequest): boolean {
  return headers['x-deepseek-harness-compact'] === '1' || messages.at(-1)!.text.includes(SUMMARY_WORDS)
}
