/**
 * Scenes of the screen itself: wide and narrow, without colour, with characters of two columns.
 */
import { describe, expect, it } from 'vitest'
import { visibleWidth } from '../../packages/interaction/tui/src/text.ts'
import { deepseek, hasTmux, house } from './house.ts'

/** Any colour but that of the terminal itself. */
// oxlint-disable-next-line no-control-regex
const COLOR = /\u001b\[(?:[\d;]*;)?(?:[349][0-8]|10[0-7])(?:;[\d;]*)?m/

const ANSWER = `| 名前 | 状態 | note |
|---|---|---|
| 橋 | 完了 ✅ | done |
| トンネル | 🚧 | 工事中, until the spring of the year after the next, and perhaps for longer |

平台与列车之间的空隙很宽，请小心。${'请注意脚下，先下后上。'.repeat(9)} 👩‍👩‍👧 and é, 한국어.`

describe.skipIf(!hasTmux)('in a terminal (skipped without tmux)', () => {
  it('is as wide as the terminal before and after it changes, and has no colour where none is wanted', async () => {
    const scene = await house({ env: deepseek, answers: [ANSWER] })
    await scene.start([], { columns: 200, env: { NO_COLOR: '1' } })
    await scene.say('気をつけて 👍 please')
    const wide = await scene.picture(/한국어/, /\/ commands/)
    expect(wide).toMatchInlineSnapshot(`
      "› 気をつけて 👍 please

        ┌──────────┬─────────┬─────────────────────────────────────────────────────────────────────────────┐
        │ 名前     │ 状態    │ note                                                                        │
        ├──────────┼─────────┼─────────────────────────────────────────────────────────────────────────────┤
        │ 橋       │ 完了 ✅ │ done                                                                        │
        ├──────────┼─────────┼─────────────────────────────────────────────────────────────────────────────┤
        │ トンネル │ 🚧      │ 工事中, until the spring of the year after the next, and perhaps for longer │
        └──────────┴─────────┴─────────────────────────────────────────────────────────────────────────────┘

        平台与列车之间的空隙很宽，请小心。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下
        ，先下后上。请注意脚下，先下后上。 👩‍👩‍👧 and é, 한국어.







      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
      deepseek/deepseek-v4-pro · █░░░░░░░░┃░░ N% N/1M · $N"
    `)
    expect(await scene.terminal.styled()).not.toMatch(COLOR)

    await scene.terminal.resize(80, 24)
    const narrow = await scene.picture(/平台与.*。$/m, /^─{80}$/m)
    expect(narrow).toMatchInlineSnapshot(`
      "› 気をつけて 👍 please

        ┌──────────┬─────────┬───────────────────────────────────────────────────────┐
        │ 名前     │ 状態    │ note                                                  │
        ├──────────┼─────────┼───────────────────────────────────────────────────────┤
        │ 橋       │ 完了 ✅ │ done                                                  │
        ├──────────┼─────────┼───────────────────────────────────────────────────────┤
        │ トンネル │ 🚧      │ 工事中, until the spring of the year after the next,  │
        │          │         │ and perhaps for longer                                │
        └──────────┴─────────┴───────────────────────────────────────────────────────┘

        平台与列车之间的空隙很宽，请小心。请注意脚下，先下后上。请注意脚下，先下后上。
        请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，
        先下后上。请注意脚下，先下后上。请注意脚下，先下后上。请注意脚下，先下后上。
        👩‍👩‍👧 and é, 한국어.




      / commands · Ctrl+O look back · Ctrl+J new line · Ctrl+D quit
      ────────────────────────────────────────────────────────────────────────────────

      ────────────────────────────────────────────────────────────────────────────────
      deepseek/deepseek-v4-pro · █░░░░░░░░┃░░ N% N/1M · $N"
    `)
    expect(Math.max(...narrow.split('\n').map(visibleWidth))).toBe(80)

    await scene.terminal.resize(200, 24)
    expect(await scene.picture(/平台与.*脚/, /^─{200}$/m)).toBe(wide)
    await scene.leave()
  })

  it('has colours otherwise, and a paste of many lines is one message', async () => {
    const scene = await house()
    await scene.start()
    await scene.terminal.paste('one\ntwo\nthree\n')
    await scene.sees(/^ two$/m)
    await scene.terminal.press('Enter')
    const screen = await scene.sees(/^ {2}three$/m, /\/ commands/)
    expect(await scene.terminal.styled()).toMatch(COLOR)
    expect(scene.heard).toEqual(['one\ntwo\nthree'])
    expect(screen).toContain('› one\n  two\n  three\n')
    await scene.leave()
  })
})
