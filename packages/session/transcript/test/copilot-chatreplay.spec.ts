import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const text = (value: string, ...rest: Fields[]) => [{ type: 1, text: value }, ...rest]
const system = { role: 0, content: text('Be brief.') }
const user = (words: string) => ({ role: 1, content: text(`<context>Monday</context>\n<userRequest>\n${words}\n</userRequest>`) })
const assistant = (said: string, ...ids: string[]) => ({
  role: 2, content: text(said), ...(ids.length === 0 ? {} : { toolCalls: ids.map(id => ({ id, type: 'function', function: { name: 'read', arguments: `{"path":"${id}"}` } })) }),
})
const tool = (toolCallId: string, output: string) => ({ role: 3, toolCallId, content: text(output, { type: 3, cacheType: 'ephemeral' }) })
const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }]
const request = (tokens: number, response: string, ...messages: Fields[]) => ({
  kind: 'request', metadata: { model: 'sonnet', usage: { prompt_tokens: tokens, completion_tokens: 1 }, tools }, requestMessages: { messages }, response: { type: 'success', message: [response] },
})
const toolCall = (id: string, ...response: string[]) => ({ kind: 'toolCall', id, tool: 'read', args: `{"path":"${id}"}`, response })
const replay = (...prompts: [words: string, ...logs: Fields[]][]) =>
  importTranscript(JSON.stringify({ exportedAt: 't', prompts: prompts.map(([prompt, ...logs]) => ({ prompt, logs })) }))

it('takes what each request adds, and an answer where it stands whole', () => {
  const first = [system, user('Read a.')]
  const second = [...first, assistant('Reading.', 'a'), tool('a', 'one')]
  const third = [...second, assistant('It says one.'), user('And b?')]
  const transcript = replay(
    ['Read a.', { kind: 'element' }, request(10, 'Reading.', ...first)],
    ['Read a.', toolCall('a__vscode-1', 'one'), request(20, 'It says one.', ...second)],
    ['And b?', request(30, 'Now b.', ...third), toolCall('b', 'two', 'three')],
  )
  expect(transcript).toMatchObject({ format: 'copilot-chatreplay', model: 'sonnet', system: 'Be brief.', tools: [{ name: 'read' }] })
  expect(sketch(transcript)).toEqual([
    'context: <context>Monday</context>\n<userRequest>\n', 'person: Read a.', 'context: \n</userRequest>',
    'answer: Reading. | a read({"path":"a"}) → one',
    'answer: It says one.',
    'context: <context>Monday</context>\n<userRequest>\n', 'person: And b?', 'context: \n</userRequest>',
    'answer: Now b. | b read({"path":"b"}) → two three',
  ])
  expect(transcript.items.flatMap(item => (item.kind === 'answer' ? [item.usage?.inputTokens] : []))).toEqual([10, 20, 30])
  expect(skips(transcript)).toEqual({ 'log entry of kind element': 1 })
})

it('begins another conversation where older messages are other ones', () => {
  const plain = (words: string) => ({ role: 1, content: words })
  const transcript = replay(['One.', request(10, 'First.', plain('One.'))], ['Two.', request(10, 'Second.', plain('Two.'))])
  expect(sketch(transcript)).toEqual([
    'person: One.', 'answer: First.',
    'compaction from 2: Another recorded conversation begins here; nothing of the one before was shown in it.',
    'person: Two.', 'answer: Second.',
  ])
})

it('counts another envelope and parts that it does not know', () => {
  const first = [system, user('One.')]
  const transcript = replay(
    ['One.', request(10, 'First.', ...first)],
    ['Two.', request(20, 'Second.', { role: 0, content: 'Be kind.' }, ...first.slice(1), assistant('First.'), { role: 1, content: [...text('Two.'), { type: 4 }] })],
  )
  expect(skips(transcript)).toEqual({ 'later system prompt': 1, 'content part of type 4': 1 })
})
