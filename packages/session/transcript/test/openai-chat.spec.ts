import fc from 'fast-check'
import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

const call = (id: string, name: string, given: string) => ({ id, type: 'function', function: { name, arguments: given } })
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
const read = (document: unknown) => importTranscript(JSON.stringify(document))

it('reads an array of messages', () => {
  const transcript = read([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'List the files.' },
    { role: 'assistant', content: null, tool_calls: [call('c1', 'ls', '{"path":"."}')] },
    result('c1', 'a.ts'),
    { role: 'assistant', content: 'One file.' },
  ])
  expect(transcript).toMatchObject({ format: 'openai-chat', system: 'Be brief.', model: null, skipped: [] })
  expect(sketch(transcript)).toEqual(['person: List the files.', 'answer:  | c1 ls({"path":"."}) → a.ts', 'answer: One file.'])
})

it('reads an object with messages, system, tools and model', () => {
  const parameters = { type: 'object', properties: { path: { type: 'string' } } }
  const transcript = read({
    model: 'some-model',
    system: 'Be brief.',
    tools: [{ type: 'function', function: { name: 'ls', description: 'List.', parameters } }],
    messages: [{ role: 'user', content: 'hi' }],
  })
  expect(transcript).toMatchObject({ model: 'some-model', system: 'Be brief.', tools: [{ name: 'ls', description: 'List.', parameters }] })
})

it('puts results in the order of their calls', () => {
  const transcript = read([
    { role: 'user', content: 'both' },
    { role: 'assistant', content: 'Reading.', tool_calls: [call('a', 'read', '{}'), call('b', 'read', '{}')] },
    result('b', 'second'),
    result('a', 'first'),
  ])
  expect(sketch(transcript)[1]).toBe('answer: Reading. | a read({}) → first | b read({}) → second')
})

it('gives empty and repeated call ids a unique one and pairs by occurrence', () => {
  const transcript = read([
    { role: 'user', content: 'go' },
    { role: 'assistant', content: '', tool_calls: [call('', 'f', '1'), call('', 'f', '2'), call('x', 'f', '3')] },
    result('', 'one'), result('', 'two'), result('x', 'three'),
    { role: 'assistant', content: '', tool_calls: [call('x', 'f', '4')] },
    result('x', 'four'),
  ])
  expect(sketch(transcript).slice(1)).toEqual(['answer:  | call_1 f(1) → one | call_2 f(2) → two | x f(3) → three', 'answer:  | x_2 f(4) → four'])
})

it('leaves a place without result for a call that nobody answered, and counts a result that nobody asked for', () => {
  const transcript = read([
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'Both.', tool_calls: [call('a', 'f', '{}'), call('b', 'f', '{}')] },
    result('b', 'done'), result('z', 'who?'), result('b', 'again'),
  ])
  expect(sketch(transcript)[1]).toBe('answer: Both. | a f({}) → ∅ | b f({}) → done')
  expect(skips(transcript)).toEqual({ 'tool result without its call': 1, 'second result of one tool call': 1 })
})

it('keeps reasoning, images and parts', () => {
  const transcript = read([
    { role: 'user', content: [{ type: 'text', text: 'See' }, { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }, { type: 'input_audio' }] },
    { role: 'assistant', reasoning_content: 'An image.', content: [{ type: 'text', text: 'Seen.' }] },
  ])
  expect(sketch(transcript)).toEqual(['person: See [image/* https://example.com/a.png]', 'answer: {An image.} Seen.'])
  expect(transcript.skipped).toEqual([{ reason: 'content part of type input_audio', count: 1, line: 1 }])
})

it('keeps arguments as JSON text: nothing means none, other text is wrapped and counted', () => {
  const transcript = read([
    { role: 'user', content: 'go' },
    { role: 'assistant', tool_calls: [call('a', 'f', ''), call('b', 'f', '{"cut": "of'), { id: 'c', function: { name: 'f', arguments: { x: 1 } } }] },
  ])
  expect(sketch(transcript)[1]).toBe('answer:  | a f({}) → ∅ | b f({"input":"{\\"cut\\": \\"of"}) → ∅ | c f({"x":1}) → ∅')
  expect(skips(transcript)).toEqual({ 'tool call arguments that are no JSON, kept as {"input": text}': 1 })
})

