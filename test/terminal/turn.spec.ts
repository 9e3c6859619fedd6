/**
 * Scenes of a turn: tools that ask first, words that come in between, and Escape.
 */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rateLimit, type Act } from '../provider/script.ts'
import { anthropic, deepseek, hasTmux, house } from './house.ts'

const shell = (command: string): Act[] => [{ call: { name: 'shell', arguments: { command } } }]

describe.skipIf(!hasTmux)('in a terminal (skipped without tmux)', () => {
  it('a turn asks before it changes or runs anything: once, always, and no in the words of the person', async () => {
    const scene = await house({
      env: deepseek,
      files: { 'greet.ts': 'export function greet(name: string): string {\n  return `Hello ${name}`\n}\n', 'README.md': '# Greetings\n' },
      answers: [
        [{ reasoning: 'The greeting has no comma. First I look at the file.' }, { text: 'I look at it first.' }, { call: { name: 'read', arguments: { path: 'greet.ts' } } }],
        [{ call: { name: 'edit', arguments: { path: 'greet.ts', edits: [{ old: 'Hello ${name}', new: 'Hello, ${name}!' }] } } }],
        shell('grep -n Hello greet.ts'),
        shell('grep -n Greet README.md'),
        shell('git commit -am "Greet with a comma"'),
        'The greeting has its **comma** now (`greet.ts:2`). Nothing is committed.',
      ],
    })
    await scene.start()
    await scene.say('Greet people with a comma.')
    expect(await scene.picture(/\? Edit greet\.ts/)).toMatchInlineSnapshot(`
      "› Greet people with a comma.

      ▸ thought · The greeting has no comma. First I look at the file.

        I look at it first.

      ✓ read  greet.ts · 3 lines
      ? edit  greet.ts






      ────────────────────────────────────────────────────────────────────────────────
      ? Edit greet.ts (+1 −1)
        │ @@ -1,3 +1,3 @@
        │  export function greet(name: string): string {
        │ -  return \`Hello \${name}\`
        │ +  return \`Hello, \${name}!\`
        │  }
      y yes, once · n no · Esc no, and stop
      a yes, and always in this session: write
      deepseek/deepseek-v4-pro · █░░░░░░░░┃░░ N% N/1M · $N"
    `)
    await scene.terminal.press('y')
    await scene.sees(/\? Run grep -n Hello/)
    await scene.terminal.press('a')
    await scene.sees(/\? Run git commit/) // and not the second grep
    await scene.terminal.press('n')
    await scene.sees(/Say why/)
    await scene.say('I commit myself')
    expect(await scene.picture(/Nothing is committed/, /\/ commands/)).toMatchInlineSnapshot(`
      "› Greet people with a comma.

      ▸ thought · The greeting has no comma. First I look at the file.

        I look at it first.

      ✓ read  greet.ts · 3 lines
      ✓ edit  greet.ts · +1 −1
      ✓ shell  grep -n Hello greet.ts · 2:  return \`Hello, \${name}!\`
      ✓ shell  grep -n Greet README.md · 1:# Greetings
      ✗ shell  git commit -am "Greet with a comma" · not allowed

        The greeting has its comma now (greet.ts:2). Nothing is committed.






      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      deepseek/deepseek-v4-pro · █░░░░░░░░┃░░ N% N/1M · $N"
    `)
    expect(scene.heard.at(-1)).toContain('The person says: I commit myself')
    expect(await readFile(join(scene.project, 'greet.ts'), 'utf8')).toContain('Hello, ${name}!')
    await scene.leave()
  })

  it('while an answer streams, Enter joins the next step, Alt+Enter waits for the turn, Alt+Up takes back; each is sent once', async () => {
    const scene = await house({
      env: anthropic,
      answers: [
        [{ text: 'One ' }, { wait: 'word' }, { text: 'two ' }, { wait: 'word' }, { text: 'three.' }],
        [{ wait: 'word' }, { text: 'The tests are minded.' }],
        'The docs are written.',
      ],
    })
    await scene.start()
    await scene.say('Count.')
    await scene.sees(/One/)
    await scene.say('Mind the tests.')
    await scene.sees(/↳ after this step: Mind the tests\./)
    await scene.terminal.type('Then the docs.')
    await scene.terminal.press('M-Enter')
    await scene.sees(/↳ next: Then the docs\./)
    await scene.terminal.type('Never mind.')
    await scene.terminal.press('M-Enter')
    await scene.sees(/↳ next: Never mind\./)
    await scene.terminal.press('M-Up')
    await scene.sees(/^ Never mind\.$/m)
    await scene.terminal.press('C-c')
    await scene.gone(/Never mind\./)
    scene.provider.gates.release('word')
    expect(await scene.picture(/One two/)).toMatchInlineSnapshot(`
      "› Count.

        One two














      ⠿ Answering Ns   Esc stop · Enter next step · Alt+Enter next turn
      ↳ after this step: Mind the tests.
      ↳ next: Then the docs.
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      anthropic/claude-sonnet-5 · █░░░░░░░░┃░░ N% N/1M"
    `)
    scene.provider.gates.release('word')
    await scene.sees(/One two three\.[^]*› Mind the tests\.[^]*↳ next: Then the docs\./)
    scene.provider.gates.release('word')
    expect(await scene.picture(/The docs are written\./, /\/ commands/)).toMatchInlineSnapshot(`
      "› Count.

        One two three.

      › Mind the tests.

        The tests are minded.

      › Then the docs.

        The docs are written.








      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      anthropic/claude-sonnet-5 · █░░░░░░░░┃░░ N% N/1M · $N"
    `)
    expect(scene.asked.map(({ request }) => request.messages.at(-1)!.text)).toEqual(['Count.', 'Mind the tests.', 'Then the docs.'])
    expect(scene.heard).toEqual(['Count.', 'One two three.', 'Mind the tests.', 'The tests are minded.', 'Then the docs.'])
    await scene.leave()
  })

  it('Escape stops a stream, a command with all it started, and the wait for another try', async () => {
    const scene = await house({
      env: anthropic,
      answers: [
        [{ text: 'I begin.' }, { call: { name: 'list', arguments: {} } }, { wait: 'for ever' }],
        shell('sleep 1000 & echo $$ $! > pids; echo working; wait'),
        rateLimit('anthropic', 250),
        'All is well.',
      ],
    })
    await scene.start(['--yes'])
    await scene.say('Speak.')
    await scene.sees(/list · writing/)
    await scene.terminal.press('Escape')
    await scene.sees(/I begin\.\s+— cut short[^]*■ you cancelled this/, /\/ commands/)
    await scene.say('Run it.')
    await scene.sees(/│ working/)
    const pids = (await readFile(join(scene.project, 'pids'), 'utf8')).trim()
    expect(alive(pids.split(' '))).toBe(pids)
    await scene.terminal.press('Escape')
    await scene.sees(/shell .* · cancelled/, /\/ commands/)
    await expect.poll(() => alive(pids.split(' '))).toBe('')
    await scene.say('Try.')
    await scene.sees(/RATE_LIMIT · try 2 of 6 · again in \d+s/)
    await scene.terminal.press('Escape')
    await scene.sees(/› Try\.\s+■ you cancelled this/, /\/ commands/)
    await scene.say('And now?')
    expect(await scene.picture(/All is well\./, /\/ commands/)).toMatchInlineSnapshot(`
      "  I begin.
        — cut short

      ■ you cancelled this

      › Run it.

      ✗ shell  sleep 1000 & echo $$ $! > pids; echo working; wait · cancelled

      ■ you cancelled this

      › Try.

      ■ you cancelled this

      › And now?

        All is well.

      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      anthropic/claude-sonnet-5 · █░░░░░░░░┃░░ N% N/1M · $N"
    `)
    expect(scene.provider.served.map(({ outcome }) => outcome)).toEqual(['gone', 'answered', 'refused', 'answered'])
    await scene.leave()
  })

  it('Escape in the middle of a text keeps it as far as it came: on the screen, in the log, and for the model', async () => {
    const scene = await house({ answers: [[{ reasoning: 'A poem.' }, { text: 'The gap is wide,\n\nthe train is' }, { wait: 'for ever' }], 'I go on: late.', rateLimit('openai', 900)] })
    await scene.start()
    await scene.say('A poem, please.')
    await scene.sees(/the train is$/m, /Answering/)
    await scene.terminal.press('Escape')
    await scene.sees(/■ you cancelled this/, /\/ commands/)
    await scene.say('Go on.')
    const screen = await scene.picture(/I go on: late\./, /\/ commands/)
    expect(screen).toMatchInlineSnapshot(`
      "› A poem, please.

        The gap is wide,

        the train is
        — cut short

      ■ you cancelled this

      › Go on.

        I go on: late.







      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · █░░░░░░░░┃░░ N% N/50k"
    `)
    expect(scene.heard).toEqual(['A poem, please.', 'The gap is wide,\n\nthe train is', 'Go on.'])
    await scene.leave()

    await scene.start(['--continue'])
    const resumed = await scene.picture(/── resumed ─/, /\/ commands/)
    expect(resumed.split('› /quit')[0]!.trim()).toBe(screen.split('/ commands')[0]!.trim())
    // Nobody sits out a quarter of an hour.
    await scene.say('And now?')
    await scene.sees(/✗ RATE_LIMIT: .* · the\s+provider\s+asks\s+to\s+wait\s+15m\s+00s/, /\/ commands/)
    await scene.leave()
  })
})

/** Those of these processes that are there still; a zombie is not. */
function alive(pids: readonly string[]): string {
  return pids.filter(pid => /^[^Z]/.test(spawnSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).stdout.trim())).join(' ')
}
