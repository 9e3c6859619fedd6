import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ANTHROPIC, OPENAI } from '../src/dialect.ts'
import { createAdapter, OPENAI_COMPATIBLE, promptOf } from '../src/index.ts'
import { ask, call, PIXEL, result, says, text, user } from './messages.ts'
import { sse, startServer, type Server } from './server.ts'

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const prompt = (messages: readonly Message[], blind = false) => promptOf({ provider: 'p', model: 'm', messages, dialect: OPENAI_COMPATIBLE, blind })
const picture = (ref: string): Message => ({ role: 'user', content: [{ type: 'image', mediaType: 'image/png', ref }] })
const stranger = { type: 'hologram' } as unknown as ContentBlock

it('counts what no provider knows, and says so once', async () => {
  const messages = [{ role: 'user' as const, content: [text('Hi'), stranger] }, says([text('ok'), stranger]), user('Go on'), { role: 'user' as const, content: [stranger] }]
  expect(prompt(messages)).toMatchObject({ leftOut: { hologram: 3 }, prompt: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }] })

  const notices: string[] = []
  const adapter = createAdapter({ provider: 'p', family: 'openai-compatible', baseURL: server.url, notice: notice => notices.push(notice) })
  server.script = sse([{ choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] }])
  for (let times = 0; times < 2; times++) await ask(adapter, { messages })
  expect(notices).toEqual(['the request was sent without 3 hologram that no provider knows'])
})

it.each<[string, string, object]>([
  ['a URL is named', 'https://host/a.png', { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://host/a.png') } }],
  ['a data URL is read', `data:image/gif;base64,${PIXEL}`, { type: 'file', mediaType: 'image/gif', data: { type: 'data', data: PIXEL } }],
  ['any other reference is a word', 'store:abc', { type: 'text', text: '[image]' }],
])('of an image that stands elsewhere, %s', (_name, ref, part) => {
  expect(prompt([picture(ref)]).prompt).toEqual([{ role: 'user', content: [part] }])
})

it('a result names the tool of the latest call with its id', () => {
  const { prompt: sent } = prompt([user('Hi'), says([call('c', '{}', 'read')]), result('c', 'one'), says([call('c', '{}', 'list')]), result('c', 'two')])
  expect(sent.filter(({ role }) => role === 'tool').map(({ content }) => content)).toMatchObject([[{ toolName: 'read' }], [{ toolName: 'list' }]])
})

it.each([
  ['a wire that takes few characters', ANTHROPIC, ['a/1', 'a:1'], ['a_1', '2_a_1']],
  ['a wire that takes short ids', OPENAI, [`${'x'.repeat(64)}1`, `${'x'.repeat(64)}2`], ['x'.repeat(64), `2_${'x'.repeat(62)}`]],
  ['any wire, when a later answer has the same id', OPENAI_COMPATIBLE, ['a', 'a'], ['a', '2_a']],
])('calls keep ids of their own on %s', (_name, dialect, ids, sent) => {
  const messages = [user('Hi'), ...ids.flatMap(id => [says([call(id)]), result(id, 'one')])]
  const idsOf = (history: readonly Message[], role: string) =>
    promptOf({ provider: 'p', model: 'm', messages: history, dialect, blind: false }).prompt.flatMap(message => (message.role === role ? (message.content as { toolCallId: string }[]).map(({ toolCallId }) => toolCallId) : []))
  expect(idsOf(messages, 'assistant')).toEqual(sent)
  expect(idsOf(messages, 'tool')).toEqual(sent)
  const together = [user('Hi'), says([...new Set(ids)].map(id => call(id))), ...new Set(ids).values().map(id => result(id, 'one'))]
  expect(idsOf(together, 'tool')).toEqual(idsOf(together, 'assistant'))
  expect(new Set(idsOf(together, 'tool')).size).toBe(new Set(ids).size)
})

it('reads an image that a model made', async () => {
  server.script = sse([{ candidates: [{ content: { role: 'model', parts: [{ text: 'See' }, { inlineData: { mimeType: 'image/png', data: PIXEL } }] }, finishReason: 'STOP' }] }])
  const google = createAdapter({ provider: 'google', family: 'google', baseURL: server.url, apiKey: 'k' })
  expect((await ask(google)).content).toEqual([text('See'), { type: 'image', mediaType: 'image/png', data: PIXEL }])
})
