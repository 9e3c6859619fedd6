import { describe, expect, it } from 'vitest'
import { checkLog, type Invariant, sessionInvariant, type SessionEvent } from '../src/index.ts'
import { eventsOf } from './notation.ts'

const violationsOf = (drawing: string): string[] =>
  checkLog(eventsOf(drawing), [sessionInvariant]).map(({ seq, invariant, message }) => {
    expect(invariant).toBe('session')
    return `${seq}: ${message}`
  })

it.each([
  ['nothing', ''],
  ['messages outside turns', 'u u'],
  ['a turn without a step', 'T1 u t1'],
  ['turns and steps', 'T1 u S1 H a s1 S2 a s2 t1 T2 u S1 a s1 t2'],
  ['results in any order, begun or not', 'T1 S1 a(x,y,z) y! x! x= y= z= s1 t1'],
  ['the same id in the next step', 'T1 S1 a(x) x! x= s1 S2 a(x) x! x= s2 t1'],
  ['two calls of one id, each begun and answered', 'T1 S1 a(x,x) x! x! x= x= s1 t1'],
  ['rewrites anywhere', 'T1 S1 a(x) x! x= s1 t1 x=[4..4] a[2..2] u[8..7]'],
  ['an end of seed inside a turn', 'T1 S1 a(x) E x= s1 t1'],
])('finds nothing in %s', (_name, drawing) => {
  expect(violationsOf(drawing)).toEqual([])
})

it.each([
  ['a first turn that is not 1', 'T2', '0: turn 2 where turn 1 is due'],
  ['a gap between turns', 'T1 t1 T3', '2: turn 3 where turn 2 is due'],
  ['a turn twice', 'T1 t1 T1', '2: turn 1 where turn 2 is due'],
  ['a turn inside another', 'T1 T2', '1: turn 2 starts while turn 1 is open'],
  ['an end of no turn', 't1', '0: turn 1 ends, and none is open'],
  ['an end of another turn', 'T1 t2', '1: turn 2 where turn 1 is due'],
  ['a turn that ends in its step', 'T1 S1 t1', '2: turn 1 ends while its step 1 is open'],
  ['a step outside any turn', 'S1', '0: step 1 starts outside any turn'],
  ['a step inside another', 'T1 S1 S2', '2: step 2 starts while step 1 is open'],
  ['a gap between steps', 'T1 S1 s1 S3', '3: step 3 where step 2 is due'],
  ['a step of another turn', 'T1 S1@2.1', '1: turn 2 where turn 1 is due'],
  ['an end of no step', 'T1 s1@1.1', '1: step/end of step 1.1 stands outside any step'],
  ['an end of another step', 'T1 S1 s2', '2: step/end of step 1.2 stands in step 1.1'],
  ['a step that ends with calls open', 'T1 S1 a(x,y,z) y= s1', '4: step 1 ends with unanswered calls: x, z'],
  ['an answer outside any step', 'T1 a@1.1', '1: assistant/message of step 1.1 stands outside any step'],
  ['an answer of another step', 'T1 S1 a@1.2', '2: assistant/message of step 1.2 stands in step 1.1'],
  ['a begin of an unknown call', 'T1 S1 a(x) y!', '3: call y begins, but the open step has no such call waiting'],
  ['a begin that comes twice', 'T1 S1 a(x) x! x!', '4: call x begins, but the open step has no such call waiting'],
  ['a begin after the result', 'T1 S1 a(x) x= x!', '4: call x begins, but the open step has no such call waiting'],
  ['a result of an unknown call', 'T1 S1 a(x) y=', '3: a result for y answers no pending call of the open step'],
  ['a result that comes twice', 'T1 S1 a(x) x= x=', '4: a result for x answers no pending call of the open step'],
  ['a result of another step', 'T1 S1 a(x) x=@2.1', '3: tool/result of step 2.1 stands in step 1.1'],
  ['a header outside any turn', 'H', '0: a request header stands outside any turn'],
])('finds %s', (_name, drawing, expected) => {
  expect(violationsOf(drawing)).toEqual([expected])
})

it('goes on after a violation and reports each once', () => {
  expect(violationsOf('T1 S1 a(x) s1 x=@1.1 t1 T3 t3')).toEqual([
    '3: step 1 ends with unanswered calls: x',
    '4: tool/result of step 1.1 stands outside any step',
    '4: a result for x answers no pending call of the open step',
    '6: turn 3 where turn 2 is due',
  ])
})

