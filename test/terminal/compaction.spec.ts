/**
 * Scenes of a compaction: asked for, refused, cancelled, talked over, and by itself in the middle of a turn.
 */
import { describe, expect, it } from 'vitest'
import type { Act } from '../provider/script.ts'
import { compatible, hasTmux, house } from './house.ts'

const SUMMARY = '## Primary Request and Intent\nThe gap is to be minded.\n\n## Current Work\nIt is minded.'
const LONG = 'The platform is long and the gap is wide. '.repeat(250)

describe.skipIf(!hasTmux)('in a terminal (skipped without tmux)', () => {
  it('/compact is refused while the agent works, can be cancelled, and what is said meanwhile goes next, once', async () => {
    const scene = await house({
      answers: [LONG, [{ text: 'It is ' }, { wait: 'word' }, { text: `minded. ${LONG}` }], 'I go on.'],
      summaries: [[{ wait: 'never' }], [{ wait: 'summary' }, { text: SUMMARY }]],
    })
    await scene.start()
    await scene.say('Mind the gap.')
    await scene.sees(/gap is wide/, /\/ commands/)
    await scene.say('Mind it well.')
    await scene.sees(/It is/, /Answering/)
    await scene.say('/compact')
    await scene.sees(/✗ The agent is working\. Compact once it is idle\./)
    scene.provider.gates.release('word')
    await scene.sees(/\/ commands/)

    await scene.say('/compact')
    await scene.sees(/compacting · \S+ · summarizing · asked for/)
    await scene.terminal.press('Escape')
    await scene.sees(/✗ \/compact was cancelled\s+■ compaction cancelled/, /\/ commands/)

    await scene.say('/compact')
    await scene.sees(/compacting/)
    await scene.say('/compact')
    await scene.sees(/✗ Another compaction of this conversation is running\. Wait until it has ended\./)
    await scene.say('Go on.')
    await scene.sees(/↳ next: Go on\./, /Compacting \S+ +Esc stop/)
    expect(scene.asked).toHaveLength(2)
    scene.provider.gates.release('summary')
    const screen = await scene.picture(/I go on\./, /\/ commands/)
    expect(screen.slice(screen.indexOf('› /compact'))).toMatchInlineSnapshot(`
      "› /compact
      ✗ /compact was cancelled

      ■ compaction cancelled

      › /compact
        Compacted 3 entries: about 2,305 → 148 tokens.

      ▸ compacted · 3 entries, 2.3k → 148 tokens · Ns · replay · asked for

      › /compact
      ✗ Another compaction of this conversation is running. Wait until it has ended.

      › Go on.

        I go on.

      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · █░░░░░░░░┃░░ N% N/50k · compacted 2.3k→148 now"
    `)
    expect(scene.asked).toHaveLength(3)
    expect(scene.heard).toEqual([expect.stringContaining(SUMMARY), expect.stringMatching(/^It is minded/), 'Go on.'])
    expect(scene.askedForSummary.map(({ outcome }) => outcome)).toEqual(['gone', 'answered'])
    await scene.leave()
  })

  it('in the middle of a turn it shows its time and how the summary is asked for, and opens to what it stands for', async () => {
    const cat = (part: number): Act[] => [{ reasoning: 'Next.' }, { call: { name: 'shell', arguments: { command: `cat part-${part}.txt` } } }]
    const part = (name: string): string => `${name}: ${'what is written here is soon forgotten. '.repeat(120)}\n`
    const scene = await house({
      env: compatible(8_000),
      files: { 'part-1.txt': part('first'), 'part-2.txt': part('second'), 'part-3.txt': part('third'), 'part-4.txt': part('fourth') },
      answers: [cat(1), cat(2), [{ wait: 'third' }, ...cat(3)], cat(4), 'All parts are read.'],
      summaries: ['', [{ wait: 'summary' }, { text: SUMMARY }]],
    })
    await scene.start(['--yes'])
    await scene.say('Read all parts.')
    await scene.sees(/cat part-2\.txt · /, /Waiting for the model/, /m · █{7}░░┃░░ 5\d% [\d.]+k\/8k +Read all parts/)
    scene.provider.gates.release('third')
    await scene.sees(/m · █{9}┃░░ 8\d% [\d.]+k\/8k/)
    expect(await scene.picture(/compacting .* · replay: .*/)).toMatchInlineSnapshot(`
      "› Read all parts.

      ▸ thought · Next.
      ✓ shell  cat part-1.txt · 1 line
      ▸ thought · Next.
      ✓ shell  cat part-2.txt · 1 line
      ▸ thought · Next.
      ✓ shell  cat part-3.txt · 1 line
      ▸ thought · Next.
      ✓ shell  cat part-4.txt · 1 line

      ⠿ compacting · Ns · replay: the model answered nothing (finish: stop) → …







      ⠿ Compacting Ns   Esc stop · Enter next step · Alt+Enter next turn
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · █████████┃░░ N% N/8k"
    `)
    scene.provider.gates.release('summary')
    expect(await scene.picture(/All parts are read\./, /\/ commands/)).toMatchInlineSnapshot(`
      "› Read all parts.

      ▸ thought · Next.
      ✓ shell  cat part-1.txt · 1 line
      ▸ thought · Next.
      ✓ shell  cat part-2.txt · 1 line
      ▸ thought · Next.
      ✓ shell  cat part-3.txt · 1 line
      ▸ thought · Next.
      ✓ shell  cat part-4.txt · 1 line

      ▸ compacted · 5 entries, 2.3k → 137 tokens · Ns · transcript · to make room

        All parts are read.





      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · ███████░░┃░░ N% N/8k · compacted 2.3k→137 turn 1"
    `)
    await scene.terminal.press('C-o')
    await scene.sees(/Enter open or fold/)
    await scene.terminal.press('Enter')
    await scene.sees(/▾ compacted[^]*│ Checkpoint[^]*│ The user's own words from that part, verbatim:[^]*│ > Read all parts\./)
    await scene.terminal.press('NPage')
    await scene.sees(/│ It is minded\.[^]*│ In place of\n {2}│ #\d+ user: Read all parts\.\n {2}│ #\d+ assistant: \[shell cat part-1\.txt\]\n {2}│ #\d+ tool: first: what is written/)
    await scene.terminal.press('Escape')
    await scene.terminal.press('Escape')
    await scene.say('/context')
    await scene.sees(/^ {2}S+T+CAYKR+·+┃·+$/m, /^ {2}C {2}checkpoint +\d+ /m, /^ {2}┃ {2}compaction begins at +6,400 +80\.0%$/m)
    await scene.leave()
  })

  it('long results that were read are shortened first: one line that opens to which, and each call to the whole', async () => {
    const shell = (command: string): Act[] => [{ call: { name: 'shell', arguments: { command } } }]
    const part = (name: string): string => `${name} begins\n${'what is written here is soon forgotten.\n'.repeat(300)}${name} ends\n`
    const scene = await house({
      env: compatible(16_000),
      files: { 'one.txt': part('one'), 'two.txt': part('two'), 'three.txt': part('three'), 'four.txt': part('four') },
      answers: [shell('cat one.txt'), shell('cat two.txt'), shell('cat three.txt'), shell('cat four.txt'), 'All is read.'],
    })
    await scene.start(['--yes'])
    await scene.say('Read it all.')
    expect(await scene.picture(/All is read\./, /\/ commands/)).toMatchInlineSnapshot(`
      "› Read it all.

      ✓ shell  cat one.txt · 302 lines
      ✓ shell  cat two.txt · 302 lines
      ✓ shell  cat three.txt · 302 lines
      ✓ shell  cat four.txt · 302 lines
      ▸ shortened 3 results · 8.8k → 3.9k tokens

        All is read.










      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      compatible/m · ███████░░┃░░ N% N/16k"
    `)
    expect(scene.askedForSummary).toEqual([])
    await scene.terminal.press('C-o')
    await scene.sees(/Enter open or fold/)
    await scene.terminal.press('Enter')
    await scene.sees(/▾ shortened 3 results.*\n {2}│ shell {2}cat one\.txt · 2\.9k → 1\.3k\n {2}│ shell {2}cat two\.txt/)
    for (const key of ['Up', 'Up', 'Enter', 'NPage', 'NPage']) await scene.terminal.press(key) // the call of the third
    await scene.sees(/│ what is written here is soon forgotten\./)
    for (let page = 0; page < 30 && !(await scene.terminal.screen()).includes('│ three ends'); page++) await scene.terminal.press('NPage')
    await scene.sees(/│ three ends/)
    await scene.terminal.press('Escape')
    await scene.terminal.press('Escape')
    await scene.leave()
  })
})
