import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { checkEvents } from '../src/check.ts'

type Draft = { readonly type: string; readonly data: unknown; readonly [key: string]: unknown }

const number = (drafts: readonly Draft[]): SessionEvent[] => drafts.map((draft, seq) => ({ seq, time: 0, ...draft })) as unknown as SessionEvent[]
const at = { turn: 1, step: 1 }
const text = [{ type: 'text', text: 'words' }]
const user: Draft = { type: 'user/message', data: { content: text, source: { kind: 'user' } }, surfaceOp: 'append' }
const calls = (...ids: string[]): Draft => ({
  type: 'assistant/message',
  data: { ...at, content: ids.map(id => ({ type: 'tool-call', id, name: 'look', arguments: '{}' })), provider: 'p', model: 'm', finish: 'tool-calls' },
  surfaceOp: 'append',
})
const header: Draft = { type: 'request/header', data: { config: { provider: 'p', model: 'm' }, reason: 'initial' } }
const begun = (callId: string): Draft => ({ type: 'tool/call', data: { ...at, callId } })
const result = (callId: string): Draft => ({ type: 'tool/result', data: { ...at, callId, content: text }, surfaceOp: 'append' })
const turn: Draft = { type: 'turn/start', data: { turn: 1 } }
const step: Draft = { type: 'step/start', data: at }
const asked = [turn, user, step, header]
const start: Draft = { type: 'compaction/start', data: { turn: null, trigger: 'manual' } }

/** Where something is wrong, and by whose word. */
const faults = (...drafts: Draft[]): string[] => checkEvents(number(drafts)).map(({ seq, invariant }) => `${seq} ${invariant}`)

describe('a log that holds', () => {
  it.each<[string, Draft[]]>([
    ['is empty', []],
    ['has a whole step', [...asked, calls('1', '2'), begun('1'), begun('2'), result('1'), result('2'), { type: 'step/end', data: at }, { type: 'turn/end', data: { turn: 1, reason: 'completed' } }]],
    ['breaks off inside a step', [...asked, calls('1', '2'), begun('1'), result('1')]],
    ['holds events nobody knows', [{ type: 'weather/report', data: { sun: true } }]],
  ])('%s', (_title, drafts) => {
    expect(faults(...drafts)).toEqual([])
  })
})

describe('a log that does not', () => {
  it.each<[string, Draft[], string[]]>([
    ['numbers a turn wrong', [{ type: 'turn/start', data: { turn: 2 } }], ['0 session']],
    ['ends a step with a call open', [...asked, calls('1'), { type: 'step/end', data: at }], ['5 session', '5 pairing']],
    ['has a result nobody asked for', [...asked, calls('1'), begun('1'), result('1'), result('1')], ['7 session', '7 pairing']],
    ['has an answer that no header leads to', [turn, user, step, { ...calls('1'), data: { ...at, content: text, provider: 'p', model: 'm', finish: 'stop' } }], ['3 agent-loop']],
    ['has a result of a call that never began', [...asked, calls('1'), result('1')], ['5 tools']],
    ['starts a compaction inside another', [start, start], ['1 compaction']],
    ['replaces what is not there', [user, { ...user, surfaceOp: { op: 'replace', start: 7, end: 7 }, sourceEventSeqs: [] }], ['1 log']],
    [
      'parts a call from its result',
      [...asked, calls('1'), begun('1'), result('1'), { ...user, surfaceOp: { op: 'replace', start: 1, end: 4 }, sourceEventSeqs: [1, 4] }],
      ['7 pairing'],
    ],
  ])('%s', (_title, drafts, found) => {
    expect(faults(...drafts)).toEqual(found)
  })

  it('has a gap in its numbers', () => {
    const [first, second] = number([user, user])
    expect(checkEvents([first!, { ...second!, seq: 5 }]).map(({ invariant }) => invariant)).toEqual(['log'])
  })
})
