import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ProviderError } from '../src/answer.ts'
import { classifyFailure } from '../src/failures.ts'
import { isSilentOverflow } from '../src/overflow.ts'
import { NEGATIVES, POSITIVES, type Wording } from './wordings.ts'

const PAGE = join(import.meta.dirname, '../../../../../shared/cases/overflow-errors.md')

/** The same answer in everything it may come in. */
const WRAPPINGS: Readonly<Record<string, (wording: Wording) => ProviderError>> = {
  'plain text': ({ status, code, text }) => ({ ...statusOf(status), ...codeOf(code), body: text }),
  'parsed JSON': ({ status, code, text }) => ({ ...statusOf(status), body: bodyOf(code, text) }),
  'JSON text': ({ status, code, text }) => ({ ...statusOf(status), message: 'the request failed', body: JSON.stringify(bodyOf(code, text)) }),
  'error as a string': ({ status, code, text }) => ({ ...statusOf(status), body: { error: text, ...codeOf(code) } }),
  'JSON text in metadata.raw': ({ status, code, text }) => ({
    ...statusOf(status),
    body: { error: { message: 'Provider returned error', metadata: { raw: JSON.stringify(bodyOf(code, text)) } } },
  }),
  'JSON text in JSON text in JSON text': ({ status, code, text }) => ({
    ...statusOf(status),
    body: JSON.stringify(JSON.stringify({ message: JSON.stringify({ external_model_error: JSON.stringify(bodyOf(code, text)) }) })),
  }),
  'error frame of a stream': ({ status, code, text }) => ({ status: 200, body: frame({ type: 'error', ...statusField(status), ...bodyOf(code, text) }) }),
  'failed response of a stream': ({ status, code, text }) => ({
    status: 200,
    body: `${frame({ type: 'response.output_text.delta', delta: 'Hello' })}${frame({ type: 'response.failed', ...statusField(status), response: bodyOf(code, text) })}`,
  }),
  'class name in front': ({ status, code, text }) => ({ ...statusOf(status), ...codeOf(code), message: `some.BadRequestError: OtherException - ${text}` }),
  'class name, status and JSON': ({ status, code, text }) => ({
    message: `BadRequestError: ${status === undefined || status < 400 ? '' : `${status} `}${JSON.stringify(bodyOf(code, text))}`,
  }),
  'cause of a cause': ({ status, code, text }) => ({
    ...statusOf(status),
    message: 'the request failed',
    cause: new Error('the stream broke', { cause: Object.assign(new Error(text), codeOf(code)) }),
  }),
  'retry wrapper': ({ status, code, text }) => {
    const call = Object.assign(new Error('the call failed'), { name: 'AI_APICallError', ...statusField(status), responseBody: JSON.stringify(bodyOf(code, text)), requestBodyValues: { prompt: 'tell me of the context window' } })
    return { cause: Object.assign(new Error('Failed after 3 attempts. Last error: the call failed'), { name: 'AI_RetryError', reason: 'maxRetriesExceeded', errors: [call, call], lastError: call }) }
  },
  'numbers with commas': ({ status, code, text }) => ({ ...statusOf(status), body: bodyOf(code, grouped(text, ',')) }),
  'numbers with thin spaces': ({ status, code, text }) => ({ ...statusOf(status), body: bodyOf(code, grouped(text, '\u202f')) }),
}

function frame(data: unknown): string {
  return `event: error\ndata: ${JSON.stringify(data)}\n\n`
}

function bodyOf(code: Wording['code'], text: string): { error: object } {
  return { error: { message: text, param: 'messages', ...codeOf(code) } }
}

function statusOf(status: number | undefined): { status?: number } {
  return status === undefined ? {} : { status }
}

/** In a stream the status stands in the frame, if anywhere. */
function statusField(status: number | undefined): { status_code?: number } {
  return status === undefined || status < 400 ? {} : { status_code: status }
}

function codeOf(code: Wording['code']): { code?: string } {
  return code === undefined ? {} : { code: code as string }
}

function grouped(text: string, separator: string): string {
  return text.replace(/\d{4,}/g, digits => digits.replace(/\B(?=(\d{3})+$)/g, separator))
}

