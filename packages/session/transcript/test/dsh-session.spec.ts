import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

const HEADER = { type: 'session', version: 1, id: 's1', createdAt: 1 }
const text = (value: string) => [{ type: 'text', text: value }]

/** Numbers the events as a log does. */
function log(...events: { type: string; data: object; surfaceOp?: unknown; sourceEventSeqs?: number[] }[]): string {
  return jsonl(HEADER, ...events.map((event, seq) => ({ seq, time: seq, ...event })))
}
const said = (value: string, source: object = { kind: 'user' }) => ({ type: 'user/message', data: { content: text(value), source }, surfaceOp: 'append' })
const answered = (content: object[], rest: object = {}) => ({
  type: 'assistant/message',
  data: { turn: 1, step: 1, content, provider: 'p', model: 'm', finish: 'stop', ...rest },
  surfaceOp: 'append',
})
const call = (id: string) => ({ type: 'tool-call', id, name: 'read', arguments: '{}' })
const result = (callId: string, value: string, rest: object = {}) => ({
  type: 'tool/result',
  data: { turn: 1, step: 1, callId, content: text(value), ...rest },
  surfaceOp: 'append',
})

it('reads what was appended: a person, context, answers, results', () => {
  const usage = { inputTokens: 5, outputTokens: 1 }
  const tools = [{ name: 'read', parameters: { type: 'object' } }]
  const transcript = importTranscript(log(
    { type: 'turn/start', data: { turn: 1 } },
    said('Read it.'),
    said('It is Monday.', { kind: 'plugin', plugin: 'clock' }),
    { type: 'step/start', data: { turn: 1, step: 1 } },
    { type: 'request/header', data: { config: { provider: 'p', model: 'm' }, system: 'Be brief.', tools, reason: 'initial' } },
    answered([{ type: 'reasoning', text: 'Hm.' }, call('a'), call('b')], { finish: 'tool-calls', usage }),
    { type: 'tool/call', data: { turn: 1, step: 1, callId: 'a' } },
    result('a', 'content'),
    result('b', 'no file', { isError: true }),
    { type: 'step/end', data: { turn: 1, step: 1 } },
  ))
  expect(transcript).toMatchObject({ format: 'dsh-session', model: 'm', system: 'Be brief.', tools, skipped: [] })
  expect(sketch(transcript)).toEqual([
    'person: Read it.',
    'context: It is Monday.',
    'answer: {Hm.} | a read({}) → content | b read({}) → ! no file',
  ])
  expect(transcript.items[2]).toMatchObject({ usage, finish: 'tool-calls' })
})

it('takes no checkpoint, no rewrite and no compaction event, and counts none of them', () => {
  const compact = { kind: 'plugin', plugin: 'compact' }
  const transcript = importTranscript(log(
    said('One.'),
    answered([call('a')], { finish: 'tool-calls' }),
    result('a', 'a long result'),
    { ...result('a', 'a short one'), surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [2] },
    { type: 'compaction/start', data: { turn: null, trigger: 'recorded' } },
    { type: 'compaction/summary', data: { startSeq: 4 } },
    { ...said('A summary.', compact), surfaceOp: { op: 'replace', start: 0, end: 3 }, sourceEventSeqs: [0, 1, 3, 4, 5] },
    { type: 'compaction/end', data: { startSeq: 4, turn: null } },
    said('Two.'),
  ))
  expect(sketch(transcript)).toEqual(['person: One.', 'answer:  | a read({}) → a long result', 'person: Two.'])
  expect(transcript.skipped).toEqual([])
})

it('leaves the place of a result that no tool gave empty, for the replay to make it again', () => {
  const transcript = importTranscript(log(
    said('Go.'),
    answered([call('a'), call('b')], { finish: 'tool-calls' }),
    result('a', 'done'),
    result('b', 'not known', { isError: true, error: { name: 'Interrupted', code: 'TOOL_OUTCOME_UNKNOWN' } }),
  ))
  expect(sketch(transcript)[1]).toBe('answer:  | a read({}) → done | b read({}) → ∅')
})

it('keeps an interrupted answer', () => {
  const transcript = importTranscript(log(said('Go.'), answered(text('I was'), { finish: 'other', interrupted: true })))
  expect(sketch(transcript)[1]).toBe('answer ✂: I was')
})

it('counts input that never reached the model, commands, failed requests, later envelopes and unknown events', () => {
  const item = (inputId: string) => ({ inputId, kind: 'send', content: text('x'), source: { kind: 'user' } })
  const header = (system: string) => ({ type: 'request/header', data: { config: {}, system, reason: 'change' } })
  const transcript = importTranscript(log(
    { type: 'inbox/spliced', data: { inserted: [item('i1'), item('i2'), item('i3')] } },
    said('Go.', { kind: 'user', inputId: 'i1' }),
    { type: 'inbox/spliced', data: { removed: ['i2'] } },
    header('one'), header('two'),
    { type: 'turn/end', data: { turn: 1, reason: 'error', failure: { code: 'SERVER', message: 'no' } } },
    { type: 'command/run', data: { commandId: 'c', name: 'compact', args: '' } },
    { type: 'goal/change', data: {} },
  ))
  expect(skips(transcript)).toEqual({
    'later system prompt': 1,
    'failed request': 1,
    'slash command': 1,
    'event goal/change': 1,
    'input that never reached the model': 1,
  })
})

it('counts damaged blocks and takes unknown ones as they are', () => {
  const content = [{ type: 'text' }, { type: 'chart', points: [1] }]
  const transcript = importTranscript(log({ type: 'user/message', data: { content, source: { kind: 'user' } }, surfaceOp: 'append' }))
  expect(transcript.items).toMatchObject([{ content: [{ type: 'chart', points: [1] }] }])
  expect(skips(transcript)).toEqual({ 'damaged content block': 1 })
})

it('refuses another version', () => {
  expect(() => importTranscript(jsonl({ ...HEADER, version: 2 }, said('x')))).toThrow('"version":1')
})
