/** The promises of the session that ships with the project: what its README says of it must hold of the file. */
import { readFileSync } from 'node:fs'
import { homedir, hostname, userInfo } from 'node:os'
import { importTranscript, type AnswerItem } from '@deepseek-ai/dsh-transcript'
import { expect, it } from 'vitest'

const text = readFileSync(new URL('../examples/recorded-session/session.json', import.meta.url), 'utf8')
const { format, items, tools, skipped } = importTranscript(text)
const answers = items.filter((item): item is AnswerItem => item.kind === 'answer')
const callsOf = (answer: AnswerItem) => answer.content.filter(block => block.type === 'tool-call')

it('is plain OpenAI chat with its tools, and a transcript can express all of it', () => {
  expect(format).toBe('openai-chat')
  expect(skipped).toEqual([])
  const known = new Set(tools?.map(tool => tool.name))
  for (const call of answers.flatMap(callsOf)) expect(known).toContain(call.name)
})

it('is long, and not one request only', () => {
  expect(answers.length).toBeGreaterThanOrEqual(120)
  expect(items.filter(item => item.kind === 'input').length).toBeGreaterThanOrEqual(6)
  expect(text.length).toBeGreaterThan(350_000)
  expect(text.length).toBeLessThan(700_000)
})

it('has parallel calls, failing commands and a todo list', () => {
  expect(answers.filter(answer => callsOf(answer).length > 1).length).toBeGreaterThanOrEqual(5)
  const results = answers.flatMap(answer => answer.results.map((result, index) => ({ result, name: callsOf(answer)[index]!.name })))
  expect(results.filter(({ result, name }) => name === 'shell' && result?.isError).length).toBeGreaterThanOrEqual(5)
  expect(results.filter(({ name }) => name === 'todo').length).toBeGreaterThanOrEqual(5)
})

it('has exactly one interrupted turn: calls that nothing answers, and then a person', () => {
  const cutOff = answers.filter(answer => answer.results.includes(null))
  expect(cutOff).toHaveLength(1)
  expect(cutOff[0]!.results.every(result => result === null)).toBe(true)
  expect(items[items.indexOf(cutOff[0]!) + 1]).toMatchObject({ kind: 'input', from: 'person' })
})

it('ends with an answer to the person', () => {
  expect(items.at(-1)).toMatchObject({ kind: 'answer', results: [] })
})

it('knows no machine: no paths, no names, no times', () => {
  const root = new URL('..', import.meta.url).pathname.slice(0, -1)
  for (const name of [root, homedir(), hostname(), `/home/${userInfo().username}`]) {
    if (name.length > 3) expect(new RegExp(`(?<![\\w.-])${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`).test(text), name).toBe(false)
  }
  expect(text).not.toMatch(/\/(?:tmp|var|private|home|Users|root)\/(?!engineer)[\w.-]+/)
  expect(text).not.toMatch(/duration_ms:? (?!0\b)\d/)
})
