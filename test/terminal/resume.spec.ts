/**
 * Scenes of a crash: kill -9 in the middle of an answer and of a tool, and how it goes on.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hasTmux, house } from './house.ts'

describe.skipIf(!hasTmux)('in a terminal (skipped without tmux)', () => {
  it('after kill -9 in the middle of an answer, and again of a command, all that was said is there and the work goes on', async () => {
    const scene = await house({
      files: { 'work.sh': 'echo $$ > pid; echo working; exec sleep 1000\n' },
      answers: [
        'The gap is minded.',
        [{ text: 'I look at ' }, { wait: 'for ever' }],
        [{ text: 'I run it.' }, { call: { name: 'shell', arguments: { command: 'sh work.sh' } } }],
        'It did not end. I leave it.',
      ],
    })
    await scene.start(['--yes'])
    await scene.say('Mind the gap.')
    await scene.sees(/The gap is minded\./, /\/ commands/)
    await scene.say('Look at the platform.')
    await scene.sees(/I look at/, /Answering/)
    await scene.terminal.type('Then at the train.')
    await scene.terminal.press('M-Enter')
    await scene.sees(/↳ next: Then at the train\./)
    await scene.crash()

    await scene.start(['--yes', '--continue'], { sign: /│ working/ })
    const pid = Number(await readFile(join(scene.project, 'pid'), 'utf8'))
    onTestFinished(() => void process.kill(pid, 'SIGKILL')) // what a killed process ran goes on
    expect(await scene.picture(/│ working/)).toMatchInlineSnapshot(`
      "› Mind the gap.

        The gap is minded.

      › Look at the platform.

      ── resumed ─────────────────────────────────────────────────────────────────────

      ! the turn before was interrupted: its process ended

      › Then at the train.

        I run it.

      ⠿ shell  sh work.sh · 8 B
        │ working



      ⠿ Running shell Ns   Esc stop · Enter next step · Alt+Enter next turn
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · █░░░░░░░░┃░░ N% N/50k"
    `)
    await scene.crash()

    await scene.start(['--yes', '--continue'])
    await scene.say('Go on.')
    expect(await scene.picture(/I leave it\./, /\/ commands/)).toMatchInlineSnapshot(`
      "
      ── resumed ─────────────────────────────────────────────────────────────────────

      ! the turn before was interrupted: its process ended

      › Then at the train.

        I run it.

      ✗ shell  sh work.sh · interrupted, outcome unknown

      ── resumed ─────────────────────────────────────────────────────────────────────

      ! the turn before was interrupted: its process ended

      › Go on.

        It did not end. I leave it.

      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · █░░░░░░░░┃░░ N% N/50k"
    `)
    expect(scene.heard).toEqual([
      'Mind the gap.', 'The gap is minded.', 'Look at the platform.', 'Then at the train.', 'I run it.', expect.stringContaining('interrupted'), 'Go on.',
    ])
    expect(scene.asked).toHaveLength(4)
    expect(await scene.leave()).toMatch(/^To go on: dsh --resume \S+$/m)
  })
})
