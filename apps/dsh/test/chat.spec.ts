import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startProvider, type Provider } from '../../../test/provider/server.ts'
import { startDsh } from './run-dsh.ts'
import { hasTmux, Terminal } from './terminal.ts'

let home: string
let terminal: Terminal
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'dsh-chat-'))
  terminal = new Terminal()
})
afterEach(async () => {
  await terminal.close()
  await rm(home, { recursive: true, force: true, maxRetries: 20 }) // what has just lost its terminal may not be gone yet
})

it('a chat that was asked for by name needs a terminal', async () => {
  const { code, stdout, stderr } = await startDsh(['chat'], { env: { DSH_DATA_DIR: home } }).ended
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('a chat needs a terminal')
})

describe.skipIf(!hasTmux)('in a terminal (skipped without tmux)', () => {
  const start = (env: { [name: string]: string }, ...args: string[]): Promise<void> =>
    terminal.start(args, { cwd: home, env: { HOME: home, DSH_DATA_DIR: join(home, 'data'), TMPDIR: home, ...env } })

  it('without a key one screen says what is understood, and q leaves', async () => {
    await start({})
    const screen = await terminal.until(/q {6}quit/)
    expect(screen.split('\n')[0]).toMatch(/^dsh is a coding agent/)
    expect(screen.split('\n').length).toBeLessThan(24)
    for (const name of ['DEEPSEEK_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'OPENAI_COMPATIBLE_BASE_URL']) expect(screen).toContain(`  ${name} `)
    await terminal.press('x')
    await terminal.press('q')
    await terminal.until(/exited with 0/)
  })

  it('Enter plays the recorded session; commands answer, words do not disturb it', async () => {
    await start({})
    await terminal.until(/q {6}quit/)
    await terminal.press('Enter')
    await terminal.until(/recorded\/scripted-engineer/)
    await terminal.until(/Esc stop/)
    await terminal.type('Who are you?')
    await terminal.press('Enter')
    await terminal.type('/context')
    await terminal.press('Enter')
    await terminal.until(/compaction begins at +19,200/)
    await terminal.type('/quit')
    await terminal.press('Enter')
    const screen = await terminal.until(/exited with 0/)
    expect(screen).toContain('Try next:')
  })

  describe('with a model', () => {
    let provider: Provider
    beforeEach(async () => {
      provider = await startProvider({ script: ({ messages }) => (messages.at(-1)!.text === 'Wait.' ? [{ text: 'Half of it. ' }, { wait: 'never' }] : `You said: ${messages.at(-1)!.text}`) })
    })
    afterEach(() => provider.close())
    const model = (): { [name: string]: string } => ({ OPENAI_COMPATIBLE_BASE_URL: `${provider.url}/v1`, OPENAI_COMPATIBLE_MODEL: 'm', OPENAI_COMPATIBLE_CONTEXT_WINDOW: '50000' })
    const say = async (words: string): Promise<void> => {
      await terminal.type(words)
      await terminal.press('Enter')
    }

    /** The last event of the one session, once nobody holds it. */
    const lastEvent = async (): Promise<unknown> => {
      const sessions = join(home, 'data', 'sessions')
      for (;;) {
        const names = await readdir(sessions)
        if (names.length === 1) return JSON.parse((await readFile(join(sessions, names[0]!), 'utf8')).trimEnd().split('\n').at(-1)!)
        await setTimeout(20)
      }
    }

    it('ends its turn, closes its session and restores the terminal when it is told to end', async () => {
      await start(model())
      await terminal.until(/compatible\/m/)
      await say('Wait.')
      await terminal.until(/Half of it/)
      terminal.kill('SIGTERM')
      const screen = await terminal.until(/exited with 130/)
      expect(screen).not.toContain('compatible/m')
      expect(await lastEvent()).toMatchObject({ type: 'turn/end', data: { reason: 'aborted' } })
    })

    it('does so, too, when its terminal is closed', async () => {
      await start(model())
      await terminal.until(/compatible\/m/)
      await say('Wait.')
      await terminal.until(/Half of it/)
      await terminal.close()
      expect(await lastEvent()).toMatchObject({ type: 'turn/end', data: { reason: 'aborted' } })
    })

    it('is at the prompt at once, says how to go on, and goes on after kill -9', async () => {
      await start(model())
      await terminal.until(/compatible\/m/)
      await say('Mind the gap.')
      await terminal.until(/You said: Mind the gap\./)
      terminal.kill()
      await terminal.until(/exited with 137/)
      await terminal.close()
      terminal = new Terminal()
      await start(model(), '--continue')
      await terminal.until(/You said: Mind the gap\.[^]*compatible\/m/)
      await say('Once more.')
      await terminal.until(/You said: Once more\./)
      await say('/quit')
      const screen = await terminal.until(/exited with 0/)
      const [file] = (await readdir(join(home, 'data', 'sessions'))).filter(name => name.endsWith('.jsonl'))
      expect(screen).toContain(`To go on: dsh --resume ${file!.slice(0, -'.jsonl'.length)}`)
      expect(provider.served[1]!.request.messages.map(({ text }) => text)).toEqual(['Mind the gap.', 'You said: Mind the gap.', 'Once more.'])
    })
  })
})
