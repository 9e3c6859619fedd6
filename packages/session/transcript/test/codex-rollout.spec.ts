import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const META = { timestamp: 't', type: 'session_meta', payload: { id: 's', base_instructions: { text: 'You are an agent.' } } }
const CONTEXT = { timestamp: 't', type: 'turn_context', payload: { model: 'm' } }
const item = (payload: Fields) => ({ timestamp: 't', type: 'response_item', payload })
const event = (payload: Fields) => ({ timestamp: 't', type: 'event_msg', payload })
const message = (role: string, ...texts: string[]) =>
  item({ type: 'message', role, content: texts.map(text => ({ type: role === 'assistant' ? 'output_text' : 'input_text', text })) })
const reasoning = (...summary: string[]) => item({ type: 'reasoning', summary: summary.map(text => ({ type: 'summary_text', text })), encrypted_content: 'x' })
const call = (id: string, given = '{}') => item({ type: 'function_call', name: 'run', arguments: given, call_id: id })
const output = (id: string, value: unknown) => item({ type: 'function_call_output', call_id: id, output: value })
const tokens = (total: number, input: number, cached: number) =>
  event({ type: 'token_count', info: { total_token_usage: { total_tokens: total }, last_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: 7, reasoning_output_tokens: 2 } } })

const read = (...lines: unknown[]) => importTranscript(jsonl(META, CONTEXT, ...lines))

it('groups items into answers: a new one begins after an output, an input or a changed token count', () => {
  const transcript = read(
    message('user', 'Go.'),
    reasoning('Think.'), message('assistant', 'Running both.'), call('a'), call('b'), output('b', 'two'), output('a', 'one'), tokens(1, 10, 4),
    call('c'), output('c', 'three'),
    message('assistant', 'First half.'), tokens(2, 20, 5), message('assistant', 'Second half.'), tokens(3, 30, 6),
  )
  expect(transcript).toMatchObject({ format: 'codex-rollout', model: 'm', system: 'You are an agent.' })
  expect(sketch(transcript)).toEqual([
    'person: Go.',
    'answer: {Think.} Running both. | a run({}) → one | b run({}) → two',
    'answer:  | c run({}) → three',
    'answer: First half.',
    'answer: Second half.',
  ])
})

it('gives usage to the request before the outputs, without the cached part, and drops repeated counts', () => {
  const transcript = read(message('user', 'Go.'), call('a'), output('a', 'x'), tokens(1, 100, 60), tokens(1, 100, 60), message('assistant', 'Done.'), tokens(1, 100, 60))
  const usage = { inputTokens: 40, cacheReadTokens: 60, outputTokens: 7, reasoningTokens: 2 }
  expect(transcript.items.map(answer => (answer.kind === 'answer' ? answer.usage : null))).toEqual([null, usage, undefined])
})

it('takes developer messages, instructions and environment for context', () => {
  const transcript = read(
    message('developer', '<permissions instructions>All.'),
    message('user', '# AGENTS.md instructions for /repo', '<environment_context>\n'),
    message('user', 'Read AGENTS.md, please.'),
  )
  expect(transcript.items.map(input => input.kind === 'input' && input.from)).toEqual(['context', 'context', 'person'])
})

it('wraps the free text of custom tools as JSON', () => {
  const transcript = read(
    message('user', 'Patch it.'),
    item({ type: 'custom_tool_call', call_id: 'p', name: 'apply_patch', input: '*** Begin\n"x"' }),
    item({ type: 'custom_tool_call_output', call_id: 'p', output: 'ok' }),
  )
  expect(sketch(transcript)[1]).toBe('answer:  | p apply_patch({"input":"*** Begin\\n\\"x\\""}) → ok')
})

it('takes an output for an error where its own header says that the command failed', () => {
  const outputs = [
    'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\n',
    'Exit code: 1\nOutput:\n',
    { content: 'refused', success: false },
    'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nExit code: 1\n',
  ]
  const transcript = read(message('user', 'Go.'), ...outputs.map((_value, n) => call(`c${n}`)), ...outputs.map((value, n) => output(`c${n}`, value)))
  expect(transcript.items[1]).toMatchObject({ results: [{ isError: true }, { isError: true }, { isError: true }, { content: [{ type: 'text' }] }] })
  expect(sketch(transcript)[1]?.match(/→ !/g)).toHaveLength(3)
})

it('keeps images in inputs and outputs', () => {
  const image = { type: 'input_image', image_url: 'data:image/jpeg;base64,/9j/4A==' }
  const transcript = read(item({ type: 'message', role: 'user', content: [image] }), call('a'), output('a', [image]))
  expect(sketch(transcript)).toEqual(['person: [image/jpeg]', 'answer:  | a run({}) → [image/jpeg]'])
})

it('counts unreadable reasoning, tools of the provider and events for the screen', () => {
  const transcript = read(
    message('user', 'Go.'), reasoning(), item({ type: 'web_search_call', status: 'completed' }), message('assistant', 'Found.'),
    event({ type: 'agent_message', message: 'Found.' }), item({ type: 'ghost_snapshot' }),
  )
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer: Found.'])
  expect(skips(transcript)).toEqual({
    'reasoning that is encrypted or empty': 1,
    'tool call that the provider ran itself': 1,
    'event agent_message, for the screen only': 1,
    'item of type ghost_snapshot': 1,
  })
})

it('marks an answer that was aborted while it was made; calls left open stay without result', () => {
  const aborted = [message('user', '<turn_aborted>\nOn purpose.'), event({ type: 'turn_aborted', reason: 'interrupted' })]
  const transcript = read(message('user', 'Go.'), message('assistant', 'I will'), ...aborted, message('user', 'Again.'), message('assistant', 'Running.'), call('a'), ...aborted)
  expect(sketch(transcript)).toEqual([
    'person: Go.',
    'answer ✂: I will',
    'context: <turn_aborted>\nOn purpose.',
    'person: Again.',
    'answer: Running. | a run({}) → ∅',
    'context: <turn_aborted>\nOn purpose.',
  ])
})

it('replaces the history at a compaction: kept messages are quoted, the summary is said to be unreadable', () => {
  const transcript = read(
    message('user', 'Go.'), message('assistant', 'One.'), tokens(1, 10, 0),
    { timestamp: 't', type: 'compacted', payload: { message: '', replacement_history: [message('user', 'Go.').payload, { type: 'compaction', encrypted_content: 'x' }] } },
    tokens(1, 0, 0), event({ type: 'context_compacted' }),
    message('assistant', 'Two.'),
  )
  expect(sketch(transcript)).toEqual([
    'person: Go.',
    'answer: One.',
    'compaction from 2: The older part of this conversation was compacted when it was recorded. The summary is encrypted and cannot be read here.\n\nThese messages were kept: Kept message (user): Go.',
    'answer: Two.',
  ])
})

it('keeps a summary that is readable', () => {
  const compacted = { timestamp: 't', type: 'compacted', payload: { message: 'What happened.' } }
  const transcript = read(message('user', 'Go.'), message('assistant', 'One.'), compacted)
  expect(sketch(transcript)[2]).toBe('compaction from 2: The older part of this conversation was compacted when it was recorded.\n\nWhat happened.')
})
