import { expect, it } from 'vitest'
import { failureOf, LlmError, messageOf } from '../src/index.ts'

it.each([
  ['an error', new Error('broken'), 'broken'],
  ['a string', 'broken', 'broken'],
  ['a number', 404, '404'],
  ['nothing', undefined, 'undefined'],
  ['an object without a text', Object.create(null), 'a value that has no text was thrown'],
])('takes the message of %s', (_name, thrown, message) => {
  expect(messageOf(thrown)).toBe(message)
})

it.each([
  ['keeps what an adapter said', new LlmError({ code: 'RATE_LIMIT', message: 'slow down', retryAfterMs: 20 }), { code: 'RATE_LIMIT', message: 'slow down', retryAfterMs: 20 }],
  ['knows an abort', new DOMException('stopped', 'AbortError'), { code: 'ABORTED', message: 'stopped' }],
  ['knows a timeout', new DOMException('too slow', 'TimeoutError'), { code: 'TIMEOUT', message: 'too slow' }],
  ['names anything else', new TypeError('odd'), { code: 'UNKNOWN', message: 'odd' }],
])('%s', (_name, thrown, failure) => {
  expect(failureOf(thrown)).toMatchObject(failure)
})
