import type { Message } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { openAiMessage, openAiMessages } from '../src/openai-shape.ts'

const text = (words: string) => ({ type: 'text', text: words }) as const
const call = (id: string, given: string) => ({ type: 'tool-call', id, name: 'look', arguments: given }) as const

describe('a message on the wire', () => {
  it.each<[string, Message, unknown]>([
    ['one text is a string', { role: 'user', content: [text('hello')] }, { role: 'user', content: 'hello' }],
    [
      'several parts stay parts, and an image leaves its pixels behind',
      { role: 'user', content: [text('see'), { type: 'image', mediaType: 'image/png', data: 'AAAA' }] },
      { role: 'user', content: [{ type: 'text', text: 'see' }, { type: 'image_url', image_url: { url: 'data:image/png;omitted' } }] },
    ],
    [
      'an image by reference keeps it',
      { role: 'user', content: [{ type: 'image', mediaType: 'image/png', ref: 'https://example.com/a.png' }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
    ],
    [
      'calls without a word have null content',
      { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, call('1', '{"a":1}')] },
      { role: 'assistant', content: null, tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }] },
    ],
    ['reasoning alone is nothing to send', { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] }, null],
    ['blank text alone is nothing to send', { role: 'assistant', content: [text(' \n')] }, null],
    [
      'a result answers by its id',
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', content: [text('found')], isError: true }] },
      { role: 'tool', tool_call_id: '1', content: 'found' },
    ],
    [
      'an empty result is an empty string',
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', content: [] }] },
      { role: 'tool', tool_call_id: '1', content: '' },
    ],
  ])('%s', (_title, message, shape) => {
    expect(openAiMessage(message)).toEqual(shape)
  })

  it.each(['', ' ', '{', 'ls -la', '"unclosed', 'null', '[1]', '{"a":"\u2028"}'])('makes JSON of the arguments %j', given => {
    const shape = openAiMessage({ role: 'assistant', content: [call('1', given)] })
    expect(() => JSON.parse(shape!.tool_calls![0]!.function.arguments) as unknown).not.toThrow()
  })
})

it('puts the system prompt first, where there is one', () => {
  const messages: Message[] = [{ role: 'user', content: [text('hello')] }]
  expect(openAiMessages({ messages, system: 'be kind' }).map(({ role }) => role)).toEqual(['system', 'user'])
  expect(openAiMessages({ messages, system: '' }).map(({ role }) => role)).toEqual(['user'])
  expect(openAiMessages({ messages }).map(({ role }) => role)).toEqual(['user'])
})
