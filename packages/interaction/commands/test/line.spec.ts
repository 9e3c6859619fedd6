import { expect, it } from 'vitest'
import { closestNames, parseCommand } from '../src/line.ts'

it.each([
  ['/compact', { name: 'compact', args: '' }],
  ['/compact  ', { name: 'compact', args: '' }],
  ['/Compact now', { name: 'compact', args: 'now' }],
  ['/model deep-seek  v4 ', { name: 'model', args: 'deep-seek  v4' }],
  ['/note first line\nsecond line', { name: 'note', args: 'first line\nsecond line' }],
  ['/note\nonly a second line', { name: 'note', args: 'only a second line' }],
  ['/re-do2', { name: 're-do2', args: '' }],
])('%j is a command', (line, parsed) => {
  expect(parseCommand(line)).toEqual(parsed)
})

it.each(['', '/', '//', '/ compact', ' /compact', 'compact', '/home/me/notes.txt is empty', '/1', '/-x', '/naïve', '/a.b', 'see /compact', '/a_b'])(
  '%j is a message',
  line => {
    expect(parseCommand(line)).toBeNull()
  },
)

const names = ['compact', 'context', 'clear', 'model', 'models', 'q']
it.each([
  ['a letter too many', 'compaact', ['compact']],
  ['a letter too few', 'compct', ['compact']],
  ['another letter', 'conpact', ['compact']],
  ['two letters swapped', 'compcat', ['compact']],
  ['a short word may be off by one only', 'x', ['q']],
  ['nothing near', 'frobnicate', []],
  ['the beginning of some', 'co', ['compact', 'context']],
  ['nearest first, equals by name', 'modle', ['model', 'models'].slice(0, 1)],
  ['a whole word before a longer one', 'model', ['model', 'models']],
])('suggests for %s', (_title, mistyped, expected) => {
  expect(closestNames(mistyped, names)).toEqual(expected)
})

it('suggests three names at most', () => {
  expect(closestNames('a', ['ae', 'ad', 'ac', 'ab'])).toEqual(['ab', 'ac', 'ad'])
})