describe('a log that cannot be one', () => {
  const complete = (): Record<string, unknown>[] => eventsOf('T1 u S1 a(x) x! x= s1 t1') as unknown as Record<string, unknown>[]
  const checked = (events: unknown[]) => checkLog(events as SessionEvent[], [sessionInvariant])

  it.each<[string, (events: Record<string, unknown>[]) => unknown[], number, string]>([
    ['a missing event', events => events.toSpliced(2, 1), 2, 'event 2 (assistant/message) is refused: it is numbered 3, and 2 comes next'],
    ['an event twice', events => events.toSpliced(2, 0, events[2]!), 3, 'event 3 (step/start) is refused: it is numbered 2, and 3 comes next'],
    ['a seq that is a text', events => events.with(0, { ...events[0], seq: '0' }), 0, 'it is numbered "0", and 0 comes next'],
    ['a type that is none', events => events.with(0, { ...events[0], type: 7 }), 0, 'its type is 7, not a name'],
    ['a time that is none', events => events.with(0, { ...events[0], time: 'noon' }), 0, 'its time is "noon", not a number'],
    ['no data', events => events.with(1, { ...events[1], data: null }), 1, 'its data is null, not an object'],
    ['a list for data', events => events.with(0, { ...events[0], data: [] }), 0, 'its data is [], not an object'],
    ['no event', events => events.with(4, null as never), 4, 'it is numbered undefined, and 4 comes next'],
    ['no content', events => events.with(3, { ...events[3], data: {} }), 3, 'event 3 (assistant/message) is refused: its content is undefined, not a list of blocks'],
    ['a text for content', events => events.with(1, { ...events[1], data: { content: 'hello' } }), 1, 'its content is "hello", not a list of blocks'],
    ['a block that is none', events => events.with(1, { ...events[1], data: { content: [{ type: 'text', text: '' }, null] } }), 1, 'its content[1] is null, not a block'],
    ['a surface operation too few', events => events.with(1, { ...events[1], surfaceOp: undefined }), 1, 'event 1.surfaceOp is undefined'],
    ['a surface operation too many', events => events.with(0, { ...events[0], surfaceOp: 'append' }), 0, 'it carries surfaceOp "append"'],
    ['a shadowed start', events => events.with(5, { ...events[5], surfaceOp: { op: 'replace', start: 0, end: 1 } }), 5, 'start 0 is no current entry of the surface'],
    ['a value that JSON has not', events => events.with(1, { ...events[1], data: { content: [], n: Number.NaN } }), 1, 'event 1.data.n is NaN'],
  ])('%s ends the check there', (_name, damage, seq, message) => {
    expect(checked(damage(complete()))).toEqual([{ seq, invariant: 'log', message: expect.stringContaining(message) }])
  })

  it('is still checked up to there', () => {
    const events = eventsOf('T2 u t2 u').toSpliced(2, 1)
    expect(checked(events).map(({ seq, invariant }) => `${seq} ${invariant}`)).toEqual(['0 session', '2 log'])
  })

  it('holds events of unknown types as they are', () => {
    const unknown = { seq: 8, time: 1, type: 'weather/report', data: { rain: true }, note: 'kept' }
    expect(checked([...complete(), unknown])).toEqual([])
  })
})

it('feeds every invariant the state before the event, and the change that it makes', () => {
  const heard: string[] = []
  const listener: Invariant<string[]> = {
    name: 'listener',
    init: () => [],
    violations(state, event, change) {
      heard.push(`${state.length} ${event.seq} ${change === null ? '-' : `${change.at}:${change.removed.join()}`}`)
      return event.type === 'user/message' ? ['one', 'two'] : []
    },
    apply: (state, event) => [...state, event.type],
  }
  const found = checkLog(eventsOf('T1 u u u[1..2] t1'), [sessionInvariant, listener as Invariant<unknown>])
  expect(heard).toEqual(['0 0 -', '1 1 0:', '2 2 1:', '3 3 0:1,2', '4 4 -'])
  expect(found.map(({ seq, invariant, message }) => `${seq} ${invariant} ${message}`)).toEqual(
    [1, 2, 3].flatMap(seq => [`${seq} listener one`, `${seq} listener two`]))
})