function sizesIn(value: object): object {
  const { limitTokens, requestedTokens } = value as Partial<Wording>
  return { limitTokens, requestedTokens }
}

/** Window 10 000. */
const SILENT = [
  ['S-1', 'more prompt than window', { inputTokens: 10_400, outputTokens: 20 }, 'stop', undefined],
  ['S-1', 'more prompt than window, most of it cached', { inputTokens: 400, cacheReadTokens: 9_000, cacheWriteTokens: 1_000, outputTokens: 20 }, 'stop', 9_800],
  ['S-2', 'nothing said at a full window', { inputTokens: 900, cacheReadTokens: 9_000, outputTokens: 0 }, 'max-tokens', undefined],
  ['S-3', 'half the window counted of more than a window sent', { inputTokens: 5_100, outputTokens: 40 }, 'stop', 10_500],
  ['S-4', 'the answer ended where the window did', { inputTokens: 9_000, outputTokens: 1_000 }, 'max-tokens', 9_100],
  ['S-5', 'a sum of cache reads that nothing tells from an overflow', { inputTokens: 100, cacheReadTokens: 30_000, outputTokens: 20 }, 'stop', undefined],
] as const

const FITTING = [
  ['S-5', 'a sum of cache reads', { inputTokens: 100, cacheReadTokens: 30_000, outputTokens: 20 }, 'stop', 4_000],
  ['S-1', 'a window filled exactly', { inputTokens: 10_000, outputTokens: 20 }, 'stop', undefined],
  ['S-2', 'a long prompt answered', { inputTokens: 9_950, outputTokens: 20 }, 'stop', undefined],
  ['S-3', 'an estimate a little too large', { inputTokens: 9_000, outputTokens: 20 }, 'stop', 10_500],
  ['S-3', 'a prompt that was not counted', { inputTokens: 0, outputTokens: 20 }, 'stop', 10_500],
  ['S-4', 'an answer ended by its own limit', { inputTokens: 5_000, outputTokens: 1_000 }, 'max-tokens', 5_000],
] as const

describe('D13 what a provider says', () => {
  describe.each(Object.entries(WRAPPINGS))('as %s', (_name, wrap) => {
    it.each([...POSITIVES, ...NEGATIVES].map(wording => [wording.id, wording.failure, wording.text.slice(0, 60), wording] as const))(
      '%s is %s: %s',
      (_id, failure, _text, wording) => {
        const found = classifyFailure(wrap(wording))
        expect(found.code).toBe(failure)
        expect(sizesIn(found)).toEqual(sizesIn(wording))
      },
    )
  })

  it.each(SILENT)('%s silent: %s', (_id, _title, usage, finish, estimateTokens) => {
    expect(isSilentOverflow({ usage, finish, contextWindow: 10_000, ...(estimateTokens === undefined ? {} : { estimateTokens }) })).toBe(true)
  })

  it.each(FITTING)('%s not: %s', (_id, _title, usage, finish, estimateTokens) => {
    expect(isSilentOverflow({ usage, finish, contextWindow: 10_000, ...(estimateTokens === undefined ? {} : { estimateTokens }) })).toBe(false)
  })

  it.skipIf(!existsSync(PAGE))('has every id of the page (skipped where the page is absent)', () => {
    const wanted = [...readFileSync(PAGE, 'utf8').matchAll(/^\| ([ESN]-[A-Z0-9-]+) \|/gm)].map(match => match[1]!)
    const here = new Set([...POSITIVES, ...NEGATIVES].map(({ id }) => id).concat([...SILENT, ...FITTING].map(([id]) => id)))
    expect(wanted.length).toBeGreaterThan(80)
    expect(wanted.filter(id => !here.has(id))).toEqual([])
  })

  it('says how much it tried', () => {
    const ids = (rows: readonly { id: string }[]) => new Set(rows.map(({ id }) => id)).size
    console.log(
      `D13: ${POSITIVES.length} positives (${ids(POSITIVES)} ids), ${SILENT.length} silent, ${NEGATIVES.length} negatives (${ids(NEGATIVES)} ids), each error in ${Object.keys(WRAPPINGS).length} wrappings`,
    )
    expect(POSITIVES.length + NEGATIVES.length).toBeGreaterThan(100)
  })
})

