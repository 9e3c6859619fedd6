import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const SESSION = { type: 'session', id: 's', timestamp: '2026-01-01', cwd: '/repo', modelId: 'm' }
const entry = (message: Fields, rest: Fields = {}) => ({ type: 'message', timestamp: 't', message, ...rest })
const user = (text: string, rest: Fields = {}) => entry({ role: 'user', content: [{ type: 'text', text }] }, rest)
const assistant = (content: readonly Fields[], fields: Fields = {}, rest: Fields = {}) => entry({ role: 'assistant', model: 'm', stopReason: 'stop', content, ...fields }, rest)
const text = (value: string) => ({ type: 'text', text: value })
const call = (id: string) => ({ type: 'toolCall', id, name: 'read', arguments: { path: id } })
const result = (id: string, value: string, isError = false) => entry({ role: 'toolResult', toolCallId: id, toolName: 'read', content: [text(value)], isError })

it('reads answers with reasoning, calls, results and disjoint usage', () => {
  const usage = { input: 3, output: 9, cacheRead: 100, cacheWrite: 20, totalTokens: 132 }
  const transcript = importTranscript(jsonl(
    SESSION,
    user('Read both.'),
    assistant([{ type: 'thinking', thinking: 'Both.', thinkingSignature: 'x' }, text('Reading.'), call('a'), call('b')], { usage, stopReason: 'toolUse' }),
    result('b', 'no file', true),
    result('a', 'one'),
  ))
  expect(transcript).toMatchObject({ format: 'pi-session', model: 'm' })
  expect(sketch(transcript)[1]).toBe('answer: {Both.} Reading. | a read({"path":"a"}) → one | b read({"path":"b"}) → ! no file')
  expect(transcript.items[1]).toMatchObject({ finish: 'tool-calls', usage: { inputTokens: 3, cacheReadTokens: 100, cacheWriteTokens: 20, outputTokens: 9 } })
  expect(skips(transcript)).toEqual({ 'signature of reasoning': 1 })
})

it('keeps the finished text of an aborted or failed answer and counts its calls', () => {
  const transcript = importTranscript(jsonl(
    SESSION,
    user('Go.'),
    assistant([text('I will'), call('a')], { stopReason: 'aborted', errorMessage: 'Request was aborted.' }),
    user('Again.'),
    assistant([], { stopReason: 'error', errorMessage: 'overloaded' }),
  ))
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer ✂: I will', 'person: Again.'])
  expect(skips(transcript)).toEqual({
    'error message of a failed answer': 2,
    'tool call of an interrupted answer': 1,
    'answer without text, call or readable reasoning': 1,
  })
})

it('shows a command that the person ran as context', () => {
  const transcript = importTranscript(jsonl(SESSION, entry({ role: 'bashExecution', command: 'ls', output: 'a.ts', exitCode: 0 }), user('Go.')))
  expect(sketch(transcript)).toEqual(['context: Ran `ls` (exit code 0)\na.ts', 'person: Go.'])
})

it('reads a compaction whose kept start is a 0-based line of the file', () => {
  const compaction = { type: 'compaction', summary: 'What happened.', firstKeptEntryIndex: 3, tokensBefore: 1000 }
  const transcript = importTranscript(jsonl(SESSION, user('One.'), assistant([text('First.')]), user('Two.'), assistant([text('Second.')]), compaction, user('Three.')))
  expect(sketch(transcript)).toEqual(['person: One.', 'answer: First.', 'person: Two.', 'answer: Second.', 'compaction from 2: What happened.', 'person: Three.'])
  expect(transcript.items[4]).toMatchObject({ tokensBefore: 1000, line: 6 })
})

it('moves a kept start inside a unit to the start of the unit', () => {
  const compaction = { type: 'compaction', summary: 'S', firstKeptEntryIndex: 3 }
  const transcript = importTranscript(jsonl(SESSION, user('One.'), assistant([call('a')]), result('a', 'x'), assistant([text('Two.')]), compaction))
  expect(sketch(transcript)[3]).toBe('compaction from 1: S')
})

it('follows the branch of the last entry in a file with ids, and a kept start named by id', () => {
  const linked = (id: string, parentId: string | null) => ({ id, parentId })
  const transcript = importTranscript(jsonl(
    { ...SESSION, version: 3 },
    user('One.', linked('1', null)),
    assistant([text('First.')], {}, linked('2', '1')),
    user('Left.', linked('3', '2')),
    user('Two.', linked('4', '2')),
    { type: 'compaction', summary: 'S', firstKeptEntryId: '4', ...linked('5', '4') },
    { type: 'model_change', provider: 'p', modelId: 'n', ...linked('6', '5') },
  ))
  expect(sketch(transcript)).toEqual(['person: One.', 'answer: First.', 'person: Two.', 'compaction from 2: S'])
  expect(skips(transcript)).toEqual({ 'entry on a branch that was left': 1, 'entry of type model_change': 1 })
})
