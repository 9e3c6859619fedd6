import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { sessionsFolder } from '../src/index.ts'
import { titleOf, tokensOf } from '../src/glance.ts'
import { JsonlStorage } from '../src/storage.ts'
import { header, temporaryFolder } from './folder.ts'

const text = (words: string) => [{ type: 'text', text: words }]
const line = (type: string, data: unknown, rest: object = {}): string => JSON.stringify({ seq: 0, time: 1, type, data, ...rest })
const accepted = (kind: string, words: string): string => line('inbox/spliced', { inserted: [{ inputId: 'input-0', kind: 'send', content: text(words), source: { kind } }] })
const answer = (usage?: object): string => line('assistant/message', { content: text('"assistant/message" it said'), ...(usage && { usage }) }, { surfaceOp: 'append' })
const checkpoint = line('user/message', { content: text('summary'), source: { kind: 'plugin', plugin: 'compact' } }, { surfaceOp: { op: 'replace', start: 1, end: 4 } })
const usage = { inputTokens: 100, cacheReadTokens: 20, outputTokens: 3 }

describe('the title is what a person said first', () => {
  it.each<[string, string[], string | undefined]>([
    ['accepted input', [accepted('user', 'Find the leak.'), accepted('user', 'And the other.')], 'Find the leak.'],
    ['a message that entered without an inbox', [line('user/message', { content: text('Hello.'), source: { kind: 'user' } }, { surfaceOp: 'append' })], 'Hello.'],
    ['on one line', [accepted('user', '  Find\n\tthe leak. ')], 'Find the leak.'],
    ['not what a program said', [accepted('context', 'the "user" said'), accepted('user', 'Mine.')], 'Mine.'],
    ['not what a line about users says', [line('weather/report', { by: 'user' })], undefined],
    ['past lines that are cut or odd', ['{"type":"user/mess', '{"user":1}', 'null "user"', accepted('user', 'Mine.')], 'Mine.'],
    ['nothing where nobody spoke', [line('turn/start', { turn: 1 })], undefined],
  ])('%s', (_name, lines, title) => {
    expect(titleOf(lines.join('\n'))).toBe(title)
  })
})

describe('the tokens are those of the newest answer', () => {
  it.each<[string, string[], number | undefined]>([
    ['prompt and answer', [answer(usage), line('turn/end', {})], 123],
    ['past answers without usage', [answer(usage), answer()], 123],
    ['unless the surface was replaced since', [answer(usage), checkpoint], undefined],
    ['and told anew', [answer(usage), checkpoint, answer({ inputTokens: 7, outputTokens: 1 })], 8],
    ['nothing without any', [line('turn/start', { turn: 1 })], undefined],
  ])('%s', (_name, lines, tokens) => {
    expect(tokensOf(lines.join('\n'))).toBe(tokens)
  })
})

it('a list tells both from the ends of a file whose middle it does not read', async () => {
  const storage = new JsonlStorage(temporaryFolder(), problem => expect(problem).toBe(''))
  const store = await storage.create(header)
  const lines = [accepted('user', 'Find the leak.'), ...Array.from({ length: 3 }, () => line('weather/report', { long: 'x'.repeat(400_000) })), answer(usage)]
  lines.forEach((one, seq) => store.append({ ...(JSON.parse(one) as SessionEvent), seq }))
  await store.close()
  expect(await storage.list()).toMatchObject([{ header, title: 'Find the leak.', tokens: 123 }])
})

it.each<[string, Record<string, string>, string]>([
  ['a folder of our own', { DSH_DATA_DIR: '/data', XDG_DATA_HOME: '/xdg' }, '/data/sessions'],
  ['the folder for data', { XDG_DATA_HOME: '/xdg' }, '/xdg/dsh/sessions'],
  ['not one that is relative', { XDG_DATA_HOME: 'xdg' }, '/home/me/.local/share/dsh/sessions'],
  ['the usual place', { DSH_DATA_DIR: '', XDG_DATA_HOME: '' }, '/home/me/.local/share/dsh/sessions'],
])('sessions are kept in %s', (_name, env, folder) => {
  expect(sessionsFolder(env, '/home/me')).toBe(folder)
})
