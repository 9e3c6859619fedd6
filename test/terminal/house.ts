/**
 * A house for scenes: a project in a folder of its own, a model that says what it is told to, and `dsh` in a terminal between
 * a person and both.
 */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { checkSessionFile } from '../../apps/dsh/src/check.ts'
import { Terminal } from '../../apps/dsh/test/terminal.ts'
import { queued } from '../provider/control.ts'
import { asksForSummary, type Answer } from '../provider/script.ts'
import { SCRIPTS } from '../provider/scripts.ts'
import { startProvider, type Provider, type Served } from '../provider/server.ts'

export { hasTmux } from '../../apps/dsh/test/terminal.ts'

export type Variables = { readonly [name: string]: string }

export interface HouseInit {
  /** What the model says, in order, and to requests for a summary; after that it repeats what it is told. */
  readonly answers?: readonly Answer[]
  readonly summaries?: readonly Answer[]
  /** Of the project, by name. */
  readonly files?: { readonly [name: string]: string }
  /** Which models there are; `compatible` by default. */
  readonly env?: (url: string) => Variables
}

/** An endpoint that speaks OpenAI chat completions, with a window of so many tokens. */
export const compatible = (windowTokens = 50_000) => (url: string): Variables => ({
  OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`, OPENAI_COMPATIBLE_MODEL: 'm', OPENAI_COMPATIBLE_CONTEXT_WINDOW: String(windowTokens),
})
export const deepseek = (url: string): Variables => ({ DEEPSEEK_API_KEY: 'key', DEEPSEEK_BASE_URL: `${url}/v1`, DSH_MODEL: 'deepseek/deepseek-v4-pro' })
export const anthropic = (url: string): Variables => ({ ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: `${url}/v1` })

export interface StartOptions {
  readonly env?: Variables
  readonly columns?: number
  readonly rows?: number
  /** Of it being where it should be: at the prompt by default. */
  readonly sign?: RegExp
}

/** Gone when the test is over; what was on the screen of one that failed is printed. */
export async function house({ answers = [], summaries = [], files = {}, env = compatible() }: HouseInit = {}): Promise<House> {
  const home = await mkdtemp(join(tmpdir(), 'dsh-scene-'))
  const provider = await startProvider({ script: queued({ answers: [...answers], summaries: [...summaries] }, SCRIPTS['echo']!()) })
  const made = new House(home, provider, env(provider.url))
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') console.log(await made.terminal.screen().catch(() => 'no screen'))
    await made.terminal.close()
    await provider.close()
    await rm(home, { recursive: true, force: true, maxRetries: 20 }) // what was ended may still write its last file
  })
  await mkdir(made.project)
  for (const [name, text] of Object.entries(files)) await writeFile(join(made.project, name), text)
  return made
}

export class House {
  terminal = new Terminal()
  readonly provider: Provider
  readonly project: string
  private readonly home: string
  private readonly env: Variables

  constructor(home: string, provider: Provider, env: Variables) {
    this.home = home
    this.provider = provider
    this.env = env
    this.project = join(home, 'project')
  }

  async start(args: readonly string[] = [], { env = {}, sign = /\/ commands/, ...size }: StartOptions = {}): Promise<void> {
    const { home, project } = this
    await this.terminal.start(args, { cwd: project, env: { HOME: home, TMPDIR: home, DSH_DATA_DIR: join(home, 'data'), ...this.env, ...env }, ...size })
    await this.sees(sign)
  }

  async say(words: string): Promise<void> {
    await this.terminal.type(words)
    await this.terminal.press('Enter')
  }

  /** The screen as soon as it shows all of this. */
  async sees(...signs: readonly RegExp[]): Promise<string> {
    for (;;) {
      const screen = await this.terminal.until(signs[0]!)
      if (signs.every(sign => sign.test(screen))) return screen
    }
  }

  /** The screen as soon as it shows all of this and is drawn to its end, so that two looks at it agree; steady. */
  async picture(...signs: readonly RegExp[]): Promise<string> {
    for (let last = ''; ;) {
      const screen = steady(await this.sees(...signs))
      if (screen === last) return screen
      last = screen
    }
  }

  /** The screen as soon as it does not show this any more. */
  async gone(sign: RegExp): Promise<string> {
    return this.terminal.until(new RegExp(`^(?![^]*${sign.source})`))
  }

  /** Requests but for those that ask for a summary, and those. */
  get asked(): readonly Served[] {
    return this.provider.served.filter(({ request }) => !asksForSummary(request))
  }

  get askedForSummary(): readonly Served[] {
    return this.provider.served.filter(({ request }) => asksForSummary(request))
  }

  /** What the newest request had to say, the way a model reads it. */
  get heard(): readonly string[] {
    return this.asked.at(-1)!.request.messages.map(({ text }) => text)
  }

  /** As a crash would end it; the terminal is a new one afterwards. */
  async crash(): Promise<void> {
    this.terminal.kill()
    await this.sees(/exited with 137/)
    await this.renew()
  }

  /** The way out, and no log that breaks a rule; the terminal is a new one afterwards. */
  async leave(): Promise<string> {
    await this.say('/quit')
    const screen = await this.sees(/exited with \d+/)
    expect(screen).toContain('exited with 0')
    await this.expectSoundLogs()
    await this.renew()
    return screen
  }

  private async renew(): Promise<void> {
    await this.terminal.close()
    this.terminal = new Terminal()
  }

  /** As `dsh check` judges them. */
  async expectSoundLogs(): Promise<void> {
    const folder = join(this.home, 'data', 'sessions')
    const files = (await readdir(folder)).filter(name => name.endsWith('.jsonl'))
    expect(files).not.toEqual([])
    for (const file of files) expect(await checkSessionFile(join(folder, file)), file).toMatchObject({ violations: [], notices: [] })
  }
}

const TIME = String.raw`(?:\d+h )?(?:\d+m )?\d+(?:\.\d)?s`

/**
 * A screen as any run would draw it: the spinner stands still, nothing takes its time, and what depends on the names of folders
 * or names a session reads alike.
 */
function steady(screen: string): string {
  const lines = screen
    .replaceAll(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠿')
    .replaceAll(new RegExp(`^(⠿ .*) ${TIME} {2,}`, 'gm'), '$1 Ns   ')
    .replaceAll(new RegExp(` · ${TIME} · `, 'g'), ' · Ns · ')
    .replaceAll(new RegExp(` · ${TIME}$`, 'gm'), '')
    .split('\n')
  const status = lines.pop()!
  return [...lines, status.replace(/\d+% ~?[\d.]+k?(?=\/)/, 'N% N').replace(/\$[\d.]+/, '$N').replace(/ {2,}.*$/, '')].join('\n')
}
