import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, it } from 'vitest'
import { withCacheMarks } from '../src/index.ts'

const ROLES = { s: 'system', u: 'user', a: 'assistant', t: 'tool' } as const
const TOOLS: LanguageModelV4FunctionTool[] = ['one', 'two'].map(name => ({ type: 'function', name, inputSchema: {} }))

/** `s* u a t* u*` is a conversation in which system, result and last message are marked. */
function read(picture: string): { prompt: LanguageModelV4Prompt; marked: boolean[] } {
  const messages = picture.split(' ')
  return {
    prompt: messages.map(letter => ({ role: ROLES[letter[0] as keyof typeof ROLES], content: letter[0] === 's' ? 'Be brief.' : [] }) as LanguageModelV4Prompt[number]),
    marked: messages.map(letter => letter.endsWith('*')),
  }
}

it.each([
  ['a first request', 's* u*'],
  ['a request after results, and where the last one ended', 's* u* a t*'],
  ['a step later', 's* u a t* a t*'],
  ['the same with a directive behind it finds what both wrote', 's* u a t* a t* u*'],
  ['a new turn', 's* u a t* a u*'],
  ['a message that joined the results', 's* u* a t* u*'],
  ['several messages in a row: the last two', 's* u u* u*'],
  ['answers in a row count as one', 's* u* a a t*'],
  ['an answer at the end is not marked', 's* u* a t* a'],
  ['no system prompt', 'u* a t*'],
])('%s', (_name, picture) => {
  const { prompt, marked } = read(picture)
  const { prompt: sent, tools } = withCacheMarks(prompt, TOOLS)
  expect(sent.map(message => message.providerOptions !== undefined)).toEqual(marked)
  expect(tools.map(tool => tool.providerOptions !== undefined)).toEqual([false, !picture.startsWith('s')])
  expect(marked.filter(Boolean).length + (picture.startsWith('s') ? 0 : 1)).toBeLessThanOrEqual(4)
})
