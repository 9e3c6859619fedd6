import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import { COMPACT_CHECKPOINT_SOURCE } from '@deepseek-ai/dsh-compaction'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { PERSON_SOURCE, Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { blocksOf } from '../src/blocks.ts'
import { Live } from '../src/live.ts'
import { plain, visibleWidth } from '../src/text.ts'
import { theme } from '../src/theme.ts'
import { Timeline } from '../src/timeline.ts'
import { RUNS, widths, words } from './words.ts'

const append = { surfaceOp: 'append' } as const
const meter = tokenMeter({ charsPerToken: 4 })

interface Story {
  readonly said?: string
  readonly thought?: string
  readonly answered?: string
  readonly tool?: string
  readonly args?: string
  readonly result?: string
  readonly meta?: { readonly [key: string]: unknown }
  readonly error?: string
}

let now = 0
/** One turn with everything in it, then a compaction of it. */
function story({ said = 'look', thought = 'hm', answered = 'Here.', tool = 'read', args = '{"path":"a.ts"}', result = 'one\ntwo', meta, error }: Story): Session {
  now = 1_000
  const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => (now += 500) })
  session.append('turn/start', { turn: 1 })
  const user = session.append('user/message', { content: [{ type: 'text', text: said }], source: PERSON_SOURCE }, append)
  session.append('user/message', { content: [{ type: 'text', text: 'a reminder' }], source: { kind: 'plugin', plugin: 'memory' } }, append)
  session.append('step/start', { turn: 1, step: 1 })
  const content: ContentBlock[] = [{ type: 'reasoning', text: thought }, { type: 'text', text: answered }, { type: 'tool-call', id: 'c', name: tool, arguments: args }]
  session.append('assistant/message', { turn: 1, step: 1, content, provider: 'p', model: 'm', finish: 'tool-calls' }, append)
  session.append('tool/call', { turn: 1, step: 1, callId: 'c' })
  const last = session.append('tool/result', { turn: 1, step: 1, callId: 'c', content: [{ type: 'text', text: result }], ...(meta && { meta }), ...(error !== undefined && { isError: true, error: { name: 'E', code: error } }) }, append)
  session.append('step/end', { turn: 1, step: 1 })
  session.append('turn/end', { turn: 1, reason: 'aborted', by: 'user' })
  const start = session.append('compaction/start', { turn: null, trigger: 'manual' })
  const shadowedSeqs = [...session.surface.entries]
  const shadowedRange = { start: user.seq, end: last.seq }
  session.append('compaction/summary', { startSeq: start.seq, summary: [{ type: 'text', text: 'S' }], shadowedRange, shadowedSeqs, shadowedTokens: 1_234, strategy: 'digest' })
  session.append('user/message', { content: [{ type: 'text', text: answered }], source: COMPACT_CHECKPOINT_SOURCE }, { surfaceOp: { op: 'replace', ...shadowedRange }, sourceEventSeqs: shadowedSeqs })
  session.append('compaction/end', { startSeq: start.seq, turn: null })
  session.append('command/run', { commandId: 'x', name: 'help', args: said })
  session.append('command/done', { commandId: 'x', text: answered })
  return session
}

function lines(session: Session, width: number, open: boolean, color = false, live = new Live()): string[] {
  const timeline = new Timeline(session, live)
  timeline.notice('a notice', 'warning')
  const by = { theme: theme({ color }), width, now: 10_000, spinner: '*', estimateMessage: meter.estimateMessage }
  let shown = timeline.lines(by)
  if (open) for (let index = 0; index < shown.length; index++) timeline.toggle(index)
  shown = timeline.lines(by)
  return Array.from({ length: shown.length }, (_, index) => shown.at(index)).flat()
}

it('a conversation, folded', () => {
  expect(lines(story({}), 60, false).map(plain).join('\n')).toMatchInlineSnapshot(`
    "› look

    ▸ context from memory: a reminder

    ▸ thought · hm

      Here.

    ✓ read  a.ts · 2 lines

    ■ you cancelled this

    ▸ compacted · 4 entries, 1.2k → 6 tokens · 1s · digest · as…

    › /help look
      Here.

    ! a notice"
  `)
})

