/**
 * Scenes: a person at the keyboard, a real context behind the screen, a scripted model.
 */
import { pendingInput } from '@deepseek-ai/dsh-agent'
import { ScriptedAdapter, type ContentBlock, type GenerateOptions, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import type { SessionEventType } from '@deepseek-ai/dsh-session'
import type { Tool } from '@deepseek-ai/dsh-tools'
import { afterEach, expect, it } from 'vitest'
import { visibleWidth } from '../src/text.ts'
import { HeadlessTerminal } from './headless.ts'
import { stage, type Stage } from './stage.ts'

const ENTER = '\r'
const ESCAPE = '\u001b'
const ALT_ENTER = '\u001b\r'
const ALT_UP = '\u001b[1;3A'
const UP = '\u001b[A'
const WHEEL_DOWN = '\u001b[<65;5;5M'
const CTRL = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) - 96)

interface Scene extends Stage {
  readonly terminal: HeadlessTerminal
  readonly model: ScriptedAdapter
  readonly left: Promise<unknown>
  /** Waits until the screen reads so. */
  sees(words: string | RegExp | (() => boolean)): Promise<void>
  gone(words: string): Promise<void>
  says(words: string): void
}

const scenes: Scene[] = []
afterEach(async () => {
  for (const { ctx, terminal } of scenes.splice(0)) {
    await ctx.fiber.dispose()
    // No scene is in colour.
    // oxlint-disable-next-line no-control-regex
    expect(terminal.writes.join('')).not.toMatch(/\u001b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]/)
  }
})

async function scene(replies: readonly ScriptedReply[] | ((options: GenerateOptions, index: number) => ScriptedReply | Promise<ScriptedReply>), tools: readonly Tool[] = []): Promise<Scene> {
  const model = new ScriptedAdapter({ replies, models: { m: { contextWindow: 100_000 }, other: { contextWindow: 5_000 } } })
  const all = await stage(model, tools)
  const terminal = new HeadlessTerminal(80, 24)
  const left = all.ctx.tui.run({ agent: all.agent, terminal, color: false, intro: 'Welcome.' })
  const until = (holds: () => boolean, what: string): Promise<void> => new Promise((resolve, reject) => {
    const check = (): void => {
      if (!holds()) return
      clearTimeout(late)
      terminal.onWrite = () => {}
      resolve()
    }
    const late = setTimeout(() => reject(new Error(`${what}:\n${terminal.text()}`)), 20_000)
    terminal.onWrite = check
    check()
  })
  const made: Scene = {
    ...all, terminal, model, left,
    sees: words => until(() => (typeof words === 'function' ? words() : typeof words === 'string' ? terminal.text().includes(words) : words.test(terminal.text())), `never seen: ${String(words)}`),
    gone: words => until(() => !terminal.text().includes(words), `never gone: ${words}`),
    says: words => terminal.press(...words, ENTER),
  }
  scenes.push(made)
  await made.sees('Welcome.')
  return made
}

/** A promise and its fulfilment. */
const gate = (): { readonly opened: Promise<void>; open(): void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}
const call = (name: string, args: object = {}): ContentBlock => ({ type: 'tool-call', id: `${name}-1`, name, arguments: JSON.stringify(args) })
const types = ({ session }: Scene): SessionEventType[] => [...session.log.from(0)].map(({ type }) => type)
const said = ({ model }: Scene): string[] => model.requests.map(({ messages }) => JSON.stringify(messages.at(-1)))

it('a question, an answer, and the way out', async () => {
  const it = await scene([{ content: [{ type: 'reasoning', text: 'Let me think.' }, { type: 'text', text: 'It is **forty-two**.' }] }])
  it.says('what is it?')
  await it.sees('It is forty-two.')
  await it.sees('▸ thought · Let me think.')
  expect(it.terminal.text()).toContain('› what is it?')
  await it.agent.whenIdle()
  expectReplays(it.session)
  it.terminal.press(CTRL('d'))
  expect(await it.left).toBe(it.agent)
})

it('what streams looks like what is logged', async () => {
  const held = gate()
  const it = await scene([async () => (await held.opened, { content: [{ type: 'reasoning', text: 'one\n\ntwo' }, { type: 'text', text: '# Head\n\n- a\n- b\n\nend' }, call('look', { path: 'x' })] }), 'Done.'], [
    { name: 'look', parameters: { type: 'object' }, execute: () => 'seen' },
  ])
  it.says('go')
  await it.sees('Waiting for the model')
  held.open()
  await it.sees('Done.')
  const live = it.terminal.text()
  await it.agent.whenIdle()
  const other = new HeadlessTerminal(80, 24)
  it.terminal.press(CTRL('d'))
  await it.left
  void it.ctx.tui.run({ agent: it.agent, terminal: other, color: false })
  await new Promise<void>(resolve => void (other.onWrite = resolve))
  const rebuilt = other.text().split('\n').filter(line => line !== '')
  for (const line of rebuilt.slice(0, -4)) expect(live).toContain(line)
  other.press(CTRL('d'))
})

