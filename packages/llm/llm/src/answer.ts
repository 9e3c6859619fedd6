/**
 * What a provider said: the texts, codes and numbers of an error answer, however deep they are wrapped.
 *
 * Pure. Errors arrive as parsed JSON, as JSON text, as JSON text inside JSON text, as frames of an event stream, behind
 * class names and status numbers, or as an exception with causes. Only fields that carry errors are entered: an answer's
 * own content and an echoed request are never read, so that a conversation about context windows is no overflow.
 */

export interface ProviderError {
  /** HTTP status. */
  readonly status?: number
  /** The answer: parsed JSON, JSON text, frames of an event stream or plain text. */
  readonly body?: unknown
  readonly message?: string
  readonly code?: string
  readonly retryAfterMs?: number
  /** What was thrown, if anything; its message, code and causes are read. */
  readonly cause?: unknown
}

export interface Answer {
  /** Everything said in words, outermost first, as it came. */
  readonly texts: readonly string[]
  /** Codes, types, reasons and the names of error classes. */
  readonly codes: readonly string[]
  /** The status sent, else the first that stands in the answer. */
  readonly status?: number
  /** Neither words nor code nor body came, only a status. */
  readonly empty: boolean
  /** Sizes that have a field of their own. */
  readonly counts: { readonly n_ctx?: number; readonly n_prompt_tokens?: number }
}

const ENTERED = [
  'message', 'msg', 'status_msg', 'error_msg', 'error_message', 'errorMessage', 'detail', 'details', 'title', 'raw',
  'error', 'errors', 'lastError', 'external_model_error', 'metadata', 'base_resp', 'body', 'responseBody', 'incomplete_details', 'innererror', 'cause',
]
/** Entered only where they are no text: their text is the answer itself. */
const ENTERED_AS_OBJECTS = ['response', 'data', 'delta', 'choices']
const CODES = [
  'code', 'type', 'status', 'name', '__type', 'reason', 'error_code', 'errorCode', 'status_code', 'statusCode',
  'finish_reason', 'stop_reason',
]
const DEPTH_MAX = 16
/** Longer texts are pages or echoes; what is wrong stands at their beginning. */
const TEXT_CHARS_MAX = 20_000
const HEAD_CHARS_MAX = 300
const TEXTS_MAX = 100

/** `400 `, `BadRequestError: `, `litellm.BadRequestError: OpenAIException - `: names and statuses in front of a text. */
const PREFIX = /^(?:(?:[\w.]*(?:Error|Exception)|[45]\d\d)(?:\s*[:-]\s*|\s+))+/
/** A status is read only where one is announced or a text begins with it: the 500 of "500 tokens" is none. */
const STATUS = /^(?:[\w.]*(?:Error|Exception)(?:\s*[:-]\s*|\s+))*(?:(?:error )?(?:status )?code:? |status:? |HTTP(?:\/[\d.]+)? )?([45]\d\d)(?=$|:| (?!(?:[\w-]+ )?(?:tokens?|bytes?|characters?|ms|[kmg]b)\b))/i

export function answerOf(error: ProviderError): Answer {
  const texts: string[] = []
  const codes: string[] = []
  const statuses: number[] = []
  const counts: { n_ctx?: number; n_prompt_tokens?: number } = {}
  const seen = new Set<unknown>()

  const hearCode = (value: unknown) => {
    if (typeof value !== 'string' && typeof value !== 'number') return
    if (/^[45]\d\d$/.test(String(value))) statuses.push(Number(value))
    else codes.push(String(value))
  }
  const hear = (text: string, depth: number) => {
    const json = text.indexOf('{') < 0 ? undefined : parsed(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
    const said = json === undefined ? text : text.slice(0, text.indexOf('{'))
    const head = said.trimStart().slice(0, HEAD_CHARS_MAX)
    codes.push(...(PREFIX.exec(head)?.[0].match(/\w*(?:Error|Exception)/g) ?? []))
    const status = STATUS.exec(head)?.[1]
    if (status !== undefined) statuses.push(Number(status))
    if (json === undefined || said.trimStart().replace(PREFIX, '').trim() !== '') texts.push(said.slice(0, TEXT_CHARS_MAX))
    if (json !== undefined) enter(json, depth + 1)
  }
  const enter = (value: unknown, depth: number): void => {
    if (depth > DEPTH_MAX || texts.length >= TEXTS_MAX) return
    if (typeof value === 'string') {
      if (value.trim() === '') return
      const whole = parsed(value)
      if (whole !== undefined) return enter(whole, depth + 1)
      const frames = framesOf(value)
      if (frames.length === 0) return hear(value, depth)
      for (const frame of frames) enter(frame, depth + 1)
      return
    }
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    if (Array.isArray(value)) {
      for (const item of value) enter(item, depth + 1)
      return
    }
    const fields = value as { readonly [key: string]: unknown }
    for (const key of CODES) hearCode(fields[key])
    if (typeof fields['n_ctx'] === 'number') counts.n_ctx ??= fields['n_ctx']
    if (typeof fields['n_prompt_tokens'] === 'number') counts.n_prompt_tokens ??= fields['n_prompt_tokens']
    for (const key of ENTERED) enter(fields[key], depth + 1)
    for (const key of ENTERED_AS_OBJECTS) if (typeof fields[key] === 'object') enter(fields[key], depth + 1)
  }

  hearCode(error.code)
  enter(error.message, 0)
  enter(error.body, 0)
  enter(error.cause, 0)
  const status = error.status !== undefined && error.status >= 400 ? error.status : (statuses[0] ?? error.status)
  const empty = [error.message, error.code, error.body, error.cause].every(saysNothing)
  return { texts, codes, empty, counts, ...(status === undefined ? {} : { status }) }
}

function saysNothing(value: unknown): boolean {
  if (typeof value === 'string') return /^\s*(?:\{\s*\})?\s*$/.test(value)
  return value === undefined || value === null || (typeof value === 'object' && !(value instanceof Error) && Object.keys(value).length === 0)
}

/** The data of every frame, when the text is an event stream. */
function framesOf(text: string): string[] {
  if (!/^\s*(?:event|data|id|retry)?:/.test(text)) return []
  return text.split(/\r?\n\r?\n/).flatMap(frame => {
    const data = frame.split(/\r?\n/).flatMap(line => /^\s*data: ?(.*)$/.exec(line)?.[1] ?? [])
    return data.length === 0 || data[0] === '[DONE]' ? [] : [data.join('\n')]
  })
}

/** JSON objects, lists and strings; anything else, numbers too, stays text. */
function parsed(text: string): unknown {
  if (!/^\s*[{["]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
