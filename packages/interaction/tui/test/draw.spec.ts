import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import { COMPACT_CHECKPOINT_SOURCE } from '@deepseek-ai/dsh-compaction'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { PERSON_SOURCE, Session } from '@deepseek-ai/dsh-session'
import fc from 'fast-check'
import { expect, it } from 'vitest'
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

function lines(session: Session, width: number, open: boolean, color = false): string[] {
  const timeline = new Timeline(session, new Live())
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
