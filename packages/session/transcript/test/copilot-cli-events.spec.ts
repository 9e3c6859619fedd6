import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const session = (...events: [type: string, data: Fields][]) =>
  importTranscript(jsonl(...events.map(([type, data], index) => ({ type, data, id: `e${index}`, timestamp: 't', parentId: index === 0 ? null : `e${index - 1}` }))))
const start: [string, Fields] = ['session.start', { sessionId: 's' }]
const call = (toolCallId: string) => ({ toolCallId, name: 'read', arguments: { path: toolCallId }, type: 'function' })

it('reads answers with reasoning and parallel calls; results may come in another order', () => {
  const transcript = session(
    start,
    ['system.message', { role: 'system', content: 'Be brief.' }],
    ['user.message', { content: 'Read both.', transformedContent: '<date>Monday</date>\n\nRead both.\n\n<reminder>Tests!</reminder>', attachments: [{}] }],
    ['assistant.message', { messageId: 'm', model: 'sonnet', content: 'Reading.', reasoningText: 'Both.', reasoningOpaque: 'x', outputTokens: 9, toolRequests: [call('a'), call('b')] }],
    ['tool.execution_complete', { toolCallId: 'b', success: false, error: { message: 'no file' } }],
    ['tool.execution_complete', { toolCallId: 'a', success: true, result: { content: 'one', detailedContent: 'one, at length' } }],
    ['system.notification', { content: 'A shell has ended.' }],
    ['assistant.message', { messageId: 'n', model: 'sonnet', content: 'Done.', toolRequests: [] }],
    ['hook.start', {}],
  )
  expect(transcript).toMatchObject({ format: 'copilot-cli-events', model: 'sonnet', system: 'Be brief.' })
  expect(sketch(transcript)).toEqual([
    'context: <date>Monday</date>\n\n',
    'person: Read both.',
    'context: \n\n<reminder>Tests!</reminder>',
    'answer: {Both.} Reading. | a read({"path":"a"}) → one | b read({"path":"b"}) → ! no file',
    'context: A shell has ended.',
    'answer: Done.',
  ])
  expect(skips(transcript)).toEqual({
    'event session.start, not shown to the model': 1,
    "attachment of a person's message": 1,
    'encrypted reasoning or signature of a reasoning': 1,
    'count of output tokens, without one of the prompt': 1,
    'event hook.start, not shown to the model': 1,
  })
})

it("never takes for a person's words what does not hold them, and counts a later system prompt", () => {
  const transcript = session(
    start,
    ['system.message', { content: 'one' }],
    ['system.message', { content: 'two' }],
    ['user.message', { content: 'Go.', transformedContent: 'Something else' }],
    ['user.message', { content: 'Go on.' }],
  )
  expect(sketch(transcript)).toEqual(['context: Something else', 'person: Go on.'])
  expect(skips(transcript)).toMatchObject({ 'later system prompt': 1 })
})
