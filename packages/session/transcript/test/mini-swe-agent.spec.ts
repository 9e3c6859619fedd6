import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch } from './sketch.ts'

const call = (id: string, command: string) => ({ id, type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } })

const trajectory = {
  trajectory_format: 'mini-swe-agent-1.1',
  instance_id: 'task-1',
  info: { exit_status: 'Submitted', config: { model: { model_name: 'vendor/model' } } },
  messages: [
    { role: 'system', content: 'You have a shell.' },
    { role: 'user', content: 'Fix the bug.' },
    {
      role: 'assistant',
      content: 'Looking.',
      tool_calls: [call('c1', 'ls missing')],
      function_call: null,
      extra: {
        actions: [{ command: 'ls missing', tool_call_id: 'c1' }],
        cost: 0.001,
        timestamp: 1,
        response: {
          id: 'r1',
          model: 'model-v3',
          choices: [{ finish_reason: 'tool_calls' }],
          usage: { prompt_tokens: 50, completion_tokens: 7, prompt_cache_hit_tokens: 30, prompt_cache_miss_tokens: 20 },
        },
      },
    },
    { role: 'tool', tool_call_id: 'c1', content: '<returncode>2</returncode>', extra: { raw_output: 'no such file', returncode: 2, timestamp: 2 } },
    { role: 'assistant', content: 'Submitting.', tool_calls: [call('c2', 'submit')], extra: { response: { model: 'model-v3' } } },
    { role: 'exit', content: 'diff', extra: { exit_status: 'Submitted' } },
  ],
}

const transcript = importTranscript(JSON.stringify(trajectory))

it('reads task, answers and results; a return code other than 0 is an error', () => {
  expect(transcript).toMatchObject({ format: 'mini-swe-agent-traj', model: 'model-v3', system: 'You have a shell.' })
  expect(sketch(transcript)).toEqual([
    'person: Fix the bug.',
    'answer: Looking. | c1 bash({"command":"ls missing"}) → ! <returncode>2</returncode>',
    'answer: Submitting. | c2 bash({"command":"submit"}) → ∅',
  ])
})

it('takes usage from the response, with cached tokens apart', () => {
  expect(transcript.items[1]).toMatchObject({ finish: 'tool-calls', usage: { inputTokens: 20, cacheReadTokens: 30, outputTokens: 7 } })
})

it('counts every key that no item keeps, and the exit message', () => {
  expect(transcript.skipped).toEqual([
    { reason: 'key of the file: instance_id', count: 1, line: 1 },
    { reason: 'key of the file: info', count: 1, line: 1 },
    { reason: 'key of a message: extra cost', count: 1, line: 3 },
    { reason: 'key of a message: extra timestamp', count: 2, line: 3 },
    { reason: 'key of a response: id', count: 1, line: 3 },
    { reason: 'key of a message: extra exit_status', count: 1, line: 6 },
    { reason: 'exit message, which no model saw', count: 1, line: 6 },
  ])
})

it('takes what the environment says in a run without tool calls as context', () => {
  const messages = [
    { role: 'user', content: 'Fix it.' },
    { role: 'assistant', content: '```bash\nls\n```' },
    { role: 'user', content: '<returncode>0</returncode>' },
  ]
  const textual = importTranscript(JSON.stringify({ trajectory_format: 'mini-swe-agent-1', messages }))
  expect(sketch(textual)).toEqual(['person: Fix it.', 'answer: ```bash\nls\n```', 'context: <returncode>0</returncode>'])
})
