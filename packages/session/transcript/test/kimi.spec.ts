import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const wire = (...events: [type: string, payload: Fields][]) =>
  importTranscript(jsonl({ type: 'metadata', protocol_version: '1.4' }, ...events.map(([type, payload]) => ({ timestamp: 1, message: { type, payload } }))))
const call = (id: string, given: string): Fields => ({ type: 'function', id, function: { name: 'read', arguments: given } })
const returned = (id: string, value: Fields): [string, Fields] => ['ToolResult', { tool_call_id: id, return_value: { is_error: false, output: '', message: '', ...value } }]
const usage = { input_other: 10, input_cache_read: 90, input_cache_creation: 0, output: 7 }

it('puts a step of the wire together, though a result arrives while the next call is still being written', () => {
  const transcript = wire(
    ['TurnBegin', { user_input: [{ type: 'text', text: 'Read both.' }] }],
    ['StepBegin', { n: 1 }],
    ['ContentPart', { type: 'think', think: 'Bo', encrypted: null }],
    ['ContentPart', { type: 'think', think: 'th.', encrypted: null }],
    ['ContentPart', { type: 'text', text: 'Reading.' }],
    ['ToolCall', call('a', '{"path":"a"}')],
    ['ToolCall', call('b', '')],
    returned('a', { output: 'one', message: 'Read.' }),
    ['ToolCallPart', { arguments_part: '{"path":' }],
    ['ToolCallPart', { arguments_part: '"b"}' }],
    ['StatusUpdate', { token_usage: usage }],
    returned('b', { is_error: true, message: 'no file' }),
    ['StepBegin', { n: 2 }],
    ['ContentPart', { type: 'text', text: 'Done.' }],
    ['TurnEnd', {}],
  )
  expect(transcript).toMatchObject({ format: 'kimi-wire', skipped: [] })
  expect(sketch(transcript)).toEqual([
    'person: Read both.',
    'answer: {Both.} Reading. | a read({"path":"a"}) → <system>Read.</system> one | b read({"path":"b"}) → ! <system>ERROR: no file</system>',
    'answer: Done.',
  ])
  expect(transcript.items[1]).toMatchObject({ usage: { inputTokens: 10, cacheReadTokens: 90, cacheWriteTokens: 0, outputTokens: 7 } })
})

it('marks the step that was interrupted and counts what the model never saw', () => {
  const transcript = wire(
    ['ToolCallPart', { arguments_part: '{' }],
    ['TurnBegin', { user_input: 'Go.' }],
    ['StepBegin', { n: 1 }],
    ['ContentPart', { type: 'text', text: 'I will' }],
    ['StepInterrupted', {}],
    ['ApprovalRequest', {}],
    ['StatusUpdate', { context_usage: 0.1 }],
    ['StepBegin', { n: 2 }],
  )
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer ✂: I will'])
  expect(skips(transcript)).toEqual({
    'piece of a tool call that never began': 1,
    'event ApprovalRequest, not shown to the model': 1,
    'event StatusUpdate without usage': 1,
    'step in which nothing was said': 1,
  })
})

it('reads the context: a count before an answer is its prompt, the one behind it includes the answer', () => {
  const transcript = importTranscript(jsonl(
    { role: '_system_prompt', content: 'Be brief.' },
    { role: '_checkpoint', id: 0 },
    { role: 'user', content: 'Read.' },
    { role: '_usage', token_count: 100 },
    { role: 'assistant', content: [{ type: 'think', think: 'Hm.', encrypted: null }, { type: 'text', text: 'Reading.' }], tool_calls: [call('a', '{}')] },
    { role: '_usage', token_count: 107 },
    { role: 'tool', tool_call_id: 'a', content: '<system>ERROR: no file</system>' },
    { role: 'user', content: [{ type: 'text', text: '<system>It is Monday.</system>' }] },
    { role: 'assistant', content: 'No.' },
    { role: '_usage', token_count: 130 },
    { role: 'user', content: 'Thanks.' },
  ))
  expect(transcript).toMatchObject({ format: 'kimi-context', system: 'Be brief.' })
  expect(sketch(transcript)).toEqual([
    'person: Read.',
    'answer: {Hm.} Reading. | a read({}) → ! <system>ERROR: no file</system>',
    'context: <system>It is Monday.</system>',
    'answer: No.',
    'person: Thanks.',
  ])
  expect(transcript.items.map(item => (item.kind === 'answer' ? item.usage : null))).toEqual([null, { inputTokens: 100, outputTokens: 7 }, null, undefined, null])
  expect(skips(transcript)).toEqual({ 'record of role _checkpoint': 1, 'token count of no single request': 1 })
})