it.each([
  ['y', 'once', true, 0],
  ['a', 'always', true, 1],
])('permission: %s allows it %s', async (key, _name, runs, grants) => {
  let ran = 0
  const it = await scene([{ content: [call('write', { path: 'a.ts' })] }, 'Written.'], [
    { name: 'write', parameters: { type: 'object' }, permission: () => ({ scope: 'write', title: 'Write a.ts', detail: '+one\n+two' }), execute: () => (ran++, 'ok') },
  ])
  it.says('write it')
  await it.sees('? Write a.ts')
  expect(it.terminal.text()).toContain('  │ +two')
  it.terminal.press(key)
  await it.sees('Written.')
  expect(ran > 0).toBe(runs)
  expect(types(it).filter(type => type === 'permission/granted')).toHaveLength(grants)
  expect(it.terminal.text()).not.toContain('? Write a.ts')
})

it('permission: no, with a reason that the model reads', async () => {
  const it = await scene([{ content: [call('write')] }, 'I will not.'], [
    { name: 'write', parameters: { type: 'object' }, permission: () => ({ scope: 'write', title: 'Write a.ts' }), execute: () => 'ok' },
  ])
  it.says('write it')
  await it.sees('? Write a.ts')
  it.terminal.press('n')
  await it.sees('Say why')
  it.terminal.press(...'use b.ts', ENTER)
  await it.sees('I will not.')
  expect(said(it)[1]).toContain('use b.ts')
})

it('permission: Escape says no and stops', async () => {
  const it = await scene([{ content: [call('write')] }], [
    { name: 'write', parameters: { type: 'object' }, permission: () => ({ scope: 'write', title: 'Write a.ts' }), execute: () => 'ok' },
  ])
  it.says('write it')
  await it.sees('? Write a.ts')
  it.terminal.press(ESCAPE)
  await it.sees('■ you cancelled this')
  await it.agent.whenIdle()
  expect(it.model.requests).toHaveLength(1)
})

it('permission: what is long is read in pages, and the question stays in sight', async () => {
  const detail = Array.from({ length: 60 }, (_, line) => `+line ${line}`).join('\n')
  const it = await scene([{ content: [call('write')] }, 'Written.'], [
    { name: 'write', parameters: { type: 'object' }, permission: () => ({ scope: 'write', title: 'Write a.ts', detail }), execute: () => 'ok' },
  ])
  it.says('write it')
  await it.sees(/1–\d+ of 60 lines/)
  expect(it.terminal.text()).toMatch(/\? Write a\.ts[^]*\+line 0\n[^]*y yes, once/)
  for (let page = 0; page < 6; page++) it.terminal.press('\u001b[6~')
  await it.sees('–60 of 60 lines')
  expect(it.terminal.text()).toMatch(/\? Write a\.ts[^]*\+line 59\n[^]*y yes, once/)
  it.terminal.press('y')
  await it.sees('Written.')
})

it('scrolled up, the screen stays where it is while more is said below', async () => {
  const held = gate()
  const it = await scene(['first '.repeat(400), async () => (await held.opened, 'last '.repeat(400))])
  it.says('go')
  await it.agent.whenIdle()
  it.says('more')
  await it.sees('Waiting for the model')
  it.terminal.press('\u001b[5~')
  await it.sees('Esc to the end')
  const before = it.terminal.text().split('\n').slice(0, 10)
  held.open()
  await it.agent.whenIdle()
  await it.gone('Waiting for the model')
  expect(it.terminal.text().split('\n').slice(0, 10)).toEqual(before)
  it.terminal.press(ESCAPE)
  await it.sees('last last')
})

it('while the agent works, Enter joins the next step, Alt+Enter waits for the turn, Alt+Up takes back', async () => {
  const tool = gate()
  const it = await scene([{ content: [call('wait')] }, 'First done.', 'Second done.'], [{ name: 'wait', parameters: { type: 'object' }, execute: async () => (await tool.opened, 'waited') }])
  it.says('begin')
  await it.sees('Running wait')
  it.says('mind the tests')
  await it.sees('↳ after this step: mind the tests')
  it.terminal.press(...'then the docs', ALT_ENTER)
  await it.sees('↳ next: then the docs')
  it.terminal.press(...'never mind', ALT_ENTER)
  await it.sees('↳ next: never mind')
  it.terminal.press(ALT_UP)
  await it.gone('↳ next: never mind')
  await it.sees(/^ never mind$/m)
  tool.open()
  await it.sees('Second done.')
  await it.agent.whenIdle()
  expect(said(it)[1]).toContain('mind the tests')
  expect(said(it)[2]).toContain('then the docs')
  expect(it.model.requests).toHaveLength(3)
  expectReplays(it.session)
})

