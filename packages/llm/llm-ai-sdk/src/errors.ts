/**
 * Errors: what the AI SDK throws or streams becomes one failure.
 *
 * Pure. Nothing of the thrown value travels on but words: it holds the whole request.
 */
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import { classifyFailure, LlmError, messageOf, type LlmFailure, type ProviderError } from '@deepseek-ai/dsh-llm'

const MESSAGE_CHARS_MAX = 1_000

export interface ErrorContext {
  /** Texts that no failure may show; none of them empty. */
  readonly secrets: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
}

export function llmErrorOfSdk(error: unknown, context: ErrorContext): LlmError {
  if (error instanceof LlmError) return error
  const failure = failureOfSdk(error, context.now)
  return new LlmError({ ...failure, message: clip(redact(failure.message, context.secrets)) })
}

function failureOfSdk(error: unknown, now: number): LlmFailure {
  if (InvalidResponseDataError.isInstance(error)) return { code: 'TRANSPORT', message: `the answer broke off: ${error.message}` }
  const failure = classifyFailure(providerErrorOf(error, now))
  if (failure.code !== 'UNKNOWN') return failure
  if (JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)) return { ...failure, message: `the provider sent what is no answer: ${failure.message}` }
  return failure
}

function providerErrorOf(error: unknown, now: number): ProviderError {
  if (APICallError.isInstance(error)) {
    const { responseBody, data, responseHeaders, message, cause } = error
    // An error at the beginning of a stream came with a 200; the package makes up a status for it.
    const statusCode = responseHeaders?.['content-type']?.startsWith('text/event-stream') ? undefined : error.statusCode
    const retryAfterMs = retryAfter(responseHeaders ?? {}, responseBody ?? '', now)
    return {
      ...(statusCode === undefined || statusCode < 400 ? {} : { status: statusCode }),
      ...(responseBody || data ? { body: responseBody || data } : statusCode === undefined || statusCode < 400 ? { message } : {}),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(cause === undefined ? {} : { cause }),
    }
  }
  // A frame that fits no schema is often an error in a shape of the server's own.
  if (TypeValidationError.isInstance(error)) return { body: error.value }
  if (JSONParseError.isInstance(error)) return { body: error.text }
  if (error instanceof Error || typeof error !== 'object' || error === null) return { message: messageOf(error), cause: error }
  const { statusCode } = error as { statusCode?: unknown }
  return { body: error, ...(typeof statusCode === 'number' ? { status: statusCode } : {}) }
}

/** From the headers, as milliseconds, seconds or a date, else from the delay that Google puts into its answer. */
function retryAfter(headers: { readonly [name: string]: string }, body: string, now: number): number | undefined {
  const { 'retry-after-ms': ms, 'retry-after': value } = headers
  const candidates = [
    ms === undefined ? NaN : Number(ms),
    value === undefined ? NaN : Number(value) * 1_000,
    value === undefined ? NaN : Date.parse(value) - now,
    Number(/"retryDelay":\s*"([\d.]+)s"/.exec(body)?.[1] ?? NaN) * 1_000,
  ]
  const found = candidates.find(Number.isFinite)
  return found === undefined ? undefined : Math.max(0, Math.ceil(found))
}

function redact(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

function clip(text: string): string {
  return text.length <= MESSAGE_CHARS_MAX ? text : `${text.slice(0, MESSAGE_CHARS_MAX)}…`
}
