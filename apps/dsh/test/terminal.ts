/**
 * A terminal to test in: tmux holds one of a fixed size, its screen is text.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

const BIN = fileURLToPath(new URL('../bin/dsh.ts', import.meta.url))

export const hasTmux = ((): boolean => {
  try {
    execFileSync('tmux', ['-V'])
    return true
  } catch {
    return false
  }
})()

const POLL_MS = 50

export class Terminal {
  private readonly folder = mkdtempSync(join(tmpdir(), 'dsh-tmux-'))
  private readonly pidFile = join(this.folder, 'pid')

  /** `dsh` with these arguments, and what it exited with once it has. */
  async start(args: readonly string[], { env, cwd, columns = 80, rows = 24 }: { readonly env: { readonly [name: string]: string }; readonly cwd: string; readonly columns?: number; readonly rows?: number }): Promise<void> {
    const { PATH = '' } = process.env
    // What was compiled for one is there for the next, wherever its own temporary folder is.
    const compiled = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') }
    const variables = Object.entries({ PATH, TERM: 'screen-256color', LANG: 'C.UTF-8', ...compiled, ...env }).map(([name, value]) => `${name}=${value}`)
    const noted = ['sh', '-c', 'echo $$ > "$0"; exec "$@"', this.pidFile]
    const command = [...noted, 'env', '-i', ...variables, process.execPath, BIN, ...args].map(quoted).join(' ')
    await this.tmux('-f', '/dev/null', 'new-session', '-d', '-x', String(columns), '-y', String(rows), '-c', cwd, `${command}; echo "exited with $?"; cat`)
  }

  /** What is seen, without the white space at the ends of lines. */
  async screen(): Promise<string> {
    return (await this.tmux('capture-pane', '-p')).split('\n').map(line => line.trimEnd()).join('\n').trimEnd()
  }

  /** The screen as soon as it shows this; whoever waits in vain is ended by the test's own timeout. */
  async until(sign: RegExp): Promise<string> {
    for (;;) {
      const screen = await this.screen()
      if (sign.test(screen)) return screen
      await setTimeout(POLL_MS)
    }
  }

  /** The screen as it is drawn: with the escape sequences that give it its styles. */
  async styled(): Promise<string> {
    return this.tmux('capture-pane', '-p', '-e')
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  async type(text: string): Promise<void> {
    await this.tmux('send-keys', '-l', text)
  }

  /** As a person would from elsewhere, many lines at once. */
  async paste(text: string): Promise<void> {
    await this.tmux('set-buffer', text)
    await this.tmux('paste-buffer', '-p')
  }

  async press(key: string): Promise<void> {
    await this.tmux('send-keys', key)
  }

  /** Ends what runs in it: as a crash would, or as it is asked to. */
  kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): void {
    process.kill(Number(readFileSync(this.pidFile, 'utf8')), signal)
  }

  async close(): Promise<void> {
    await this.tmux('kill-server').catch(() => {}) // what ran has ended, and tmux with it
    rmSync(this.folder, { recursive: true, force: true })
  }

  private async tmux(...args: string[]): Promise<string> {
    return (await run('tmux', ['-S', join(this.folder, 'socket'), ...args])).stdout
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
