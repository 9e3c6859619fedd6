import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import { sketch, skips } from './sketch.ts'

const START = '# aider chat started at 2026-01-01 10:00:00'
const BOUNDARY = 'Another recorded conversation begins here; nothing of the one before was shown in it.'
/** aider's own lines end in two spaces, which nobody shall trim here. */
const person = (...lines: string[]) => lines.map(line => `#### ${line}  `).join('\n')
const screen = (...lines: string[]) => lines.map(line => `> ${line}  `).join('\n')
const history = (...blocks: string[]) => importTranscript(`${blocks.join('\n\n')}\n`)

it('tells the person, the screen and the model apart by the two spaces at the end', () => {
  const transcript = history(
    START,
    screen('Aider v1', 'Models: sonnet with diff edit format'),
    person('Use the helper', '', 'everywhere.'),
    'Here:\n\n#### A heading\n\n> a quotation\n\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE',
    screen('Applied edit to a.ts'),
    person('Thanks.'),
    'Welcome.',
  )
  expect(transcript).toMatchObject({ format: 'aider-history', model: 'sonnet' })
  expect(sketch(transcript)).toEqual([
    'person: Use the helper\n\neverywhere.',
    'answer: Here:\n\n#### A heading\n\n> a quotation\n\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE',
    'person: Thanks.',
    'answer: Welcome.',
  ])
  expect(transcript.items.map(({ line }) => line)).toEqual([6, 10, 22, 24])
  expect(skips(transcript)).toEqual({ 'line of the screen': 3 })
})

it('begins another conversation with every start that has one, and behind /clear', () => {
  const transcript = history(START, START, person('One.'), 'First.', START, screen('Bye.'), START, person('Two.'), 'Second.', person('/clear'), person('Three.'), 'Third.', START)
  expect(sketch(transcript)).toEqual([
    'person: One.', 'answer: First.', `compaction from 2: ${BOUNDARY}`,
    'person: Two.', 'answer: Second.', `compaction from 5: ${BOUNDARY}`,
    'person: Three.', 'answer: Third.',
  ])
})

it('sends what /ask asks, counts other commands, and takes what aider asks for as context', () => {
  const transcript = history('-*- a mode line -*-', START, person('/add a.ts'), person('!ls'), person('/ask Why?'), 'Because.', person('# Fix any errors below, if possible.', 'a.ts:1'), 'Fixed.')
  expect(sketch(transcript)).toEqual(['person: Why?', 'answer: Because.', 'context: # Fix any errors below, if possible.\na.ts:1', 'answer: Fixed.'])
  expect(skips(transcript)).toEqual({ 'command of the person': 2, 'text before the first start of aider': 1 })
})

it('takes an output of several lines to the one that ends in two spaces, or to the end', () => {
  const output = '> === tests ===\n\none\n    \ntwo\n\n=== 1 failed ===  '
  const transcript = history(START, person('/test'), output, 'One failed:\n\n> two\n\nFixed.', screen('Tokens: 5 sent'), person('/map'), '> a.ts:\n\nb.ts:')
  expect(sketch(transcript)[1]).toBe('answer: One failed:\n\n> two\n\nFixed.')
  expect(transcript.items).toHaveLength(2)
  expect(skips(transcript)).toMatchObject({ 'line of the screen': 12, 'command of the person': 2 })
})

it('marks an answer that was stopped', () => {
  const stop = screen('', '^C KeyboardInterrupt')
  const transcript = history(START, person('Go.'), 'I was', stop, person('Again.'), 'Done.', screen('Tokens: 5 sent'), stop)
  expect(sketch(transcript)).toEqual(['person: Go.', 'answer ✂: I was', 'person: Again.', 'answer: Done.'])
})
