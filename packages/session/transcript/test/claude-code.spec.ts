import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

/** A line whose parent is `parent`. */
const line = (uuid: string, parent: string | null, rest: Fields) => ({ uuid, parentUuid: parent, isSidechain: false, sessionId: 's', ...rest })
const user = (uuid: string, parent: string | null, content: unknown, rest: Fields = {}) =>
  line(uuid, parent, { type: 'user', message: { role: 'user', content }, ...rest })
const assistant = (uuid: string, parent: string, id: string, block: Fields, rest: Fields = {}) =>
  line(uuid, parent, { type: 'assistant', message: { id, role: 'assistant', model: 'm', content: [block], ...rest } })
const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string, name = 'Read') => ({ type: 'tool_use', id, name, input: { of: id } })
const result = (id: string, content: unknown, rest: Fields = {}) => [{ type: 'tool_result', tool_use_id: id, content, ...rest }]
const boundary = (uuid: string, logicalParent: string, metadata: Fields) =>
  line(uuid, null, { type: 'system', subtype: 'compact_boundary', logicalParentUuid: logicalParent, compactMetadata: metadata })
const summary = (uuid: string, parent: string, content: string) =>
  user(uuid, parent, content, { isCompactSummary: true, isVisibleInTranscriptOnly: true })

it('merges the lines of one answer, results between them included, and keeps call order', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Read both.'),
    assistant('a1', 'u1', 'msg', { type: 'thinking', thinking: 'Both.', signature: 'opaque' }),
    assistant('a2', 'a1', 'msg', text('Reading.')),
    assistant('a3', 'a2', 'msg', use('t1')),
    user('r1', 'a3', result('t1', 'one')),
    assistant('a4', 'a3', 'msg', use('t2')),
    user('r2', 'a4', result('t2', [text('two')], { is_error: true }), { toolUseResult: { stdout: 'two' } }),
    assistant('b1', 'r2', 'msg2', text('Done.')),
  ))
  expect(transcript).toMatchObject({ format: 'claude-code', model: 'm' })
  expect(sketch(transcript)).toEqual([
    'person: Read both.',
    'answer: {Both.} Reading. | t1 Read({"of":"t1"}) → one | t2 Read({"of":"t2"}) → ! two',
    'answer: Done.',
  ])
  expect(skips(transcript)).toEqual({ 'signature of reasoning': 1 })
})

it('keeps parallel siblings that the walk to the root misses, with results in another order', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    assistant('a1', 'u1', 'msg', use('t1')),
    assistant('a2', 'a1', 'msg', use('t2')),
    user('r2', 'a2', result('t2', 'two')),
    user('r1', 'a1', result('t1', 'one')),
    assistant('b1', 'r1', 'msg2', text('Done.')),
  ))
  expect(sketch(transcript)[1]).toBe('answer:  | t1 Read({"of":"t1"}) → one | t2 Read({"of":"t2"}) → two')
})

it('follows the branch of the last message and counts the one that was left', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'First.'),
    assistant('a1', 'u1', 'm1', text('One.')),
    user('u2', 'a1', 'Left.'),
    assistant('a2', 'u2', 'm2', text('Left too.')),
    user('u3', 'a1', 'Second.'),
    assistant('a3', 'u3', 'm3', text('Two.')),
  ))
  expect(sketch(transcript)).toEqual(['person: First.', 'answer: One.', 'person: Second.', 'answer: Two.'])
  expect(transcript.skipped).toEqual([{ reason: 'message on a branch that was left, or repeated', count: 2, line: 3 }])
})

it('goes on with the line before where a parent is missing from the file', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'First.'),
    assistant('a1', 'u1', 'm1', text('One.')),
    user('u2', 'missing', 'Second.'),
    assistant('a2', 'u2', 'm2', text('Two.')),
  ))
  expect(sketch(transcript)).toEqual(['person: First.', 'answer: One.', 'person: Second.', 'answer: Two.'])
})

