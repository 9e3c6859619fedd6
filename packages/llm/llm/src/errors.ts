/**
 * Failures: every way a model request can go wrong becomes one value.
 *
 * Pure.
 */

export type LlmFailureCode =
  | 'CONTEXT_WINDOW_EXCEEDED'
  /** Too many bytes, whatever the tokens. */
  | 'REQUEST_TOO_LARGE'
  | 'RATE_LIMIT'
  | 'QUOTA'
  | 'AUTH'
  | 'INVALID_REQUEST'
  | 'OUTPUT_LIMIT'
  | 'SERVER'
  | 'TIMEOUT'
  | 'TRANSPORT'
  | 'EMPTY_RESPONSE'
  | 'CONTENT_FILTER'
  | 'ABORTED'
  | 'NO_ADAPTER'
  | 'UNKNOWN'

/** Plain JSON, so that it can be logged. */
export interface LlmFailure {
  readonly code: LlmFailureCode
  readonly message: string
  /** HTTP status. */
  readonly status?: number
  readonly retryAfterMs?: number
  /** Tokens the provider said it accepts. */
  readonly limitTokens?: number
  /** Tokens the provider said were asked for. */
  readonly requestedTokens?: number
}

/** How the message of a failure begins that was found before anything was sent, so that no model ever saw the request. */
export const NOT_SENT = 'not sent: '

/** A failure on its way as an exception; `cause` is the value that was thrown, never logged. */
export class LlmError extends Error {
  override readonly name = 'LlmError'
  readonly failure: LlmFailure

  constructor(failure: LlmFailure, options?: { cause?: unknown }) {
    super(failure.message, options)
    this.failure = failure
  }
}

/** The text of anything thrown, also of what has none. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  try {
    return String(error)
  } catch {
    return 'a value that has no text was thrown'
  }
}

/**
 * One failure for anything a request can throw. An {@link LlmError} keeps its own; an abort becomes `ABORTED`, an elapsed
 * `AbortSignal.timeout` `TIMEOUT`; the rest is `UNKNOWN` with the message of what was thrown. Adapters that know more throw
 * an `LlmError` themselves.
 */
export function failureOf(error: unknown): LlmFailure {
  if (error instanceof LlmError) return error.failure
  const name = error instanceof Error ? error.name : ''
  const code = name === 'AbortError' ? 'ABORTED' : name === 'TimeoutError' ? 'TIMEOUT' : 'UNKNOWN'
  return { code, message: messageOf(error) }
}

/** The same as something to throw: an {@link LlmError} is kept as it is, anything else becomes the cause of one. */
export function llmErrorOf(error: unknown): LlmError {
  return error instanceof LlmError ? error : new LlmError(failureOf(error), { cause: error })
}
