/**
 * What the compiler refuses, append refuses too. `tsc` checks the first half: an `@ts-expect-error` without an error is one.
 */
import { expect, it } from 'vitest'
import { type SessionEvent, type SessionEventType, type SurfaceEvent, type SurfaceEventType } from '../src/index.ts'
import { sessionOf } from './notation.ts'

const message = { content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } } as const

it('a surface type needs a place', () => {
  const session = sessionOf('')
  session.append('user/message', message, { surfaceOp: 'append' })
  // @ts-expect-error a message without a place
  expect(() => session.append('user/message', message)).toThrow('surfaceOp must be')
  // @ts-expect-error an empty placement
  expect(() => session.append('user/message', message, {})).toThrow('surfaceOp must be')
  // @ts-expect-error no such operation
  expect(() => session.append('user/message', message, { surfaceOp: 'prepend' })).toThrow('surfaceOp must be')
  // @ts-expect-error a replace without an end
  expect(() => session.append('user/message', message, { surfaceOp: { op: 'replace', start: 0 } })).toThrow('end undefined is no current entry')
  expect(session.log.length).toBe(1)
})

it('no other type may have one', () => {
  const session = sessionOf('')
  session.append('turn/start', { turn: 1 })
  // @ts-expect-error a place for what no model sees
  expect(() => session.append('turn/end', { turn: 1, reason: 'completed' }, { surfaceOp: 'append' })).toThrow('it carries surfaceOp "append"')
  // @ts-expect-error sources for what no model sees
  expect(() => session.append('turn/end', { turn: 1, reason: 'completed' }, { sourceEventSeqs: [0] })).toThrow('it carries sourceEventSeqs [0]')
  expect(session.log.length).toBe(1)
})

it('data belongs to its type', () => {
  const session = sessionOf('')
  // @ts-expect-error no content
  expect(() => session.append('user/message', { source: { kind: 'user' } }, { surfaceOp: 'append' })).toThrow('its content is undefined')
  // @ts-expect-error explicit undefined is no JSON
  expect(() => session.append('turn/start', { turn: 1, retry: undefined })).toThrow('turn/start data.retry is undefined')
  expect(session.log.length).toBe(0)
})

it('an event is known by its type, and what was appended is frozen for the compiler too', () => {
  const session = sessionOf('')
  const appended: SessionEvent<'user/message'> = session.append('user/message', message, { surfaceOp: 'append' })
  const placed: SurfaceEvent = appended
  const closed: SurfaceEventType[] = ['user/message', 'assistant/message', 'tool/result'] satisfies SessionEventType[]
  // @ts-expect-error a turn boundary is no surface event
  const wrong: SurfaceEvent = session.append('turn/start', { turn: 1 })
  // @ts-expect-error data cannot be written
  expect(() => { appended.data.content = [] }).toThrow(TypeError)
  // @ts-expect-error the log is read only
  expect(() => { session.log.length = 0 }).toThrow(TypeError)
  expect([placed.seq, wrong.seq, closed.length]).toEqual([0, 1, 3])
})