it('takes a line once that a resumed session repeats', () => {
  const lines = [user('u1', null, 'Go.'), assistant('a1', 'u1', 'm1', use('t1')), user('r1', 'a1', result('t1', 'one'))]
  const transcript = importTranscript(jsonl(...lines, ...lines, user('u2', 'r1', 'Go on.')))
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer:  | t1 Read({"of":"t1"}) → one', 'person: Go on.'])
  expect(skips(transcript)).toEqual({ 'message on a branch that was left, or repeated': 3 })
})

it('leaves out sub-agents, progress and other lines of the tool, with a count', () => {
  const transcript = importTranscript(jsonl(
    { type: 'summary', summary: 'Title', leafUuid: 'a1' },
    user('u1', null, 'Go.'),
    { ...user('s1', null, 'Sub-agent prompt.'), isSidechain: true },
    line('p1', 'u1', { type: 'progress', data: { type: 'hook_progress' } }),
    assistant('a1', 'p1', 'm1', text('Done.')),
  ))
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer: Done.'])
  expect(skips(transcript)).toEqual({ 'line of type summary': 1, 'message of a sub-agent': 1, 'line of type progress': 1 })
})

it('tells a person from what the tool says in their name', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, '<command-name>/init</command-name>'),
    user('u2', 'u1', 'Instructions of the command.', { isMeta: true }),
    user('u3', 'u2', '<local-command-stdout>ok</local-command-stdout>'),
    user('u4', 'u3', '<bash-input>ls</bash-input>'),
    user('u5', 'u4', [text('My own words, <command-name> among them.')]),
    assistant('a1', 'u5', 'm1', text('Fine.')),
  ))
  expect(transcript.items.map(item => item.kind === 'input' ? item.from : item.kind)).toEqual(['context', 'context', 'context', 'context', 'person', 'answer'])
})

it('takes a queued prompt as the words of a person, and other attachments with text as context', () => {
  const attachment = (uuid: string, parent: string, value: Fields) => line(uuid, parent, { type: 'attachment', attachment: value })
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    attachment('x1', 'u1', { type: 'file', filename: 'a.ts', content: { type: 'text', file: { content: 'let a' } } }),
    attachment('x2', 'x1', { type: 'task_reminder', content: [] }),
    assistant('a1', 'x2', 'm1', use('t1')),
    user('r1', 'a1', result('t1', 'one')),
    attachment('x3', 'r1', { type: 'queued_command', prompt: 'And be quick.', commandMode: 'prompt' }),
    assistant('a2', 'x3', 'm2', text('Done.')),
  ))
  expect(sketch(transcript)).toEqual(['person: Go.', 'context: a.ts\nlet a', 'answer:  | t1 Read({"of":"t1"}) → one', 'person: And be quick.', 'answer: Done.'])
  expect(skips(transcript)).toEqual({ 'attachment of type task_reminder': 1 })
})

it('takes a prompt that left the queue where no other line has it', () => {
  const queue = (operation: string, content?: string) => ({ type: 'queue-operation', operation, sessionId: 's', ...(content === undefined ? {} : { content }) })
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    queue('enqueue', 'Is it done?'), queue('enqueue', '{"task_id":"x"}'), queue('enqueue', 'Next.'), queue('enqueue', 'Never mind.'),
    assistant('a1', 'u1', 'm1', text('Working.')),
    queue('remove'),
    assistant('a2', 'a1', 'm2', text('Done.')),
    queue('dequeue'),
    user('u2', 'a2', 'Next.'),
  ))
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer: Working.', 'person: Is it done?', 'answer: Done.', 'person: Next.'])
  expect(skips(transcript)).toEqual({ 'queued notice of a background task': 1, 'queued input that no request took': 1 })
})

it('takes a text of a local error for no answer', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    assistant('a1', 'u1', 'm1', text('API Error'), { model: '<synthetic>' }),
    user('u2', 'a1', 'Again.'),
  ))
  expect(sketch(transcript)).toEqual(['person: Go.', 'person: Again.'])
  expect(skips(transcript)).toEqual({ 'text of a local error, from no model': 1 })
})

