/**
 * The law of the screen: whatever happens, what is shown is what the log says.
 *
 * Random histories through the real loop, a scripted model behind it and a person at the keyboard before it. After every event
 * the blocks on the screen are those that the log alone gives, through JSON, and their lines are those of a screen that is new.
 */
import type { ContentBlock, GenerateOptions, ScriptedReply } from '@deepseek-ai/dsh-llm'
import { ScriptedAdapter } from '@deepseek-ai/dsh-llm'
import type { Fold, SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import type { Tool } from '@deepseek-ai/dsh-tools'
import fc from 'fast-check'
import { deepStrictEqual } from 'node:assert/strict'
import { setImmediate as breath } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { blocksOf, type Block } from '../src/blocks.ts'
import { Chat } from '../src/chat.ts'
import { theme } from '../src/theme.ts'
import { Timeline } from '../src/timeline.ts'
import { HeadlessTerminal } from './headless.ts'
import { stage } from './stage.ts'

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const reasoning: ContentBlock = { type: 'reasoning', text: 'Hm.\nWhat is next?' }
const call = (name: string): ContentBlock => ({ type: 'tool-call', id: '', name, arguments: '{"path":"a"}' })
const REPLIES = {
  words: 'It is **done**.\n\n- one\n- two',
  thought: { content: [text(''), reasoning, text('So it is.')] },
  look: { content: [reasoning, call('look')] },
  looks: { content: [text('I look.'), call('look'), call('look')] },
  big: { content: [call('big'), call('big')] },
  ask: { content: [call('ask'), call('ask')] },
  break: { content: [call('break'), call('nothing')] },
  long: { content: [text('word '.repeat(300))] },
  cut: { content: [text('As I was say'), call('look')], finish: 'max-tokens' },
  auth: { failure: { code: 'AUTH', message: 'no' }, after: [text('half a')] },
  rate: { failure: { code: 'RATE_LIMIT', message: 'slowly' } },
  later: { failure: { code: 'RATE_LIMIT', message: 'later', retryAfterMs: 3_600_000 } },
  overflow: { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } },
} satisfies { [name: string]: ScriptedReply }
const tools: Tool[] = [
  { name: 'look', parameters: { type: 'object' }, parallel: true, execute: async (_args, { output }) => (output('looking\n'), await breath(), 'seen') },
  { name: 'big', parameters: { type: 'object' }, execute: () => 'x'.repeat(10_000) },
  { name: 'ask', parameters: { type: 'object' }, parallel: true, permission: () => ({ scope: 'ask', title: 'May it?' }), execute: () => 'it did' },
  { name: 'break', parameters: { type: 'object' }, execute: () => { throw new Error('broken') } },
]

const KEYS = {
  say: ['go on', '\r'], later: ['then that', '\u001b\r'], back: ['\u001b[1;3A'], stop: ['\u001b'], compact: ['/compact', '\r'],
  yes: ['y'], always: ['a'], no: ['n', 'no', '\r'],
} as const

const names = <K extends string>(of: { readonly [name in K]: unknown }): fc.Arbitrary<K> => fc.constantFrom(...(Object.keys(of) as K[]))
const histories = fc.record({
  replies: fc.array(fc.oneof(names(REPLIES), fc.constantFrom('big' as const, 'rate' as const)), { minLength: 1, maxLength: 14 }),
  summaries: fc.array(fc.constantFrom('## Goal\nTo go on.', ''), { maxLength: 4 }),
  /** Each pressed so many events and deltas after the one before. */
  keys: fc.array(fc.record({ after: fc.nat(14), name: names(KEYS) }), { maxLength: 10 }),
})
type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

