/**
 * Files are written by programs that crash, change and have bugs: whatever is wrong in one, the importer either says so with
 * a `TranscriptError` or gives a transcript that keeps every law.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { importTranscript, TranscriptError } from '../src/index.ts'
import { lawsBroken } from './laws.ts'
import { jsonl } from './sketch.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
const claude = (uuid: string, parentUuid: string | null, type: string, content: Json, rest: { [key: string]: Json } = {}): Json =>
  ({ type, uuid, parentUuid, isSidechain: false, sessionId: 's', message: { id: `m${uuid[0]}`, model: 'm', content, usage: { input_tokens: 3 } }, ...rest })
const codex = (type: string, payload: Json): Json => ({ timestamp: 't', type, payload })
const pi = (message: Json): Json => ({ type: 'message', timestamp: 't', message })
const copilot = (type: string, data: Json): Json => ({ type, data, id: 'e', parentId: null })
const kimi = (type: string, payload: Json): Json => ({ timestamp: 1, message: { type, payload } })
const text = (value: string): Json => ({ type: 'text', text: value })
const event = (seq: number, type: string, data: Json, surfaceOp?: Json): Json => ({ seq, time: seq, type, data, ...(surfaceOp === undefined ? {} : { surfaceOp }) })
const chatCall = (id: string): Json => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })

const CHAT: Json = [
  { role: 'system', content: 's' },
  { role: 'user', content: [text('u'), { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] },
  { role: 'assistant', content: 'a', tool_calls: [chatCall('x'), chatCall('y')], usage: { prompt_tokens: 5 } },
  { role: 'tool', tool_call_id: 'y', content: 'r' },
  { role: 'tool', tool_call_id: 'x', content: 'r' },
  { role: 'assistant', content: 'done' },
]

const LOGS: { [format: string]: Json[] } = {
  'claude-code': [
    { type: 'queue-operation', operation: 'enqueue', content: 'queued', sessionId: 's' },
    claude('u1', null, 'user', 'go'),
    claude('a1', 'u1', 'assistant', [{ type: 'thinking', thinking: 't', signature: 's' }]),
    claude('a2', 'a1', 'assistant', [{ type: 'tool_use', id: 'x', name: 'f', input: { a: 1 } }]),
    claude('r1', 'a2', 'user', [{ type: 'tool_result', tool_use_id: 'x', content: [text('r'), image], is_error: true }]),
    { type: 'attachment', uuid: 't1', parentUuid: 'r1', attachment: { type: 'queued_command', prompt: 'p' } },
    { type: 'system', subtype: 'compact_boundary', uuid: 'c1', parentUuid: null, logicalParentUuid: 't1', compactMetadata: { preTokens: 9, preservedSegment: { headUuid: 'r1', tailUuid: 't1' } } },
    claude('d1', 'c1', 'user', 'summary', { isCompactSummary: true }),
    { type: 'queue-operation', operation: 'remove', sessionId: 's' },
    claude('b1', 'd1', 'assistant', [text('done')]),
    claude('v1', 'b1', 'user', [text('[Request interrupted by user]')]),
  ],
  'codex-rollout': [
    codex('session_meta', { base_instructions: { text: 's' } }),
    codex('turn_context', { model: 'm' }),
    codex('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] }),
    codex('response_item', { type: 'reasoning', summary: [{ type: 'summary_text', text: 't' }] }),
    codex('response_item', { type: 'function_call', name: 'f', arguments: '{}', call_id: 'x' }),
    codex('response_item', { type: 'function_call_output', call_id: 'x', output: 'r' }),
    codex('event_msg', { type: 'token_count', info: { total_token_usage: { total_tokens: 1 }, last_token_usage: { input_tokens: 5, cached_input_tokens: 2 } } }),
    codex('compacted', { message: '', replacement_history: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] }] }),
    codex('response_item', { type: 'custom_tool_call', name: 'p', input: 'free', call_id: 'y' }),
    codex('event_msg', { type: 'turn_aborted' }),
  ],
  'pi-session': [
    { type: 'session', id: 's', timestamp: 't', cwd: '/', modelId: 'm' },
    pi({ role: 'user', content: [text('go')] }),
    pi({ role: 'assistant', stopReason: 'toolUse', usage: { input: 3 }, content: [text('a'), { type: 'toolCall', id: 'x', name: 'f', arguments: {} }] }),
    pi({ role: 'toolResult', toolCallId: 'x', content: [text('r')], isError: false }),
    pi({ role: 'bashExecution', command: 'ls', output: 'o', exitCode: 0 }),
    { type: 'compaction', summary: 'S', firstKeptEntryIndex: 3, tokensBefore: 9 },
    pi({ role: 'assistant', stopReason: 'aborted', content: [text('b'), { type: 'toolCall', id: 'y', name: 'f', arguments: {} }] }),
  ],
  'copilot-cli-events': [
    copilot('session.start', {}),
    copilot('system.message', { content: 's' }),
    copilot('user.message', { content: 'go', transformedContent: 'a go b', attachments: [{}] }),
    copilot('assistant.message', { content: 'a', reasoningText: 't', model: 'm', toolRequests: [{ toolCallId: 'x', name: 'f', arguments: {} }] }),
    copilot('tool.execution_complete', { toolCallId: 'x', success: true, result: { content: 'r' } }),
    copilot('system.notification', { content: 'n' }),
    copilot('assistant.message', { content: 'done' }),
  ],
  'openhands-output': [
    {
      history: [
        { id: 0, source: 'agent', action: 'system', args: { content: 's', tools: [{ function: { name: 'f' } }] } },
        { id: 1, source: 'user', action: 'message', args: { content: 'go', image_urls: ['x'] } },
        { id: 2, source: 'agent', action: 'run', tool_call_metadata: { tool_call_id: 'x', model_response: { id: 'r', choices: [{ message: { content: 'a', tool_calls: [chatCall('x')] } }], usage: { prompt_tokens: 5 } } } },
        { id: 3, source: 'agent', observation: 'run', content: 'r', extras: { metadata: { exit_code: 1 } }, tool_call_metadata: { tool_call_id: 'x' } },
        { id: 4, source: 'agent', action: 'condensation', args: { forgotten_event_ids: [1], summary: 'S' } },
      ],
    },
    { history: [[{ action: 'message', content: 'go' }, { observation: 'null' }], [{ action: 'run', command: 'c', thought: 't' }, { observation: 'run', content: 'r' }]] },
  ],
  'kimi-wire': [
    { type: 'metadata', protocol_version: '1' },
    kimi('TurnBegin', { user_input: 'go' }),
    kimi('StepBegin', { n: 1 }),
    kimi('ContentPart', { type: 'think', think: 't' }),
    kimi('ToolCall', { id: 'x', function: { name: 'f', arguments: '{"a"' } }),
    kimi('ToolCallPart', { arguments_part: ':1}' }),
    kimi('ToolResult', { tool_call_id: 'x', return_value: { output: 'r', message: 'm' } }),
    kimi('StatusUpdate', { token_usage: { input_other: 5 } }),
    kimi('StepBegin', { n: 2 }),
    kimi('ContentPart', { type: 'text', text: 'a' }),
    kimi('StepInterrupted', {}),
  ],
  'kimi-context': [
    { role: '_system_prompt', content: 's' },
    { role: 'user', content: 'go' },
    { role: '_usage', token_count: 5 },
    { role: 'assistant', content: [{ type: 'think', think: 't' }, text('a')], tool_calls: [chatCall('x')] },
    { role: '_usage', token_count: 8 },
    { role: 'tool', tool_call_id: 'x', content: 'r' },
    { role: 'assistant', content: 'done' },
  ],
  'deepseek-harness': [
    { type: 'session', version: 0, id: 's', createdAt: 1 },
    event(0, 'request/header', { header: { system: '{{system}}', tools: [{ name: 'f' }] } }),
    event(1, 'user/message', { content: [text('go')], source: { kind: 'user' } }, 'append'),
    event(2, 'assistant/message', { message: { content: [text('a'), { type: 'tool-call', id: 'x', name: 'f', arguments: '{}' }], source: { model: 'm' } }, usage: { inputTokens: 5 } }, 'append'),
    event(3, 'tool/result', { message: { content: [{ type: 'tool-result', toolCallId: 'x', content: [text('r')], isError: true }] } }, 'append'),
    event(4, 'user/message', { content: [text('S')], source: { kind: 'plugin' } }, { op: 'replace', start: 1, end: 1 }),
    event(5, 'assistant/message', { message: { content: [text('done')] } }, 'append'),
  ],
  'dsh-session': [
    { type: 'session', version: 1, id: 's', createdAt: 1 },
    event(0, 'inbox/spliced', { inserted: [{ inputId: 'i' }] }),
    event(1, 'request/header', { system: 's', tools: [{ name: 'f', parameters: {} }] }),
    event(2, 'user/message', { content: [text('go')], source: { kind: 'user', inputId: 'i' } }, 'append'),
    event(3, 'assistant/message', { content: [text('a'), { type: 'tool-call', id: 'x', name: 'f', arguments: '{}' }], model: 'm', finish: 'tool-calls', usage: { inputTokens: 5 } }, 'append'),
    event(4, 'tool/result', { callId: 'x', content: [text('r')], isError: true, error: { name: 'E', code: 'C' } }, 'append'),
    event(5, 'user/message', { content: [text('S')], source: { kind: 'plugin', plugin: 'compact' } }, { op: 'replace', start: 2, end: 4 }),
  ],
}

const REPLAYED: Json[] = [
  { role: 0, content: [{ type: 1, text: 's' }] },
  { role: 1, content: [{ type: 1, text: 'a <userRequest>\ngo\n</userRequest>' }, { type: 3 }] },
  { role: 2, content: [{ type: 1, text: 'a' }], toolCalls: [chatCall('x')] },
  { role: 3, content: [{ type: 1, text: 'r' }], toolCallId: 'x' },
]

const DOCUMENTS: { [format: string]: Json } = {
  'openai-chat': CHAT,
  'mini-swe-agent-traj': { trajectory_format: 'mini-swe-agent-1.1', messages: CHAT },
  'copilot-chatreplay': {
    prompts: [
      { prompt: 'go', logs: [{ kind: 'request', metadata: { model: 'm', tools: [], usage: { prompt_tokens: 5 } }, requestMessages: { messages: REPLAYED.slice(0, 2) }, response: { message: ['a'] } }] },
      { prompt: 'go', logs: [{ kind: 'request', requestMessages: { messages: REPLAYED } }, { kind: 'toolCall', id: 'y', tool: 'f', args: '{}', response: ['r'] }] },
    ],
  },
  'swe-agent-traj': {
    trajectory: [],
    history: [
      { role: 'system', content: 's' },
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'a', tool_calls: [chatCall('x'), chatCall('y')] },
      { role: 'tool', content: [text('r')], tool_call_ids: ['x', 'y'] },
      { role: 'assistant', content: 'done' },
    ],
  },
  'tau-bench': [{ task_id: 1, traj: CHAT }, { task_id: 2, traj: CHAT }],
  'gemini-cli-chat': {
    sessionId: 's',
    messages: [
      { type: 'user', content: 'go' },
      {
        type: 'gemini', content: 'a', model: 'm', thoughts: [{ subject: 's', description: 'd' }], tokens: { input: 5, cached: 2, output: 1 },
        toolCalls: [{ id: 'x', name: 'f', args: { a: 1 }, status: 'success', result: [{ functionResponse: { id: 'x', response: { output: 'r' } } }] }],
      },
      { type: 'info', content: 'i' },
    ],
  },
  'opencode-export': {
    info: { id: 's' },
    messages: [
      { info: { role: 'user' }, parts: [text('go'), { type: 'text', text: 'c', synthetic: true }, { type: 'file', mime: 'image/png', url: 'x' }] },
      {
        info: { role: 'assistant', modelID: 'm', tokens: { input: 5, cache: { read: 2 } } },
        parts: [{ type: 'step-start' }, text('a'), { type: 'tool', callID: 'x', tool: 'f', state: { status: 'completed', input: {}, output: 'r', attachments: [{ mime: 'image/png' }] } }],
      },
      { info: { role: 'user' }, parts: [{ type: 'compaction' }] },
      { info: { role: 'assistant', summary: true }, parts: [text('S')] },
    ],
  },
}

describe('damage never breaks a law', () => {
  it.each(Object.keys(LOGS))('%s', format => {
    expect(importTranscript(jsonl(...LOGS[format]!)).format).toBe(format)
    damageEverywhere(LOGS[format]!, lines => jsonl(...lines))
  })

  it.each(Object.entries(DOCUMENTS))('%s', (format, document) => {
    expect(importTranscript(JSON.stringify(document)).format).toBe(format)
    damageEverywhere([document], ([damaged]) => JSON.stringify(damaged))
  })

  it('aider-history', () => {
    expect(importTranscript(AIDER.join('\n')).format).toBe('aider-history')
    damageEverywhere(AIDER, lines => lines.join('\n'))
  })
})

const AIDER = [
  '# aider chat started at 2026-01-01 10:00:00', '', '> Models: m with diff edit format  ', '', '#### go  ', '', 'a', '', '> ^C KeyboardInterrupt  ',
  '', '#### /clear  ', '> an output', 'of two lines  ', '', '#### on  ', '', 'done',
]

function damageEverywhere(sample: Json[], write: (damaged: Json[]) => string): void {
  const junk = fc.constantFrom<Json>(null, 0, '', 'x', [], {}, [null], [{}], { type: 'text' }, 'y'.repeat(3))
  const damage = fc.record({ at: fc.nat(), kind: fc.constantFrom('drop', 'repeat', 'swap', 'value'), path: fc.array(fc.nat(), { maxLength: 6 }), junk })
  let read = 0
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), damages => {
      let lines = sample
      for (const { at, kind, path, junk: value } of damages) {
        const index = at % Math.max(1, lines.length)
        if (kind === 'drop' && sample.length > 1) lines = lines.toSpliced(index, 1)
        else if (kind === 'repeat' && sample.length > 1) lines = lines.toSpliced(index, 0, ...lines.slice(index, index + 1))
        else if (kind === 'swap') lines = [...lines.slice(index), ...lines.slice(0, index)]
        else lines = lines.map((line, n) => (n === index ? replaced(line, path, value) : line))
      }
      try {
        expect(lawsBroken(importTranscript(write(lines)))).toEqual([])
        read += 1
      } catch (error) {
        if (!(error instanceof TranscriptError)) throw error
      }
    }),
    { numRuns: 1_000, seed: 20260102 },
  )
  expect(read).toBeGreaterThan(200) // most damage is survived, or the test has gone quiet
}

/** The value with junk at a path of the n-th key, modulo their number, at each level. */
function replaced(value: Json, path: readonly number[], junk: Json): Json {
  const [step, ...rest] = path
  if (step === undefined || value === null || typeof value !== 'object') return junk
  const keys = Object.keys(value)
  const key = keys[step % Math.max(1, keys.length)]
  if (key === undefined) return junk
  if (Array.isArray(value)) return value.with(Number(key), replaced(value[Number(key)]!, rest, junk))
  return { ...value, [key]: replaced(value[key]!, rest, junk) }
}