it('a conversation, opened, on a narrow screen with wide characters', () => {
  expect(lines(story({ said: '请看一下这个文件，谢谢', result: '你好，世界你好，世界你好，世界\nend' }), 30, true).map(plain).join('\n')).toMatchInlineSnapshot(`
    "› 请看一下这个文件，谢谢

    ▾ context from memory: a remi…
      │ a reminder

    ▾ thought · hm
      │ hm

      Here.

    ✓ read  a.ts · 2 lines
      │ path: a.ts
      │ 
      │ 你好，世界你好，世界你好，
      │ 世界
      │ end

    ■ you cancelled this

    ▾ compacted · 4 entries, 1.2k…
      │ Checkpoint
      │ Here.
      │ 
      │ In place of
      │ #1 user: 请看一下这个文件…
      │ #2 user: a reminder
      │ #4 assistant: Here. [read…
      │ #6 tool: 你好，世界你好，…

    › /help 请看一下这个文件，谢谢
      Here.

    ! a notice"
  `)
})

it.each([
  ['a short result is told whole', { result: 'ok' }, '✓ read  a.ts · ok'],
  ['a longer one by its lines', { result: 'a\nb\nc' }, '✓ read  a.ts · 3 lines'],
  ['an edit by what it changed', { tool: 'edit', meta: { diff: '--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y\n+z\n' } }, '✓ edit  a.ts · +2 −1'],
  ['a failure by its first line', { result: 'No such file: a.ts\nTry another.', error: 'ENOENT' }, '✗ read  a.ts · No such file: a.ts'],
  ['a cancel by its name', { result: 'The call was cancelled', error: 'ABORTED' }, '✗ read  a.ts · cancelled'],
  ['arguments that are no JSON as they are', { args: '{"path":"half' }, '✓ read  half · 2 lines'],
  ['many arguments by those that tell most', { args: '{"limit":3,"path":"src","pattern":"x+"}' }, '✓ read  x+  src · 2 lines'],
  ['what is long by its beginning, what came of it by all', { args: `{"command":"${'long '.repeat(30)}"}` }, '✓ read  long long long long long long long long l… · 2 lines'],
])('%s', (_title, init, expected) => {
  expect(lines(story(init), 60, false).map(plain)).toContain(expected)
})

it('whatever is said, no line is wider than the screen, and nothing but styles is sent with it', () => {
  fc.assert(fc.property(words, words, words, words, widths, fc.boolean(), (said, thought, answered, result, width, open) => {
    const session = story({ said, thought, answered, result, args: JSON.stringify({ path: result }), meta: { diff: answered } })
    for (const line of lines(session, width, open, true)) {
      expect(visibleWidth(line)).toBeLessThanOrEqual(width)
      // oxlint-disable-next-line no-control-regex
      expect(line.replace(/\u001b\[[\d;]*m/g, '').replace(/\u001b\]8;;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
    }
  }), { ...RUNS, numRuns: 120 })
})

it('without colour, no colour is sent', () => {
  for (const line of [...lines(story({}), 80, false), ...lines(story({ meta: { diff: '-a\n+b' } }), 80, true)]) {
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/\u001b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]/)
  }
})

it('blocks hold no words', () => {
  expect(JSON.stringify(blocksOf(story({ said: 'SECRET', thought: 'SECRET', answered: 'SECRET', result: 'SECRET', args: '{"a":"SECRET"}' })))).not.toContain('SECRET')
})

/** A step of calls that are answered, and its end; what happens in between can be told as it happens. */
function calls(session: Session, names: readonly string[], between: (name: string) => void = () => {}): number[] {
  const at = { turn: 1, step: 1 }
  session.append('turn/start', { turn: 1 })
  session.append('step/start', at)
  const content = names.map(name => ({ type: 'tool-call', id: name, name, arguments: `{"path":"${name}.ts"}` }) as const)
  session.append('assistant/message', { ...at, content, provider: 'p', model: 'm', finish: 'tool-calls' }, append)
  const seqs = names.map(name => {
    session.append('tool/call', { ...at, callId: name })
    between(name)
    return session.append('tool/result', { ...at, callId: name, content: [{ type: 'text', text: `${name}\n`.repeat(2_000) }] }, append).seq
  })
  session.append('step/end', at)
  return seqs
}