it('live output is seen on one line, whatever it holds', async () => {
  const tool = gate()
  const it = await scene([{ content: [call('shell', { command: 'make' })] }, 'Made.'], [
    { name: 'shell', parameters: { type: 'object' }, execute: async (_args, { output }) => { output('\u001b[2J\u001b[31mcompiling\ta.c\n\u001b]0;x\u0007linking 测试\r\n'); await tool.opened; return 'ok' } },
  ])
  it.says('build')
  await it.sees('│ linking 测试')
  expect(it.terminal.writes.join('')).not.toContain('\u001b]0;x')
  tool.open()
  await it.sees('✓ shell  make · ok')
})

it('Escape stops a stream, and keeps what was said', async () => {
  const it = await scene([async (options) => { await new Promise((_, reject) => options.signal!.addEventListener('abort', () => reject(options.signal!.reason as Error))); return '' }])
  it.says('go')
  await it.sees('Waiting for the model')
  it.terminal.press(ESCAPE)
  await it.sees('■ you cancelled this')
  await it.agent.whenIdle()
  await it.sees('/ commands')
})

it('/compact: what is said meanwhile goes next, and the line opens to the checkpoint', async () => {
  const summary = gate()
  const it = await scene(async ({ purpose, messages }) => {
    if (purpose === 'compaction') { await summary.opened; return `## Goal\nSUMMARY of it all\n${'more words '.repeat(20)}` }
    return JSON.stringify(messages).includes('and now') ? 'After.' : 'word '.repeat(2_000)
  })
  it.says('first')
  await it.agent.whenIdle()
  it.says('second')
  await it.agent.whenIdle()
  it.says('/compact')
  await it.sees('compacting')
  it.says('and now?')
  await it.sees('↳ next: and now?')
  summary.open()
  await it.sees('After.')
  await it.sees(/▸ compacted · \d entries/)
  expect(it.terminal.text()).toMatch(/compacted [\d.k]+→\d+/)
  it.terminal.press(CTRL('o'), ENTER)
  await it.sees('│ Checkpoint')
  it.terminal.press(WHEEL_DOWN, WHEEL_DOWN, WHEEL_DOWN)
  await it.sees('│ SUMMARY of it all')
  it.terminal.press(ESCAPE, ESCAPE)
  expectReplays(it.session)
})

it('Escape gives up a compaction that was asked for', async () => {
  const it = await scene(async ({ purpose, signal }) => {
    if (purpose === 'compaction') await new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason as Error)))
    return 'word '.repeat(2_000)
  })
  it.says('first')
  await it.agent.whenIdle()
  it.says('second')
  await it.agent.whenIdle()
  it.says('/compact')
  await it.sees('Compacting')
  it.terminal.press(ESCAPE)
  await it.sees('/compact was cancelled')
  await it.sees('compaction cancelled')
})

it('a question over a choice: the choice is there again afterwards', async () => {
  const tool = gate()
  const it = await scene([{ content: [call('wait'), { ...call('write'), id: 'w' } as ContentBlock] }, 'Done.'], [
    { name: 'wait', parameters: { type: 'object' }, execute: async () => (await tool.opened, 'waited') },
    { name: 'write', parameters: { type: 'object' }, permission: () => ({ scope: 'write', title: 'Write a.ts' }), execute: () => 'ok' },
  ])
  it.says('go')
  await it.sees('Running')
  it.says('/model')
  await it.sees('type to narrow')
  tool.open()
  await it.sees('? Write a.ts')
  it.terminal.press('y')
  await it.sees('type to narrow')
  await it.sees('Done.')
  it.terminal.press(ESCAPE)
  await it.sees('Still scripted/m.')
})

it('/context is a picture, /model chooses, /help tells', async () => {
  const it = await scene(['One.', 'Two.'])
  it.says('hello')
  await it.sees('One.')
  await it.agent.whenIdle()
  it.says('/context')
  await it.sees(/U {2}your messages +\d/)
  it.says('/model')
  await it.sees('type to narrow')
  it.terminal.press(...'oth', ENTER)
  await it.sees('Requests go to scripted/other from now on, a window of 5k tokens.')
  it.says('again')
  await it.sees('Two.')
  expect(it.model.requests.map(({ model }) => model)).toEqual(['m', 'other'])
  it.says('/help')
  await it.sees('takes the newest words that wait back')
  it.says('/modle x')
  await it.sees('Did you mean /model?')
})

