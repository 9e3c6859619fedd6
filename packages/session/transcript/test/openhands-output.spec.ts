import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { jsonl, sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const runs = (...histories: Fields[][]) => importTranscript(jsonl(...histories.map(history => ({ instance_id: 'i', instruction: 'x', history }))))
const system = { id: 0, source: 'agent', action: 'system', args: { content: 'Be brief.', tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }] } }
const asked = (content: string, rest: Fields = {}) => ({ id: 1, source: 'user', action: 'message', args: { content }, ...rest })

/** The metadata of a call in a response that makes calls of these ids. */
const metadata = (toolCallId: string, ids: readonly string[], said = '') => ({
  tool_call_metadata: {
    function_name: 'read',
    tool_call_id: toolCallId,
    total_calls_in_response: ids.length,
    model_response: {
      id: `r-${ids[0]}-${said}`,
      model: 'llama',
      choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: said, tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'read', arguments: `{"path":"${id}"}` } })) } }],
      usage: { prompt_tokens: 100, completion_tokens: 7 },
    },
  },
})
const action = (id: number, call: Fields) => ({ id, source: 'agent', action: 'read', args: { path: 'x', thought: 't' }, ...call })
const observation = (id: number, content: string, rest: Fields) => ({ id, source: 'agent', observation: 'read', content, extras: {}, ...rest })

it('takes an answer from the response that its actions name, once', () => {
  const [a, b] = [metadata('a', ['a', 'b'], 'Both.'), metadata('b', ['a', 'b'], 'Both.')]
  const transcript = runs([system, asked('Read.'), action(2, a), action(3, b), observation(4, 'one', { ...a, cause: 2 }), observation(5, 'no file', { ...b, observation: 'error', cause: 3 })])
  expect(transcript).toMatchObject({ format: 'openhands-output', model: 'llama', system: 'Be brief.', tools: [{ name: 'read' }], skipped: [] })
  expect(sketch(transcript)).toEqual(['person: Read.', 'answer: Both. | a read({"path":"a"}) → one | b read({"path":"b"}) → ! no file'])
  expect(transcript.items[1]).toMatchObject({ usage: { inputTokens: 100, outputTokens: 7 } })
})

it('shows the output of a command as the model saw it', () => {
  const call = metadata('a', ['a'])
  const shell = { metadata: { exit_code: 2, working_dir: '/w', py_interpreter_path: '', prefix: '', suffix: '\n[Failed.]' } }
  const transcript = runs([system, asked('Go.'), action(2, call), observation(3, 'no such file', { ...call, observation: 'run', extras: shell })])
  expect(sketch(transcript)[1]).toBe(
    'answer:  | a read({"path":"a"}) → ! no such file\n[Failed.]\n[Current working directory: /w]\n[Command finished with exit code 2]',
  )
})

it('reads bare actions of older runs: the action is the call, the next observation its result', () => {
  const transcript = runs([
    { action: 'message', content: 'Go.', images_urls: null },
    { action: 'run', command: 'ls', thought: 'Looking.', is_confirmed: 'confirmed' },
    { observation: 'run', content: 'a.ts', exit_code: 0 },
    { action: 'run', command: 'cat b', thought: '' },
    { observation: 'run', content: 'no file', exit_code: 1 },
    { action: 'message', content: 'There is one file.' },
    { observation: 'error', content: 'Say more.' },
    { action: 'finish', outputs: {}, thought: 'Done.' },
  ])
  expect(sketch(transcript)).toEqual([
    'person: Go.',
    'answer: Looking. | call_1 run({"command":"ls"}) → a.ts',
    'answer:  | call_2 run({"command":"cat b"}) → ! no file',
    'answer: There is one file.',
    'context: Say more.',
    'answer: Done. | call_3 finish({"outputs":{}}) → ∅',
  ])
})

it('begins each run anew, though call ids repeat, and counts another system prompt', () => {
  const call = metadata('a', ['a'])
  const run = (said: string) => [{ ...system, args: { ...system.args, content: said } }, asked('Go.'), action(2, call), observation(3, 'x', call)]
  const transcript = runs(run('one'), run('two').slice(0, 3))
  expect(sketch(transcript)).toEqual([
    'person: Go.',
    'answer:  | a read({"path":"a"}) → x',
    'compaction from 2: Another recorded conversation begins here; nothing of the one before was shown in it.',
    'person: Go.',
    'answer:  | a_2 read({"path":"a"}) → ∅',
  ])
  expect(skips(transcript)).toEqual({ 'later system prompt': 1, 'boundary to another conversation of the file, replayed as a compaction': 1 })
})

it('takes what was looked up about the workspace as context', () => {
  const recalled = { id: 3, source: 'environment', observation: 'recall', content: 'Added', extras: { microagent_knowledge: [{ content: 'Use forks.' }], repo_instructions: 'Run tests.' } }
  const transcript = runs([system, asked('Go.'), { id: 2, source: 'user', action: 'recall', args: {} }, recalled])
  expect(sketch(transcript)).toEqual(['person: Go.', 'context: Run tests. Use forks.'])
  expect(skips(transcript)).toEqual({ 'action recall, not shown to the model': 1 })
})

it('reads a condensation: the summary stands for the events up to the last forgotten one', () => {
  const [a, b] = [metadata('a', ['a']), metadata('b', ['b'])]
  const condensation = { id: 6, source: 'agent', action: 'condensation', args: { forgotten_events_start_id: 2, forgotten_events_end_id: 3, summary: 'What happened.' } }
  const transcript = runs([system, asked('Go.'), action(2, a), observation(3, 'x', a), action(4, b), observation(5, 'y', b), condensation])
  expect(sketch(transcript)[3]).toBe('compaction from 2: What happened.')
  expect(skips(transcript)).toEqual({ 'beginning that was kept in front of a summary': 1 })
})