it('what was shortened for the model is one line, which opens to the calls; each of them to the whole', () => {
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  const shorten = (seq: number, text: string): number => {
    const { data } = session.log.at(seq) as SessionEvent<'tool/result'>
    return session.append('tool/result', { ...data, content: [{ type: 'text', text }] }, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] }).seq
  }
  const [one, two] = calls(session, ['one', 'two'])
  const view = shorten(one!, 'o'.repeat(4_000))
  shorten(two!, 't'.repeat(400))
  shorten(view, 'o'.repeat(400))
  expect(lines(session, 60, false).map(plain).slice(0, -2)).toEqual(['✓ one  one.ts · 2,000 lines', '✓ two  two.ts · 2,000 lines', '▸ shortened 2 results · 4k → 208 tokens'])
  const open = lines(session, 60, true).map(plain)
  expect(open.slice(-5, -2)).toEqual(['▾ shortened 2 results · 4k → 208 tokens', '  │ one  one.ts · 2k → 104', '  │ two  two.ts · 2k → 104'])
  expect(open).toContain('  │ … 1,002 more lines')
})

describe('the time of a call', () => {
  let clock: number
  let session: Session
  let live: Live
  beforeEach(() => {
    clock = 0
    live = new Live()
    session = new Session({ header: { id: 's', createdAt: 0 }, now: () => clock, observer: { event: event => live.event(event), flushed() {} } })
  })
  const times = (of: Live): string[] => lines(session, 60, false, false, of).map(plain).slice(0, -2).map(line => line.replace(/^.*lines/, ''))

  it('is without what a person took to allow it, and not known to a screen that was not there', () => {
    calls(session, ['one', 'two'], name => {
      live.asks(name, (clock += 1_000))
      live.answered(name, (clock += 60_000))
      clock += 4_000
    })
    expect(times(live)).toEqual([' · 5s', ' · 5s'])
    expect(times(new Live())).toEqual(['', ''])
  })

  it('ends with a question that nobody answered', () => {
    calls(session, ['one'], name => {
      live.asks(name, (clock += 2_000))
      clock += 60_000
    })
    expect(times(live)).toEqual([' · 2s'])
  })

  it('is not known where its result had to wait for a question about another', () => {
    const at = { turn: 1, step: 1 }
    session.append('turn/start', { turn: 1 })
    session.append('step/start', at)
    const names = ['one', 'two', 'three']
    session.append('assistant/message', { ...at, content: names.map(id => ({ type: 'tool-call', id, name: id, arguments: '{}' })), provider: 'p', model: 'm', finish: 'tool-calls' }, append)
    for (const callId of names) session.append('tool/call', { ...at, callId })
    live.asks('two', clock)
    live.asks('one', clock)
    live.answered('one', (clock += 60_000))
    live.answered('two', (clock += 60_000))
    clock += 3_000
    for (const callId of names) session.append('tool/result', { ...at, callId, content: [{ type: 'text', text: 'a\nb' }] }, append)
    expect(times(live)).toEqual([' · 1m 03s', ' · 3s', ''])
  })

  it('is known from the log since a grant, where that can be of one call only', () => {
    calls(session, ['one'], () => {
      clock += 60_000
      session.append('permission/granted', { scope: 'shell' })
      clock += 4_000
    })
    expect(times(new Live())).toEqual([' · 4s'])
  })
})

it.each([
  ['that another try would not cure says no more', { code: 'AUTH', message: 'bad key' }, 1, '✗ AUTH: bad key'],
  ['after a row of tries tells them', { code: 'SERVER', message: 'busy' }, 3, '✗ SERVER: busy · tried 3 times'],
  ['whose provider asks for a long wait tells it', { code: 'RATE_LIMIT', message: 'slowly', retryAfterMs: 720_000 }, 1, '✗ RATE_LIMIT: slowly · the provider asks to wait 12m 00s'],
  ['of both kinds tells both', { code: 'RATE_LIMIT', message: 'slowly', retryAfterMs: 720_000 }, 2, '✗ RATE_LIMIT: slowly · tried 2 times · the provider asks to wait 12m 00s'],
] as const)('a failure %s', (_title, failure, tries, expected) => {
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  for (let turn = 1; turn <= tries; turn++) {
    session.append('turn/start', { turn, ...(turn > 1 && { retry: true }) })
    session.append('turn/end', { turn, reason: 'error', failure })
  }
  expect(lines(session, 100, false).map(plain)).toContain(expected)
})
