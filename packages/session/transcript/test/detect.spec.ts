import { describe, expect, it } from 'vitest'
import { importTranscript, TranscriptError } from '../src/index.ts'
import { claimants } from './claims.ts'
import { jsonl, sketch, skips } from './sketch.ts'

const CLAUDE_LINE = { type: 'user', uuid: 'u1', parentUuid: null, sessionId: 's', message: { role: 'user', content: 'hi' } }

describe('each format is recognized by its content, and by no other', () => {
  it.each([
    ['claude-code', jsonl({ type: 'summary', summary: 'x' }, CLAUDE_LINE)],
    ['claude-code', jsonl({ type: 'mode', mode: 'normal', sessionId: 's' }, CLAUDE_LINE)],
    ['codex-rollout', jsonl({ timestamp: 't', type: 'session_meta', payload: {} })],
    ['pi-session', jsonl({ type: 'session', id: 's', timestamp: 't', cwd: '/' }, { type: 'message', message: { role: 'user', content: 'hi' } })],
    ['copilot-cli-events', jsonl({ type: 'hook.start', data: {}, id: 'e1' }, { type: 'user.message', data: { content: 'hi' }, id: 'e2', parentId: 'e1' })],
    ['kimi-wire', jsonl({ type: 'metadata', protocol_version: '1.4' }, { timestamp: 1, message: { type: 'TurnBegin', payload: { user_input: 'hi' } } })],
    ['kimi-wire', jsonl({ timestamp: 1, message: { type: 'TurnBegin', payload: { user_input: 'hi' } } })],
    ['kimi-context', jsonl({ role: '_checkpoint', id: 0 }, { role: 'user', content: 'hi' })],
    ['openhands-output', jsonl({ instruction: 'x', history: [{ action: 'message', content: 'hi' }] })],
    ['openhands-output', jsonl({ history: [[{ action: 'message', content: 'hi' }, { observation: 'null' }]] }, { history: [] })],
    ['dsh-session', jsonl({ type: 'session', version: 1, id: 's', createdAt: 1 })],
    ['gemini-cli-chat', JSON.stringify({ sessionId: 's', messages: [{ type: 'user', content: 'hi' }] })],
    ['opencode-export', JSON.stringify({ info: { id: 's' }, messages: [{ info: { role: 'user' }, parts: [{ type: 'text', text: 'hi' }] }] })],
    ['copilot-chatreplay', JSON.stringify({ prompts: [{ prompt: 'hi', logs: [] }] })],
    ['swe-agent-traj', JSON.stringify({ trajectory: [], history: [{ role: 'user', content: 'hi' }] })],
    ['tau-bench', JSON.stringify([{ task_id: 0, traj: [{ role: 'user', content: 'hi' }] }])],
    ['deepseek-harness', jsonl({ type: 'session', version: 0, id: 's', createdAt: 1 })],
    ['aider-history', '# aider chat started at 2026-01-01 10:00:00\n\n#### hi  \n\nho\n'],
    ['mini-swe-agent-traj', JSON.stringify({ trajectory_format: 'mini-swe-agent-1.1', messages: [{ role: 'user', content: 'hi' }] })],
    ['openai-chat', JSON.stringify([{ role: 'user', content: 'hi' }], null, 2)],
    ['openai-chat', JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] })],
  ])('%s', (format, text) => {
    expect(claimants(text)).toEqual([format])
    expect(importTranscript(text).format).toBe(format)
    expect(importTranscript(new TextEncoder().encode(text)).format).toBe(format)
    expect(importTranscript(`\uFEFF${text}`).format).toBe(format)
  })
})

describe('a file of no known format is refused with what was expected and the first line that disagreed', () => {
  it.each([
    ['nothing', '', 1, 'line 1: nothing'],
    ['plain text', 'hello\nworld\n', 1, 'line 1: no JSON'],
    ['broken JSON', '[\n  {"role": "user"},\n  {"role": "user",}\n]', 3, 'line 3: no JSON'],
    ['a number', '42', 1, 'line 1: no JSON object'],
    ['lines of another tool', jsonl({ type: 'metadata', protocol: 1 }), 1, 'line 1: an object of type "metadata" with the keys type, protocol'],
    ['a format that falls at its second line', jsonl({ type: 'summary', summary: 'x' }, { a: 1 }), 2, 'line 2: an object with the keys a'],
    ['side lines alone', jsonl({ type: 'summary', summary: 'x' }), 1, 'line 1: the end of the file, and no message before it'],
    ['side lines, then no JSON', `${jsonl({ type: 'summary', summary: 'x' })}oops\nmore\n`, 2, 'line 2: no JSON object'],
    ['an array of something else', JSON.stringify([{ role: 'user', content: 'hi' }, { kind: 'x' }]), 2, 'message 2: no object with a role'],
    ['an object without messages', JSON.stringify({ chats: [] }), 1, 'message 1: an object without messages'],
    ['no messages', '[]', 1, 'message 1: no message'],
  ])('%s', (_name, text, line, found) => {
    const error = refusal(text)
    expect(error).toMatchObject({ line })
    expect(error.message).toContain(`some.file: ${found}`)
    for (const name of ['dsh session', 'Gemini CLI', 'opencode', 'aider', 'DeepSeek harness', 'chat replay', 'a SWE-agent', 'tau-bench', 'OpenHands', 'Copilot CLI', 'Kimi wire', 'Kimi context', 'Claude Code', 'Codex', 'pi session', 'mini-swe-agent', 'OpenAI chat']) expect(error.expected).toContain(name)
  })
})

it('refuses a damaged line in a file of a known format, naming that format', () => {
  const error = refusal(`${jsonl(CLAUDE_LINE)}oops\n${jsonl(CLAUDE_LINE)}`)
  expect(error.message).toMatch(/^some\.file: line 2: no JSON object; expected a Claude Code session/)
})

it('sets a torn last line aside and counts it', () => {
  const transcript = importTranscript(`${jsonl(CLAUDE_LINE)}{"type":"assi`)
  expect(sketch(transcript)).toEqual(['person: hi'])
  expect(skips(transcript)).toEqual({ 'last line, cut off while it was written': 1 })
})

it('reads lines by the newline alone: U+2028 is an ordinary character', () => {
  const transcript = importTranscript(jsonl({ ...CLAUDE_LINE, message: { role: 'user', content: 'a\u2028b\u2029c' } }))
  expect(sketch(transcript)).toEqual(['person: a\u2028b\u2029c'])
})

function refusal(text: string): TranscriptError {
  try {
    importTranscript(text, 'some.file')
  } catch (error) {
    if (error instanceof TranscriptError) return error
    throw error
  }
  throw new Error('the file was not refused')
}