it('counts what it cannot express: legacy functions, unknown roles and keys, empty answers and inputs', () => {
  const transcript = read({
    run: 7,
    messages: [
      { role: 'user', content: 'go', name: 'somebody' },
      { role: 'assistant', content: '', function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'x' },
      { role: 'critic', content: 'x' },
      { role: 'user', content: '' },
    ],
  })
  expect(sketch(transcript)).toEqual(['person: go'])
  expect(transcript.skipped).toEqual([
    { reason: 'key of the file: run', count: 1, line: 1 },
    { reason: 'key of a message: name', count: 2, line: 1 },
    { reason: 'legacy function_call', count: 1, line: 2 },
    { reason: 'legacy function result', count: 1, line: 3 },
    { reason: 'message of role critic', count: 1, line: 4 },
    { reason: 'input without text or image', count: 1, line: 5 },
    { reason: 'answer without text, call or readable reasoning', count: 1, line: 2 },
  ])
})

it('takes later system messages as context and says when the recording begins in the middle', () => {
  const transcript = read([{ role: 'assistant', content: 'As I said.' }, { role: 'system', content: 'It is Monday.' }])
  expect(sketch(transcript)).toEqual([
    'context: The recording of this conversation begins here, in its middle.',
    'answer: As I said.',
    'context: It is Monday.',
  ])
  expect(skips(transcript)).toEqual({ 'beginning of the conversation, which the recording does not have': 1 })
})

it('parts usage into disjoint buckets', () => {
  const usage = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 }, completion_tokens_details: { reasoning_tokens: 5 } }
  const transcript = read([{ role: 'user', content: 'hi' }, { role: 'assistant', content: 'ho', usage, model: 'm', finish_reason: 'length' }])
  const expected = { inputTokens: 40, cacheReadTokens: 60, outputTokens: 20, reasoningTokens: 5 }
  expect(transcript.items[1]).toMatchObject({ usage: expected, model: 'm', finish: 'max-tokens' })
})

it('round-trips any chat with parallel calls and shuffled results', () => {
  const text = fc.string({ minLength: 1 }).map(value => `.${value}`)
  const toolCall = fc.record({ name: fc.constantFrom('read', 'run'), given: fc.dictionary(fc.string(), fc.integer()), output: text, key: fc.nat() })
  const step = fc.record({ said: fc.option(text), calls: fc.array(toolCall, { maxLength: 4 }) })
  const turn = fc.record({ asked: text, steps: fc.array(step, { minLength: 1, maxLength: 4 }) })
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 4 }), turns => {
      const messages: unknown[] = []
      const expected: string[] = []
      let calls = 0
      for (const { asked, steps } of turns) {
        messages.push({ role: 'user', content: asked })
        expected.push(`person: ${asked}`)
        for (const { said, calls: made } of steps) {
          if (said === null && made.length === 0) continue
          const numbered = made.map(item => ({ ...item, id: `c${calls++}`, given: JSON.stringify(item.given) }))
          messages.push({ role: 'assistant', content: said, tool_calls: numbered.map(({ id, name, given }) => call(id, name, given)) })
          const shuffled = numbered.toSorted((a, b) => a.key - b.key)
          messages.push(...shuffled.map(({ id, output }) => result(id, output)))
          const drawn = numbered.map(({ id, name, given, output }) => ` | ${id} ${name}(${given}) → ${output}`)
          expected.push(`answer: ${said ?? ''}${drawn.join('')}`)
        }
      }
      const transcript = read(messages)
      expect(sketch(transcript)).toEqual(expected)
      expect(transcript.skipped).toEqual([])
    }),
    { numRuns: 300, seed: 20260101 },
  )
})
