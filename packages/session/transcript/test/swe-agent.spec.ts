import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

type Fields = { readonly [key: string]: unknown }

const run = (...history: Fields[]) => importTranscript(JSON.stringify({ environment: 'e', trajectory: [], history }))
const call = (id: string, command: string) => ({ id, type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } })
const system = { role: 'system', content: 'You have a shell.', agent: 'main', message_type: 'system_prompt' }
const demo = { role: 'user', content: 'Here is how it is done.', agent: 'main', is_demo: true }
const task = { role: 'user', content: [{ type: 'text', text: 'Fix the bug.' }], agent: 'main' }
const acts = (content: string, rest: Fields = {}) => ({ role: 'assistant', content, thought: content, action: 'ls', agent: 'main', message_type: 'action', ...rest })

it('reads calls and the results that name them; ids may repeat', () => {
  const transcript = run(
    system, demo, task,
    acts('Looking.', { tool_calls: [call('c', 'ls')] }), { role: 'tool', content: 'a.ts', tool_call_ids: ['c'] },
    acts('Again.', { tool_calls: [call('c', 'ls -a')] }), { role: 'tool', content: '.b', tool_call_ids: ['c'] },
  )
  expect(transcript).toMatchObject({ format: 'swe-agent-traj', system: 'You have a shell.' })
  expect(sketch(transcript)).toEqual([
    'context: Here is how it is done.',
    'person: Fix the bug.',
    'answer: Looking. | c bash({"command":"ls"}) → a.ts',
    'answer: Again. | c_2 bash({"command":"ls -a"}) → .b',
  ])
  expect(skips(transcript)).toEqual({ 'key of the file: environment': 1 })
})

it('takes what the environment says in a run of text actions as context', () => {
  const transcript = run(system, task, acts('Look.\n```\nls\n```'), { role: 'user', content: 'a.ts', agent: 'main' })
  expect(sketch(transcript)).toEqual(['person: Fix the bug.', 'answer: Look.\n```\nls\n```', 'context: a.ts'])
})

it('gives a result of several calls to the first', () => {
  const transcript = run(task, acts('Both.', { tool_calls: [call('c', 'ls'), call('d', 'pwd')] }), { role: 'tool', content: 'x', tool_call_ids: ['c', 'd'] })
  expect(sketch(transcript)[1]).toBe('answer: Both. | c bash({"command":"ls"}) → x | d bash({"command":"pwd"}) → ')
  expect(skips(transcript)).toMatchObject({ 'call that shares the result of another': 1 })
})