it('what is shown is what the log says, after every event of any history', { timeout: 60_000 }, async () => {
  let history: History
  let asked = 0
  let summarized = 0
  const model = new ScriptedAdapter({
    models: { m: { contextWindow: 10_000 } },
    async replies({ purpose }: GenerateOptions) {
      await breath()
      return purpose === 'compaction' ? (history.summaries[summarized++] ?? 'All that was.') : REPLIES[history.replies[asked++] ?? 'words']
    },
  })
  const { ctx } = await stage(model, tools, { firstWaitMs: 1, maxRetries: 2 })
  const seen = new Map<string, number>()

  await fc.assert(fc.asyncProperty(histories, async drawn => {
    history = drawn
    asked = summarized = 0
    const session = await ctx.sessions.create()
    const agent = ctx.agents.create(session, { provider: 'scripted', model: 'm', maxTokens: 1_000 })
    const terminal = new HeadlessTerminal(80, 24)
    const chat = new Chat(ctx, { agent, terminal, theme: SCREEN.theme })
    const log: SessionEvent[] = []
    const fault: { found?: unknown } = {}
    const shown = (): Block[] => blocksIn(chat.timeline()).filter(({ kind }) => kind !== 'notice')
    let streamed: string[] = []
    let ticks = 0
    let next = 0
    const press = (keys: readonly string[]): void => keys.forEach(part => (part.startsWith('\u001b') ? terminal.press(part) : terminal.press(...part)))
    const tick = (): void => {
      const key = history.keys[next]
      if (key === undefined || ++ticks <= key.after) return
      ticks = 0
      next += 1
      queueMicrotask(() => press(KEYS[key.name]))
    }
    const before = ctx.on('session/event', (of, event) => {
      if (of === session && event.type === 'assistant/message') streamed = chat.timeline().live.blocks().map(({ key }) => key)
    }, { prepend: true })
    const left = chat.run()
    const check = (event: SessionEvent): void => {
      log.push(JSON.parse(JSON.stringify(event)) as SessionEvent)
      const rebuilt = blocksOf({ read: <S>({ init, apply }: Fold<S>) => log.reduce((state, of) => apply(state, of, null), init()) })
      deepStrictEqual(shown(), rebuilt)
      if (event.type === 'assistant/message' && event.surfaceOp === 'append' && !event.data.interrupted) {
        // What was opened while it streamed stays open.
        const logged = rebuilt.filter(block => 'words' in block && 'seq' in block.words && block.words.seq === event.seq).map(({ key }) => key)
        deepStrictEqual(streamed.slice(0, logged.length), logged)
      }
      deepStrictEqual(linesOf(chat.timeline()), linesOf(new Timeline(session, chat.timeline().live)))
    }
    const listening = [
      before,
      ctx.on('session/event', (of, event) => {
        if (of !== session || 'found' in fault) return
        try {
          check(event)
        } catch (error) {
          fault.found = error
        }
        tick()
      }),
      ctx.on('agent/delta', tick),
    ]
    press(KEYS.say)
    for (let idle = 0; idle < 3; idle++) {
      if (chat.isWorking() || chat.doing() !== null) idle = 0
      await breath()
      if (chat.isWorking() && chat.doing() === null) press(KEYS.yes) // somebody has to
    }
    chat.quit()
    await left
    for (const stop of listening) stop()
    if ('found' in fault) throw fault.found
    expectReplays(session)
    const { live } = chat.timeline()
    deepStrictEqual([live.runs.size, live.outputs.size, live.blocks(), [...live.ranMs.values()].filter(ms => ms < 0)], [0, 0, [], []])
    for (const block of shown()) {
      const name = block.kind === 'end' && block.tries > 1 ? 'end after tries' : 'interrupted' in block ? 'cut short' : block.kind
      seen.set(name, (seen.get(name) ?? 0) + 1)
    }
    await ctx.agents.release(agent)
    await ctx.sessions.close(session)
  }), { numRuns: 250, seed: 7 })
  await ctx.fiber.dispose()
  // The histories must not go quiet.
  expect([...seen.keys()].sort()).toEqual(['answer', 'call', 'command', 'compaction', 'cut short', 'end', 'end after tries', 'person', 'reasoning', 'shortened'])
  for (const count of seen.values()) expect(count).toBeGreaterThan(10)
})

function blocksIn(timeline: Timeline): Block[] {
  const streaming = timeline.live.blocks().length
  const { length } = timeline.lines(SCREEN)
  return Array.from({ length: length - streaming }, (_, index) => timeline.block(index)!)
}

const SCREEN = { theme: theme({ color: false }), width: 80, now: 0, spinner: '*', estimateMessage: tokenMeter().estimateMessage }

/** Of each block that the log has, without the distance to the one before, which may be a notice. */
function linesOf(timeline: Timeline): (readonly string[])[] {
  const lines = timeline.lines(SCREEN)
  return Array.from({ length: lines.length }, (_, index) => index)
    .filter(index => timeline.block(index)!.kind !== 'notice')
    .map(index => lines.at(index).filter((line, row) => row > 0 || line !== ''))
}
