import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAdapter, type Family } from '../src/index.ts'
import { call, image, READ, requestTo, result, says, text, user } from './messages.ts'
import { json, startServer, type Server } from './server.ts'

let server: Server
beforeAll(async () => {
  server = await startServer(json(418, ''))
})
afterAll(() => server.close())

const words = fc.constantFrom('Hello.', ' spaced ', '', 'ünïcode 語', '{"a":1}')
const args = fc.constantFrom('{"path":"a"}', '{ "path" :  "b" }', '{"path', '', '[1]', '"text"')
const spoken = fc.oneof(words.map(text), fc.constant<ContentBlock>({ type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'sig' }, google: { thoughtSignature: 'sig' } } }))
const content = fc.oneof({ weight: 4, arbitrary: words.map(text) }, { weight: 1, arbitrary: fc.constant(image) })

/** Messages after which a request can be made or made again: no call is left open. */
const stretch: fc.Arbitrary<Message[]> = fc.oneof(
  fc.array(content, { minLength: 1, maxLength: 2 }).map(blocks => [{ role: 'user' as const, content: blocks }]),
  fc.record({
    said: fc.array(spoken, { maxLength: 2 }),
    calls: fc.array(fc.tuple(args, fc.array(content, { maxLength: 2 }), fc.boolean()), { maxLength: 3 }),
    by: fc.constantFrom({ provider: 'p', model: 'm' }, { provider: 'other', model: 'm' }),
  }).map(({ said, calls, by }) => [
    says([...said, ...calls.map(([text], index) => call(`c${index}`, text))], by),
    ...calls.map(([, blocks, failed], index) => result(`c${index}`, blocks, failed || undefined)),
  ]),
)

/** What a provider's cache sees of the conversation, piece by piece. */
const PIECES: { readonly [family in Family]: (body: any) => unknown[] } = {
  'openai-compatible': body => body.messages,
  openai: body => body.input,
  google: body => body.contents,
  anthropic: body => body.messages.flatMap(({ role, content }: { role: string; content: object[] }) => content.map(block => ({ role, ...block, cache_control: undefined }))),
}

it.each(Object.keys(PIECES) as Family[])('%s: a request is the beginning of every longer one', async family => {
  const adapter = createAdapter({ provider: 'p', family, baseURL: server.url, apiKey: 'k' })
  const piecesOf = async (messages: readonly Message[]) => {
    await adapter.stream(requestTo(adapter, { messages, tools: [READ], system: 'Be brief.' })).next().catch(() => {})
    return PIECES[family](server.requests.at(-1)!.body).map(piece => JSON.stringify(piece))
  }
  let compared = 0
  await fc.assert(fc.asyncProperty(fc.array(stretch, { minLength: 1, maxLength: 6 }), async stretches => {
    const all = [user('Begin.'), ...stretches.flat(), user('End.')]
    const whole = await piecesOf(all)
    let length = 1
    for (const next of [[], ...stretches]) {
      length += next.length
      if (all[length - 1]!.role === 'assistant') continue // nobody asks for an answer to an answer
      const part = await piecesOf(all.slice(0, length))
      expect(whole.slice(0, part.length)).toEqual(part)
      compared += 1
    }
  }), { seed: 7, numRuns: 25 })
  expect(compared).toBeGreaterThan(60)
  server.requests.length = 0
})
