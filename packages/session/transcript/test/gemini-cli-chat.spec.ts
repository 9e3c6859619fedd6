import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const chat = (...messages: Fields[]) => importTranscript(JSON.stringify({ sessionId: 's', projectHash: 'p', messages }))
const user = (content: unknown) => ({ id: 'u', timestamp: 't', type: 'user', content })
const gemini = (content: string, rest: Fields = {}) => ({ id: 'g', timestamp: 't', type: 'gemini', content, model: 'pro', ...rest })
const call = (id: string, status: string, response?: Fields) => ({
  id, name: 'read', args: { path: id }, status, displayName: 'Read',
  ...(response === undefined ? {} : { result: [{ functionResponse: { id, name: 'read', response } }] }),
})

it('reads thoughts, text and calls with the results that stand beside them', () => {
  const transcript = chat(
    user('Read both.'),
    gemini('Reading.', {
      thoughts: [{ subject: 'Two files', description: 'Both at once.' }],
      toolCalls: [call('a', 'success', { output: 'one' }), call('b', 'cancelled', { error: 'stopped' }), call('c', 'success', { rows: 2 }), call('d', 'executing')],
    }),
    gemini('Done.'),
  )
  expect(transcript).toMatchObject({ format: 'gemini-cli-chat', model: 'pro', skipped: [] })
  expect(sketch(transcript)).toEqual([
    'person: Read both.',
    'answer: {**Two files**\nBoth at once.} Reading. | a read({"path":"a"}) → one | b read({"path":"b"}) → ! stopped | c read({"path":"c"}) → {"rows":2} | d read({"path":"d"}) → ∅',
    'answer: Done.',
  ])
})

it('takes cached tokens out of the input and counts thoughts as output', () => {
  const transcript = chat(user('Hi.'), gemini('Ho.', { tokens: { input: 100, output: 7, cached: 60, thoughts: 3, tool: 0, total: 110 } }))
  expect(transcript.items[1]).toMatchObject({ usage: { inputTokens: 40, cacheReadTokens: 60, outputTokens: 10, reasoningTokens: 3 } })
})

it('keeps images and counts what the model never saw', () => {
  const transcript = chat(
    user([{ text: 'See' }, { inlineData: { mimeType: 'image/png', data: '' } }, { fileData: { fileUri: 'x' } }]),
    { ...user('Stopped.'), type: 'info' },
    { ...gemini('Ho.'), mood: 'good' },
  )
  expect(sketch(transcript)).toEqual(['person: See [image/png]', 'answer: Ho.'])
  expect(skips(transcript)).toEqual({ 'content part of the keys fileData': 1, 'message of type info, for the screen only': 1, 'key of a message: mood': 1 })
})

it('names the message that is none', () => {
  expect(() => chat(user('Hi.'), { content: 'Ho.' })).toThrow('message 2: no object with a type')
})
