import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OpenAiMessage } from '../src/openai-shape.ts'
import { pairingFaults } from '../src/request-check.ts'

/** `u`, `a`, `a:1,2` an assistant message that calls 1 and 2, `r:1` a result for 1. */
function talk(picture: string): OpenAiMessage[] {
  return picture.split(' ').map(word => {
    const [kind, ids = ''] = word.split(':')
    if (kind === 'r') return { role: 'tool', content: 'found', tool_call_id: ids }
    if (kind === 'u') return { role: 'user', content: 'hello' }
    const calls = ids === '' ? [] : ids.split(',').map(id => ({ id, type: 'function' as const, function: { name: 'look', arguments: '{}' } }))
    return { role: 'assistant', content: 'well', ...(calls.length === 0 ? {} : { tool_calls: calls }) }
  })
}

describe('pairing in a request', () => {
  it.each([
    ['calls answered in order', 'u a:1,2 r:1 r:2 u', 0, 0],
    ['calls answered in another order', 'u a:1,2 r:2 r:1', 0, 0],
    ['an id used again later', 'u a:1 r:1 a:1 r:1', 0, 0],
    ['an id used twice in one message', 'u a:1,1 r:1 r:1', 0, 0],
    ['a second answer to one call', 'u a:1 r:1 r:1', 1, 0],
    ['a result after somebody spoke', 'u a:1 u r:1', 1, 1],
    ['a result of an earlier message only', 'u a:1 r:1 a r:1', 1, 0],
    ['a call open at the end', 'u a:1,2 r:2', 0, 1],
    ['a result without any call', 'r:1 u', 1, 0],
  ])('%s: %s', (_title, picture, orphanResults, unansweredCalls) => {
    expect(pairingFaults(talk(picture))).toEqual({ orphanResults, unansweredCalls })
  })

  /** Steps with up to three calls of few ids, so that ids repeat. */
  const steps = fc.array(fc.array(fc.constantFrom('1', '2'), { maxLength: 3 }), { minLength: 1, maxLength: 6 })
  const whole = (calls: string[][]): OpenAiMessage[] =>
    calls.flatMap(ids => (ids.length === 0 ? talk('u a') : talk(`a:${ids.join(',')} ${ids.map(id => `r:${id}`).join(' ')}`)))

  it('has no fault in whole steps, one open call for each result that is taken away, orphans for a message that is', () => {
    fc.assert(fc.property(steps, fc.nat(), (calls, pick) => {
      const messages = whole(calls)
      expect(pairingFaults(messages)).toEqual({ orphanResults: 0, unansweredCalls: 0 })
      const at = pick % messages.length
      const without = messages.filter((_, index) => index !== at)
      const { role, tool_calls = [] } = messages[at]!
      const { orphanResults, unansweredCalls } = pairingFaults(without)
      if (role === 'tool') expect({ orphanResults, unansweredCalls }).toEqual({ orphanResults: 0, unansweredCalls: 1 })
      else expect({ orphanResults, unansweredCalls }).toEqual({ orphanResults: tool_calls.length, unansweredCalls: 0 })
    }), { seed: 1, numRuns: 2_000 })
  })
})
