/**
 * Scenes of the commands: what fills the window, another model, another session, and the way out.
 */
import { describe, expect, it } from 'vitest'
import { anthropic, compatible, hasTmux, house } from './house.ts'

describe.skipIf(!hasTmux)('in a terminal (skipped without tmux)', () => {
  it('/context, /model, /fork, /sessions, /help and /quit', async () => {
    const scene = await house({ env: url => ({ ...anthropic(url), ...compatible()(url), DSH_MODEL: 'compatible/m' }) })
    await scene.start()
    await scene.say('Mind the gap.')
    await scene.sees(/^ {2}Mind the gap\./m, /\/ commands/)

    await scene.say('/context')
    const picture = await scene.sees(/compaction begins at/, /\/ commands/)
    expect(picture).toMatch(/^ {2}[\d,]+ of 50,000 tokens \(\d\.\d%\), by the last answer’s own count$/m)
    expect(picture).toMatch(/^ {2}S+T+UA·+┃·{11}$/m)
    expect([...picture.matchAll(/^ {2}(\S) {2}[a-z ]+[\d,]+ +\d+\.\d%$/gm)].map(([, kind]) => kind)).toEqual(['S', 'T', 'U', 'A', '·', '┃'])

    await scene.say('/model')
    await scene.sees(/^Model .* type to narrow/m, /^→ anthropic\/claude-sonnet-5 /m, /^ {2}compatible\/m /m)
    await scene.terminal.type('haiku')
    await scene.sees(/Model haiku/)
    await scene.terminal.press('Enter')
    await scene.sees(/Requests go to anthropic\/claude-haiku-4-5 from now on, a window of 200k\s+tokens\./, /^anthropic\/claude-haiku-4-5 · █░{11} 1% /m)
    await scene.say('Mind the doors.')
    await scene.sees(/^ {2}Mind the doors\./m, /\/ commands/)
    expect(scene.asked.map(({ request: { dialect, model } }) => `${dialect} ${model}`)).toEqual(['openai m', 'anthropic claude-haiku-4-5'])

    await scene.say('/fork')
    await scene.sees(/Mind the doors\.\s+── a copy from here on ─+$/m)
    await scene.say('In a copy.')
    await scene.sees(/^ {2}In a copy\./m, /\/ commands/)

    await scene.say('/sessions')
    await scene.sees(/^→ Mind the gap\. +this one · now · .* tokens · .* kB$/m, /^ {2}Mind the gap\. +now · /m)
    await scene.terminal.press('Down')
    await scene.sees(/^→ Mind the gap\. +now · /m)
    await scene.terminal.press('Enter')
    await scene.sees(/Going on in [^]*── resumed ─+[^]*\/ commands/)
    await scene.say('Back again.')
    await scene.sees(/^ {2}Back again\./m, /\/ commands/)
    expect(scene.heard).toEqual(['Mind the gap.', 'Mind the gap.', 'Mind the doors.', 'Mind the doors.', 'Back again.'])

    await scene.say('/help')
    await scene.sees(/^ {2}Alt\+Enter +while the agent works: waits for the end of the turn$/m, /^ {2}\/quit +Leave; the session is kept$/m)
    await scene.say('/contxet')
    await scene.sees(/✗ There is no command \/contxet\. Did you mean \/context\?/)
    expect(await scene.leave()).toMatch(/^To go on: dsh --resume \S+$/m)
  })
})