it('marks the answer that an interruption cut off, not the one whose results are in', () => {
  const mark = [text('[Request interrupted by user]')]
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    assistant('a1', 'u1', 'm1', use('t1')),
    user('r1', 'a1', result('t1', 'one')),
    user('i1', 'r1', mark),
    user('u2', 'i1', 'Go on.'),
    assistant('a2', 'u2', 'm2', text('I was going to')),
    user('i2', 'a2', mark),
    user('u3', 'i2', 'Stop.'),
    assistant('a3', 'u3', 'm3', use('t3')),
    user('i3', 'a3', [text('[Request interrupted by user for tool use]')]),
  ))
  expect(sketch(transcript)).toEqual([
    'person: Go.',
    'answer:  | t1 Read({"of":"t1"}) → one',
    'context: [Request interrupted by user]',
    'person: Go on.',
    'answer ✂: I was going to',
    'context: [Request interrupted by user]',
    'person: Stop.',
    'answer:  | t3 Read({"of":"t3"}) → ∅',
    'context: [Request interrupted by user for tool use]',
  ])
})

it('turns a boundary and its summary into a compaction that kept nothing', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    assistant('a1', 'u1', 'm1', text('One.')),
    boundary('c1', 'a1', { trigger: 'auto', preTokens: 1000 }),
    summary('c2', 'c1', 'What happened.'),
    assistant('a2', 'c2', 'm2', text('Two.')),
  ))
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer: One.', 'compaction from 2: What happened.', 'answer: Two.'])
  expect(transcript.items[2]).toMatchObject({ tokensBefore: 1000, line: 4 })
})

it('keeps what a newer boundary preserved, and moves its start to the unit that holds it', () => {
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    assistant('a1', 'u1', 'm1', use('t1')),
    user('r1', 'a1', result('t1', 'one')),
    assistant('a2', 'r1', 'm2', text('Two.')),
    boundary('c1', 'a2', { preTokens: 9, preservedSegment: { headUuid: 'r1', anchorUuid: 'c2', tailUuid: 'a2' } }),
    summary('c2', 'c1', 'What happened.'),
    user('u2', 'a2', 'Go on.'), // linked to the preserved end, past the boundary
    assistant('a3', 'u2', 'm3', text('Three.')),
  ))
  expect(sketch(transcript)).toEqual([
    'person: Go.', 'answer:  | t1 Read({"of":"t1"}) → one', 'answer: Two.', 'compaction from 1: What happened.', 'person: Go on.', 'answer: Three.',
  ])
})

it('takes the summary of a file that begins after its boundary as the first input', () => {
  const transcript = importTranscript(jsonl(
    boundary('c1', 'missing', { preTokens: 1000 }),
    summary('c2', 'c1', 'What happened.'),
    assistant('a1', 'c2', 'm1', text('On we go.')),
  ))
  expect(sketch(transcript)).toEqual(['context: What happened.', 'answer: On we go.'])
})

it('reads the prompt side of usage once an answer', () => {
  const usage = { input_tokens: 3, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 }
  const transcript = importTranscript(jsonl(
    user('u1', null, 'Go.'),
    assistant('a1', 'u1', 'm1', text('One')),
    assistant('a2', 'a1', 'm1', text('Two'), { usage, stop_reason: 'end_turn' }),
  ))
  expect(transcript.items[1]).toMatchObject({ finish: 'stop', usage: { inputTokens: 3, cacheReadTokens: 100, cacheWriteTokens: 20, outputTokens: 1 } })
})

it('keeps images of prompts and results, with the size in their header', () => {
  const png = Buffer.alloc(24)
  png.writeUInt32BE(0x89504e47, 0)
  png.write('IHDR', 12, 'latin1')
  png.writeUInt32BE(640, 16)
  png.writeUInt32BE(480, 20)
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } }
  const transcript = importTranscript(jsonl(
    user('u1', null, [image, text('See.')]),
    assistant('a1', 'u1', 'm1', use('t1')),
    user('r1', 'a1', result('t1', [image])),
  ))
  expect(sketch(transcript)).toEqual(['person: [image/png 640×480] See.', 'answer:  | t1 Read({"of":"t1"}) → [image/png 640×480]'])
})