describe('reading an answer', () => {
  it.each([400, 413])('takes an empty %i for an overflow', status => {
    expect(classifyFailure({ status, body: '' })).toEqual({ code: 'CONTEXT_WINDOW_EXCEEDED', message: 'the provider said nothing', status })
    expect(classifyFailure({ status, body: {} }).code).toBe('CONTEXT_WINDOW_EXCEEDED')
  })

  it('knows nothing of a text that mentions a window and came without a status', () => {
    expect(classifyFailure({ message: 'notes.md:12: here the context window is too small' }).code).toBe('UNKNOWN')
  })

  it.each([404, 422])('takes an empty %i for a refusal', status => {
    expect(classifyFailure({ status }).code).toBe('INVALID_REQUEST')
  })

  it('reads sizes from fields of their own', () => {
    const error = { code: 400, type: 'exceed_context_size_error', message: 'too large', n_prompt_tokens: 9_900, n_ctx: 8_100 }
    expect(classifyFailure({ status: 400, body: { error } })).toMatchObject({ limitTokens: 8_100, requestedTokens: 9_900 })
  })

  it('reads an overflow in the base response of an answer without choices', () => {
    const body = { choices: null, base_resp: { status_code: 1039, status_msg: 'token limit' } }
    expect(classifyFailure({ status: 200, body }).code).toBe('CONTEXT_WINDOW_EXCEEDED')
  })

  it.each([
    [{ choices: [{ finish_reason: 'model_context_window_exceeded' }] }],
    [{ type: 'message_delta', delta: { stop_reason: 'model_context_window_exceeded' } }],
  ])('finds the reason an answer ended in %j', body => {
    expect(classifyFailure({ status: 200, body }).code).toBe('CONTEXT_WINDOW_EXCEEDED')
  })

  const quoted = 'prompt is too long: 204500 tokens > 199000 maximum'
  it.each([
    [{ choices: [{ message: { role: 'assistant', content: quoted }, delta: { content: quoted } }] }],
    [{ type: 'content_block_delta', delta: { type: 'text_delta', text: quoted } }],
    [{ type: 'response.output_text.delta', delta: quoted }],
    [{ response: quoted, done: false }],
    [{ error: { message: 'bad field' }, messages: [{ role: 'user', content: quoted }], input: quoted }],
  ])('never reads what was answered or asked: %j', body => {
    for (const form of [body, JSON.stringify(body), frame(body)]) {
      expect(classifyFailure({ status: 400, body: form }).code).not.toBe('CONTEXT_WINDOW_EXCEEDED')
    }
  })

  it.each([
    ['500 tokens were left of the prompt', undefined],
    ['4500 tokens were left of the prompt', undefined],
    ['the limit is 503 tokens', undefined],
    ['503 prompt is too long', 503],
    ['Error code: 400 - prompt is too long', 400],
    ['HTTP 429: prompt is too long', 429],
  ])('reads the status in %j as %s', (message, status) => {
    expect(classifyFailure({ message }).status).toBe(status)
  })

  it('keeps the words that decided, the status and the wait', () => {
    const body = { error: { message: 'Provider returned error', metadata: { raw: JSON.stringify({ message: quoted }) } } }
    expect(classifyFailure({ status: 400, body, retryAfterMs: 5 })).toEqual({
      code: 'CONTEXT_WINDOW_EXCEEDED', message: quoted, status: 400, retryAfterMs: 5, limitTokens: 199_000, requestedTokens: 204_500,
    })
  })

  it('ends on a cause that is its own cause and on nesting without end', () => {
    const error = new Error('broken')
    error.cause = error
    let body: unknown = quoted
    for (let depth = 0; depth < 1_000; depth++) body = { error: body }
    expect(classifyFailure({ cause: error }).code).toBe('UNKNOWN')
    expect(classifyFailure({ body }).code).toBe('UNKNOWN')
  })
})
