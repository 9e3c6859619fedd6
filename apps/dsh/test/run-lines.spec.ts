import { Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { expect, it } from 'vitest'
import { RunLines } from '../src/run-lines.ts'
import { RunTally } from '../src/run-tally.ts'

const text = (words: string) => [{ type: 'text', text: words }] as const
const call = (id: string, args: string) => ({ type: 'tool-call', id, name: 'shell', arguments: args }) as const
const at = { turn: 1, step: 1 }
const route = { provider: 'p', model: 'm' }

/** A turn of two steps with a compaction between; the second call fails. */
function events(): SessionEvent[] {
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  session.append('turn/start', { turn: 1 })
  const said = session.append('user/message', { content: text('Do it.'), source: { kind: 'user' } }, { surfaceOp: 'append' })
  session.append('step/start', at)
  session.append('assistant/message', { ...at, ...route, finish: 'tool-calls', content: [...text('I look.'), call('a', '{"command":"ls"}'), call('b', `{"command":"${'x'.repeat(300)}"}`)], usage: { inputTokens: 10, cacheReadTokens: 5, outputTokens: 2 } }, { surfaceOp: 'append' })
  for (const callId of ['a', 'b']) session.append('tool/call', { ...at, callId })
  session.append('tool/result', { ...at, callId: 'a', content: text('file') }, { surfaceOp: 'append' })
  session.append('tool/result', { ...at, callId: 'b', content: text('no such\n  file'), isError: true }, { surfaceOp: 'append' })
  session.append('step/end', at)
  const { seq: startSeq } = session.append('compaction/start', { turn: 1, trigger: 'pressure' })
  session.append('compaction/summary', { startSeq, summary: text('sum'), shadowedRange: { start: said.seq, end: said.seq }, shadowedSeqs: [said.seq], shadowedTokens: 12_000, strategy: 'replay', usage: { inputTokens: 100, outputTokens: 20 } })
  session.append('compaction/end', { startSeq, turn: 1, error: 'it was not smaller' })
  session.append('step/start', { turn: 1, step: 2 })
  session.append('assistant/message', { turn: 1, step: 2, ...route, finish: 'stop', content: text('Done.'), usage: { inputTokens: 1, outputTokens: 1 } }, { surfaceOp: 'append' })
  session.append('step/end', { turn: 1, step: 2 })
  session.append('turn/end', { turn: 1, reason: 'completed' })
  return [...session.log.from(0)]
}

it('tells what happens, a line each, and leaves the answer to stdout', () => {
  const lines = new RunLines()
  const told = events().flatMap(event => lines.of(event))
  expect(told.map(line => line.slice(0, 40))).toEqual([
    'I look.',
    '• shell {"command":"ls"}',
    '• shell {"command":"xxxxxxxxxxxxxxxxxxxx',
    '✗ shell: no such file',
    'compacting the conversation (pressure)',
    'compacted 1 entries of about 12.0k token',
    '✗ not compacted: it was not smaller',
  ])
  for (const line of told) expect(line.length).toBeLessThanOrEqual(120)
})

it('sums what was reported, summaries included, and knows the answer from what led to it', () => {
  const tally = new RunTally()
  const all = events()
  for (const event of all.slice(0, -2)) tally.observe(event)
  expect(tally.end).toBeNull()
  for (const event of all.slice(-2)) tally.observe(event)
  expect(tally.end).toMatchObject({ reason: 'completed' })
  expect(tally.answer).toBe('Done.')
  expect(tally.usage).toEqual({ inputTokens: 111, cacheReadTokens: 5, cacheWriteTokens: 0, outputTokens: 23, reasoningTokens: 0 })
})
