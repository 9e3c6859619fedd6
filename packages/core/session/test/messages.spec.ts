import type { Message } from '@deepseek-ai/dsh-llm'
import { expect, it } from 'vitest'
import { isSurfaceEvent, messageOfEvent, type SessionEvent } from '../src/index.ts'
import { copied, draw, sessionOf } from './notation.ts'

/** Messages drawn by role: `u`, `a`, `t`. */
const roles = (messages: readonly Message[]): string => messages.map(message => message.role[0] === 't' ? 't' : message.role[0]).join('')

it.each([
  ['one message an entry, in surface order', 'u a(x) x= a', 'uata'],
  ['none for what the model does not see', 'T1 u S1 H a(x) x! x= s1 t1 E', 'uat'],
  ['none for an assistant message without content', 'u a() u', 'uu'],
  ['the replacement where the span was', 'u a u a u[0..2]', 'ua'],
  ['none for a replacement without content', 'u a u a()[1..1]', 'uu'],
  ['one where an empty one was', 'u a() u a[1..1]', 'uau'],
])('derives %s', (_name, drawing, expected) => {
  expect(roles(sessionOf(drawing).deriveMessages())).toBe(expected)
})

it('says who made an assistant message, and answers a call by its id in a message of role tool', () => {
  expect(sessionOf('u a(x) x=').deriveMessages()).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'u 0' }] },
    {
      role: 'assistant', provider: 'p', model: 'm',
      content: [{ type: 'text', text: 'a(x) 1' }, { type: 'tool-call', id: 'x', name: 'tool', arguments: '{}' }],
    },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'x', content: [{ type: 'text', text: 'x= 2' }] }] },
  ])
})

it('marks a failed result and leaves what only people read out', () => {
  const session = sessionOf('')
  session.append('tool/result', {
    turn: 1, step: 1, callId: 'x', content: [], isError: true, error: { name: 'E', code: 'C' }, meta: { exitCode: 1 },
  }, { surfaceOp: 'append' })
  expect(session.deriveMessages()).toEqual([{ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'x', content: [], isError: true }] }])
})

it('shares one array: an append extends it, a replace makes a new one and leaves the old as it was', () => {
  const session = sessionOf('u a')
  const first = session.deriveMessages()
  draw(session, 'T1 u a() H')
  expect(session.deriveMessages()).toBe(first)
  expect(roles(first)).toBe('uau')

  draw(session, 'u[0..1]')
  const second = session.deriveMessages()
  expect(second).not.toBe(first)
  expect(roles(first)).toBe('uau')
  expect(roles(second)).toBe('uu')

  draw(session, 'a a')
  expect(session.deriveMessages()).toBe(second)
  expect(roles(second)).toBe('uuaa')
  expect(roles(first)).toBe('uau')
})

it('does not show when it was read', () => {
  const drawing = 'u a(x) x= u[0..0] a u[3..1] a() u u[4..6]'
  const late = sessionOf(drawing)
  const early = sessionOf('')
  for (const event of copied(late.log.from(0)) as SessionEvent<'user/message'>[]) {
    const { type, data, surfaceOp, sourceEventSeqs } = event
    early.append(type, data, { surfaceOp, ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs }) })
    early.deriveMessages()
  }
  expect(early.deriveMessages()).toEqual(late.deriveMessages())
})

it('keeps the identity of messages that stay, frozen, with the logged blocks themselves', () => {
  const session = sessionOf('u a(x) x= u')
  const before = session.deriveMessages()
  draw(session, 'u[0..0]')
  const after = session.deriveMessages()
  expect(after.slice(1).every((message, index) => message === before[index + 1])).toBe(true)
  for (const message of after) expect(Object.isFrozen(message) && Object.isFrozen(message.content)).toBe(true)
  expect(after[1]!.content).toBe((session.log.at(1) as SessionEvent<'assistant/message'>).data.content)
})

it('is what messageOfEvent says of every entry', () => {
  const session = sessionOf('u a(x) x= a() u[0..0] a')
  const one = session.surface.entries.map(seq => session.log.at(seq)).filter(isSurfaceEvent).map(messageOfEvent)
  expect(session.deriveMessages()).toEqual(one.filter(message => message !== null))
})