it('/fork goes on in a copy, /sessions goes back', async () => {
  const it = await scene(['One.', 'Two.'])
  it.says('hello')
  await it.sees('One.')
  await it.agent.whenIdle()
  it.says('/fork')
  await it.sees('── a copy from here on')
  expect(it.ctx.sessions.get(it.session.id)).toBeUndefined()
  it.says('more')
  await it.sees('Two.')
  it.says('/quit')
  const agent = (await it.left) as Stage['agent']
  expect(agent.session.header.parent?.id).toBe(it.session.id)
})

it('a click on a line opens it, another folds it', async () => {
  const it = await scene([{ content: [{ type: 'reasoning', text: 'first thought\nsecond thought' }, { type: 'text', text: 'Said.' }] }])
  it.says('go')
  await it.sees('Said.')
  const row = it.terminal.text().split('\n').findIndex(line => line.startsWith('▸ thought')) + 1
  const click = [`\u001b[<0;3;${row}M`, `\u001b[<0;3;${row}m`]
  it.terminal.press(...click)
  await it.sees('  │ second thought')
  it.terminal.press(...click)
  await it.gone('  │ second thought')
  it.terminal.press(CTRL('t'))
  await it.sees('  │ second thought')
})

it('a click on what a line opened to leaves it open, also where the line itself is out of sight', async () => {
  const it = await scene([{ content: [{ type: 'reasoning', text: Array.from({ length: 40 }, (_, line) => `thought ${line}`).join('\n') }] }])
  it.says('go')
  await it.sees('▸ thought')
  it.terminal.press(CTRL('t'))
  await it.sees('│ thought 39')
  expect(it.terminal.text()).not.toContain('▾ thought')
  it.terminal.press('\u001b[<0;3;1M', '\u001b[<0;3;1m', 'x')
  await it.sees(/^ x$/m)
  expect(it.terminal.text()).toContain('│ thought 39')
})

it('Ctrl+C clears the editor, twice it quits; words of before come back with Up', async () => {
  const it = await scene(['One.'])
  it.says('hello')
  await it.sees('One.')
  await it.agent.whenIdle()
  it.terminal.press(UP)
  await it.sees(/^ hello$/m)
  it.terminal.press(CTRL('c'))
  await it.gone('\n hello\n')
  it.terminal.press(CTRL('c'))
  await it.sees('Ctrl+C again to quit')
  it.terminal.press(CTRL('c'))
  await it.left
})

it('a paste of many lines is one message', async () => {
  const it = await scene(['Read.'])
  const lines = Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')
  it.terminal.press(`\u001b[200~${lines}\u001b[201~`)
  await it.sees('[paste #1 +30 lines]')
  it.terminal.press(ENTER)
  await it.sees('Read.')
  expect(said(it)[0]).toContain('line 29')
})

it('input that a crash left waiting is shown, and Enter goes on with it', async () => {
  const it = await scene(['Went on.'])
  it.session.append('inbox/spliced', { inserted: [{ inputId: 'left', kind: 'send', content: [{ type: 'text', text: 'from before' }], source: { kind: 'user' } }] })
  await it.sees('↳ next: from before')
  await it.sees('Enter go on')
  it.terminal.press(ENTER)
  await it.sees('Went on.')
  expect(pendingInput(it.session)).toEqual([])
})

it('a failure that passes is waited for, one that does not is told', async () => {
  const it = await scene([{ failure: { code: 'RATE_LIMIT', message: 'slow down', retryAfterMs: 60_000 } }, { failure: { code: 'AUTH', message: 'bad key' } }])
  it.says('go')
  await it.sees(/RATE_LIMIT · try 2 of 6 · again in \d+s/)
  it.terminal.press(ESCAPE)
  await it.agent.whenIdle()
  it.says('again')
  await it.sees('✗ AUTH: bad key')
})

it('what would be printed on stderr is shown instead, once', async () => {
  const it = await scene([])
  it.ctx.logger('test').warn('the %s is low', 'disk')
  await it.sees('! the disk is low')
})

it('a resize draws everything anew, at most as wide, on a screen of any size', async () => {
  const it = await scene([`${'word '.repeat(60)}\n\n| a | b |\n|---|---|\n| 你好 | 2 |`])
  it.says('go')
  await it.sees('你好')
  for (const [columns, rows] of [[40, 16], [200, 50], [7, 3], [2, 1], [80, 24]] as const) {
    const before = it.terminal.writes.length
    it.terminal.resize(columns, rows)
    await it.sees(() => it.terminal.writes.slice(before).some(write => write.includes('\u001b[2J')))
    for (const line of it.terminal.text().split('\n')) expect(visibleWidth(line)).toBeLessThanOrEqual(columns)
  }
})
