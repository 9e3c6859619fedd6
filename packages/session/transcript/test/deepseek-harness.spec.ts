import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const HEADER = { type: 'session', version: 0, id: 's1', createdAt: 1, cwd: '/w' }
const log = (...events: Fields[]) => importTranscript(jsonl(HEADER, ...events.map((event, seq) => ({ seq, time: seq, ...event }))))
const text = (value: string) => [{ type: 'text', text: value }]
const said = (value: string, kind: string, surfaceOp: unknown = 'append') => ({ type: 'user/message', data: { content: text(value), source: { kind }, role: 'user' }, surfaceOp })
const answered = (content: Fields[], usage: Fields = {}) => ({
  type: 'assistant/message', data: { turn: 1, step: 1, message: { role: 'assistant', content, source: { kind: 'model', model: 'v' } }, usage }, surfaceOp: 'append',
})
const call = (id: string) => ({ type: 'tool-call', id, name: 'read', arguments: `{"path":"${id}"}` })
const result = (toolCallId: string, value: string, isError = false) => ({
  type: 'tool/result', data: { message: { content: [{ type: 'tool-result', toolCallId, content: text(value), isError }] } }, surfaceOp: 'append',
})

it('reads messages whole; their chunks, turns and steps count as nothing', () => {
  const transcript = log(
    { type: 'turn/start', data: { turn: 1 } },
    said('Read both.', 'user'),
    said('It is Monday.', 'plugin'),
    { type: 'request/header', data: { header: { system: 'Be brief.', tools: [{ name: 'read', parameters: { type: 'object' } }] } } },
    { type: 'reasoning-chunks', data: { texts: ['H', 'm.'] } },
    answered([{ type: 'reasoning', text: 'Hm.' }, call('a'), call('b')], { inputTokens: 3, cacheReadTokens: 5, outputTokens: 1, reasoningTokens: 1 }),
    { type: 'tool/call', data: { callId: 'a' } },
    result('a', 'one'),
    result('b', 'no file', true),
    { type: 'goal/change', data: {} },
  )
  expect(transcript).toMatchObject({ format: 'deepseek-harness', model: 'v', system: 'Be brief.', tools: [{ name: 'read' }] })
  expect(sketch(transcript)).toEqual(['person: Read both.', 'context: It is Monday.', 'answer: {Hm.} | a read({"path":"a"}) → one | b read({"path":"b"}) → ! no file'])
  expect(transcript.items[2]).toMatchObject({ usage: { inputTokens: 3, cacheReadTokens: 5, outputTokens: 1, reasoningTokens: 1 } })
  expect(skips(transcript)).toEqual({ 'event goal/change': 1 })
})

it('reads a compaction: a message that took the place of those from one seq to another', () => {
  const transcript = log(
    said('One.', 'user'), answered(text('First.')), said('Two.', 'user'), answered(text('Second.')),
    { type: 'compaction/start', data: {} },
    said('What happened.', 'plugin', { op: 'replace', start: 0, end: 1 }),
    said('Three.', 'user'),
  )
  expect(sketch(transcript)).toEqual(['person: One.', 'answer: First.', 'person: Two.', 'answer: Second.', 'compaction from 2: What happened.', 'person: Three.'])
  expect(transcript.skipped).toEqual([])
})

it('counts placeholders of a snapshot, rewrites, and a compaction whose span has no seqs', () => {
  const transcript = importTranscript(jsonl(
    HEADER,
    { type: 'request/header', data: { header: { system: '{{system}}', tools: '{{tools}}' } } },
    said('One.', 'user'), answered([call('a')]), result('a', 'long'),
    { ...result('a', 'short'), surfaceOp: { op: 'replace', start: 3, end: 3 } },
    said('S', 'plugin', { op: 'replace', start: 1, end: 3 }),
  ))
  expect(sketch(transcript)).toEqual(['person: One.', 'answer:  | a read({"path":"a"}) → long'])
  expect(transcript).not.toHaveProperty('system')
  expect(skips(transcript)).toEqual({
    'placeholder of a system prompt': 1,
    'placeholder of a set of tools': 1,
    'rewrite of an older message by tool/result': 1,
    'compaction of a span that the log does not tell': 1,
  })
})
