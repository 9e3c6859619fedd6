import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

const call = { id: 'c', type: 'function', function: { name: 'book', arguments: '{}' } }
const run = (task: number, policy: string) => ({
  task_id: task,
  reward: 1,
  traj: [
    { role: 'system', content: policy },
    { role: 'user', content: `Book ${task}.` },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'booked' },
  ],
})

it('reads runs one after the other, each begun anew', () => {
  const transcript = importTranscript(JSON.stringify([run(1, 'Be brief.'), run(2, 'Be brief.'), run(3, 'Be kind.')]))
  expect(transcript).toMatchObject({ format: 'tau-bench', system: 'Be brief.' })
  const boundary = 'Another recorded conversation begins here; nothing of the one before was shown in it.'
  expect(sketch(transcript)).toEqual([
    'person: Book 1.', 'answer:  | c book({}) → booked', `compaction from 2: ${boundary}`,
    'person: Book 2.', 'answer:  | c_2 book({}) → booked', `compaction from 5: ${boundary}`,
    'person: Book 3.', 'answer:  | c_3 book({}) → booked',
  ])
  expect(transcript.items[2]).toMatchObject({ boundary: true })
  expect(transcript.items.map(({ line }) => line)).toEqual([2, 3, 5, 6, 7, 9, 10, 11])
  expect(skips(transcript)).toEqual({
    'key of a run: task_id': 3,
    'key of a run: reward': 3,
    'boundary to another conversation of the file, replayed as a compaction': 2,
    'later system prompt': 1,
  })
})

it('names the message of a run that is none', () => {
  const runs = [run(1, 'x'), { task_id: 2, traj: [{ role: 'user', content: 'Hi.' }, {}] }]
  expect(() => importTranscript(JSON.stringify(runs), 'runs.json')).toThrow('runs.json: message 2: no object with a role')
})
