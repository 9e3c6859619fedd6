import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const session = (...messages: Fields[]) => importTranscript(JSON.stringify({ info: { id: 'ses', title: 't' }, messages }))
const user = (...parts: Fields[]) => ({ info: { role: 'user' }, parts })
const assistant = (info: Fields, ...parts: Fields[]) => ({ info: { role: 'assistant', modelID: 'm', ...info }, parts: [{ type: 'step-start' }, ...parts] })
const text = (value: string, rest: Fields = {}) => ({ type: 'text', text: value, ...rest })
const tool = (callID: string, status: string, state: Fields = {}) => ({ type: 'tool', callID, tool: 'read', state: { status, input: { path: callID }, ...state } })
const tokens = (input: number, read: number) => ({ tokens: { input, output: 9, reasoning: 4, cache: { read, write: 0 } } })

it('reads parallel calls with the results in their parts; a pending call has none', () => {
  const transcript = session(
    user(text('Read.')),
    assistant(
      { finish: 'tool-calls', ...tokens(40, 60) },
      { type: 'reasoning', text: 'Three.', metadata: { vendor: {} } }, text('Reading.'),
      tool('a', 'completed', { output: 'one', time: { compacted: 5 } }), tool('b', 'error', { error: 'no file' }), tool('c', 'pending'),
      { type: 'patch', hash: 'x' },
    ),
  )
  expect(transcript).toMatchObject({ format: 'opencode-export', model: 'm' })
  expect(sketch(transcript)[1]).toBe('answer: {Three.} Reading. | a read({"path":"a"}) → one | b read({"path":"b"}) → ! no file | c read({"path":"c"}) → ∅')
  expect(transcript.items[1]).toMatchObject({
    finish: 'tool-calls',
    usage: { inputTokens: 40, cacheReadTokens: 60, cacheWriteTokens: 0, outputTokens: 9, reasoningTokens: 4 },
  })
  expect(skips(transcript)).toEqual({
    'encrypted reasoning or signature of a reasoning': 1,
    'part of an answer of type patch': 1,
    'tool result that was cleared later, when it was recorded': 1,
  })
})

it('tells the person from the tool within one message', () => {
  const image = { type: 'file', mime: 'image/png', url: 'data:image/png;base64,' }
  const folder = { type: 'file', mime: 'application/x-directory', url: 'file:///x' }
  const transcript = session(user(text('See @x'), image, folder, text('Listing of x', { synthetic: true })), assistant({}, text('Seen.')))
  expect(sketch(transcript)).toEqual(['person: See @x [image/png]', 'context: Listing of x', 'answer: Seen.'])
  expect(skips(transcript)).toEqual({ "part of a user's message of type file application/x-directory": 1 })
})

it('reads a compaction: the summary stands for everything before it', () => {
  const transcript = session(
    user(text('One.')), assistant({}, text('First.')),
    user({ type: 'compaction', auto: true }), assistant({ summary: true, ...tokens(5, 0) }, text('What happened.')),
    user(text('Go on.', { synthetic: true })), assistant({}, text('Second.')),
  )
  expect(sketch(transcript)).toEqual(['person: One.', 'answer: First.', 'compaction from 2: What happened.', 'context: Go on.', 'answer: Second.'])
  expect(skips(transcript)).toEqual({ 'usage of a request for a summary': 1 })
})

it('parts a message of several steps, each with its own usage', () => {
  const finish = (input: number) => ({ type: 'step-finish', ...tokens(input, 0) })
  const transcript = session(user(text('Go.')), assistant(tokens(99, 0), tool('a', 'completed', { output: 'x' }), finish(10), { type: 'step-start' }, text('Done.'), finish(20)))
  expect(sketch(transcript).slice(1)).toEqual(['answer:  | a read({"path":"a"}) → x', 'answer: Done.'])
  expect(transcript.items.slice(1)).toMatchObject([{ usage: { inputTokens: 10 } }, { usage: { inputTokens: 20 } }])
})

it('keeps the finished text of an answer that was stopped', () => {
  const transcript = session(user(text('Go.')), assistant({ error: { name: 'MessageAbortedError' } }, text('I will'), tool('a', 'running')))
  expect(sketch(transcript)[1]).toBe('answer ✂: I will')
  expect(skips(transcript)).toEqual({ 'error that ended an answer': 1, 'tool call of an interrupted answer': 1 })
})

it('names the message that is none', () => {
  expect(() => session(user(text('Go.')), { parts: [] })).toThrow('message 2: no info with a role')
})
