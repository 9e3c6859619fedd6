import { Context } from '@deepseek-ai/cordis'
import { Session } from '@deepseek-ai/dsh-session'
import ShellTool from '@deepseek-ai/dsh-tool-shell'
import Tools, { type PermissionRequest, type ToolOutcome } from '@deepseek-ai/dsh-tools'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-shell-test-')))
afterAll(() => rmSync(root, { recursive: true }))
const session = new Session({ header: { id: 's', createdAt: 0, cwd: root } })

async function stage(config: { headChars?: number; tailChars?: number; maxTimeoutMs?: number; maxOutputFileBytes?: number; outputDir?: string; passedKeys?: string[] } = {}) {
  const ctx = new Context()
  await ctx.plugin(Tools)
  const plugin = await ctx.plugin(ShellTool, { outputDir: root, ...config } as never)
  const asked: PermissionRequest[] = []
  const heard: string[] = []
  ctx.on('tools/permission', async ({ request }) => { asked.push(request); return { kind: 'allow' } })
  ctx.on('tools/output', ({ text }) => void heard.push(text))
  const run = (args: object, signal = new AbortController().signal) =>
    ctx.tools.execute({ type: 'tool-call', id: 'c', name: 'shell', arguments: JSON.stringify(args) }, { signal, session })
  return { ctx, plugin, asked, heard, run }
}

const textOf = ({ content }: ToolOutcome) => (content[0] as { text: string }).text

/** Waits for something that another process does. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 10))
}

function isAlive(pid: number): boolean {
  try {
    // A zombie is dead, though a signal reaches it.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('a result', () => {
  it.each([
    ['what was printed', 'echo one; echo two', 'one\ntwo\n'],
    ['both streams in the order in which they were written', 'for i in 1 2 3; do echo out$i; echo err$i >&2; done', 'out1\nerr1\nout2\nerr2\nout3\nerr3\n'],
    ['the exit code where it is not 0', 'echo no; exit 3', 'no\n[exit code 3]'],
    ['the exit code alone', 'false', '[exit code 1]'],
    ['the signal that ended it', 'kill -KILL $$', '[ended by SIGKILL]'],
    ['a word for nothing', 'true', '(no output)'],
    ['plain text', "printf '\\033[31mred\\033[0m 1%%\\r2%%\\n'", '2%\n'],
    ['that of bash, not of sh', '[[ a == a ]] && echo ${BASH_VERSION:+bash}', 'bash\n'],
    ['an end of input at once', 'cat; echo $?', '0\n'],
    ['what was printed without a terminal', 'tty; echo $TERM $PAGER $NO_COLOR; (: </dev/tty) 2>/dev/null || echo none', 'not a tty\ndumb cat 1\nnone\n'],
    ['text up to what is none', "printf 'text\\n\\0\\1\\2binary'", 'text\n[9 bytes from here on are binary and not shown; write them to a file, or pass them through a program that prints them]'],
  ])('is %s', async (_title, command, expected) => {
    const { run } = await stage()
    expect(textOf(await run({ command }))).toBe(expected)
  })

  it.each([
    ['cannot read', 'echo (', /^bash: .*syntax error[^]*\n\[exit code 2\]$/],
    ['does not know', 'no-such-command-here', /^bash: .*no-such-command-here: command not found\n\[exit code 127\]$/],
  ])('is what bash says of what it %s', async (_title, command, expected) => {
    const { run } = await stage()
    expect(textOf(await run({ command }))).toMatch(expected)
  })

  it('of a command that fails is no failure of the tool, and programs read its code', async () => {
    const { run } = await stage()
    const outcome = await run({ command: 'exit 3' })
    expect(outcome).not.toHaveProperty('isError')
    expect(outcome.meta).toEqual({ exitCode: 3, lines: 0, chars: 0 })
  })

  it('is read right where a character comes in two pieces', async () => {
    const { run } = await stage()
    expect(textOf(await run({ command: "printf '\\xe6\\xbc'; sleep 0.1; printf '\\xa2\\n'" }))).toBe('漢\n')
  })

  it('comes from the folder of the session, or from one beside or below', async () => {
    const { run } = await stage()
    mkdirSync(join(root, 'below'), { recursive: true })
    expect(textOf(await run({ command: 'pwd' }))).toBe(`${root}\n`)
    expect(textOf(await run({ command: 'pwd', cwd: 'below' }))).toBe(`${root}/below\n`)
  })
})

it('a command does not get the keys of the process, but for those it is said to need', async () => {
  process.env['SHELL_TEST_API_KEY'] = 'secret-1'
  process.env['SHELL_TEST_OTHER_API_KEY'] = 'secret-2'
  try {
    const { run } = await stage({ passedKeys: ['SHELL_TEST_OTHER_API_KEY'] })
    expect(textOf(await run({ command: 'env | grep SHELL_TEST' }))).toBe('SHELL_TEST_OTHER_API_KEY=secret-2\n')
  } finally {
    delete process.env['SHELL_TEST_API_KEY']
    delete process.env['SHELL_TEST_OTHER_API_KEY']
  }
})

describe('a long output', () => {
  it('is shown by its ends and kept whole in a file', async () => {
    const { run } = await stage({ headChars: 100, tailChars: 100 })
    const outcome = await run({ command: 'seq 1 1000' })
    const whole = Array.from({ length: 1_000 }, (_, index) => `${index + 1}\n`).join('')
    const [, head, lines, chars, path, tail] = /^([^]*)\[… ([\d,]+) lines \(([\d,]+) characters\) are left out here; the whole output is in (\S+) \(1,000 lines, 3,893 bytes\) …\]\n([^]*)$/.exec(textOf(outcome))!
    expect(readFileSync(path!, 'utf8')).toBe(whole)
    expect(outcome.meta).toEqual({ exitCode: 0, lines: 1_000, chars: 3_893, file: path })
    const omitted = whole.slice(head!.length, -tail!.length)
    expect(head! + omitted + tail!).toBe(whole)
    expect([lines, chars]).toEqual([(omitted.split('\n').length - 1).toLocaleString('en-US'), omitted.length.toLocaleString('en-US')])
  })

  it('makes no file while it is short', async () => {
    const { run } = await stage({ headChars: 100, tailChars: 100, outputDir: join(root, 'nowhere') })
    expect(textOf(await run({ command: 'seq 1 50' }))).not.toContain('left out')
  })

  it('says so where its file cannot hold it', async () => {
    const { run } = await stage({ headChars: 100, tailChars: 100, maxOutputFileBytes: 2_000 })
    expect(textOf(await run({ command: 'seq 1 300; sleep 0.1; seq 1 300' }))).toMatch(/not all of it: it ends after \d+ bytes/)
    const nowhere = await stage({ headChars: 100, tailChars: 100, outputDir: join(root, 'nowhere') })
    expect(textOf(await nowhere.run({ command: 'seq 1 300' }))).toContain('it is kept nowhere; not all of it: ENOENT')
  })

  it('is heard as it comes, by lines', async () => {
    const { run, heard } = await stage()
    const file = join(root, 'go-on')
    const outcome = run({ command: `echo first; until [ -e ${file} ]; do sleep 0.01; done; echo second` })
    await until(() => heard.length > 0)
    expect(heard).toEqual(['first\n'])
    await run({ command: `touch ${file}` })
    await outcome
    expect(heard.join('')).toBe('first\nsecond\n')
  })
})

describe('an end', () => {
  const forever = (file: string) => `sleep 1000 & echo $! > ${file}; wait`

  it('is made by the timeout, of everything the command started', async () => {
    const { run } = await stage()
    const file = join(root, 'timeout-pid')
    const outcome = await run({ command: `echo begun; ${forever(file)}`, timeoutMs: 1_500 })
    expect(outcome).toMatchObject({ isError: true, error: { code: 'TIMEOUT' } })
    expect(textOf(outcome)).toMatch(/^begun\n\[timed out after 1\.5 s and was killed/)
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))))
  })

  it('is made by force where asking does not help', async () => {
    const { run } = await stage()
    const file = join(root, 'deaf-pid')
    const outcome = await run({ command: `trap '' TERM; echo $$ > ${file}; while :; do sleep 0.1; done`, timeoutMs: 1_500 })
    expect(textOf(outcome)).toContain('timed out')
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))))
  })

  it('is made by cancelling the call', async () => {
    const { run } = await stage()
    const file = join(root, 'cancel-pid')
    const controller = new AbortController()
    const outcome = run({ command: forever(file) }, controller.signal)
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '')
    controller.abort()
    expect(await outcome).toMatchObject({ error: { code: 'ABORTED' } })
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))))
  })

  it('is made by unloading the plugin', async () => {
    const { run, plugin } = await stage()
    const file = join(root, 'unload-pid')
    const outcome = run({ command: forever(file) })
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '')
    await plugin.dispose()
    expect(textOf(await outcome)).toContain('unloaded')
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))))
  })

  it('is not waited for where something goes on in the background, until the plugin goes', async () => {
    const { run, plugin } = await stage()
    const text = textOf(await run({ command: 'sleep 1000 & echo started' }))
    const [, group] = /^started\n\[processes go on in the background \(process group (\d+)\)/.exec(text)!
    const alive = () => {
      try {
        return process.kill(-Number(group), 0)
      } catch {
        return false
      }
    }
    expect(alive()).toBe(true)
    await plugin.dispose()
    await until(() => !alive())
  })
})

describe('what goes on in the background with its output elsewhere', () => {
  const quiet = (file: string, command: string) => `(${command}) >/dev/null 2>&1 & echo $! > ${file}; echo started`

  it('is named in the result, and ends with the plugin, by force where asking does not help', async () => {
    const { run, plugin } = await stage()
    const file = join(root, 'quiet-pid')
    const text = textOf(await run({ command: quiet(file, `trap '' TERM; while :; do sleep 0.1; done`) }))
    expect(text).toMatch(/^started\n\[processes go on in the background \(process group (\d+)\); end them with: kill -- -\1\]$/)
    expect(isAlive(Number(readFileSync(file, 'utf8')))).toBe(true)
    await plugin.dispose()
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))))
  })

  it('is nothing when it has ended soon', async () => {
    const { run } = await stage()
    expect(textOf(await run({ command: quiet(join(root, 'soon-pid'), 'sleep 0.1') }))).toBe('started\n')
  })

  it('ends with a process that exits without unloading anything', async () => {
    const file = join(root, 'exit-pid')
    const program = `
      import { Context } from '@deepseek-ai/cordis'
      import ShellTool from '@deepseek-ai/dsh-tool-shell'
      import Tools from '@deepseek-ai/dsh-tools'
      const ctx = new Context()
      await ctx.plugin(Tools)
      await ctx.plugin(ShellTool)
      ctx.on('tools/permission', async () => ({ kind: 'allow' }))
      const call = { type: 'tool-call', id: 'c', name: 'shell', arguments: ${JSON.stringify(JSON.stringify({ command: quiet(file, 'exec sleep 1000') }))} }
      await ctx.tools.execute(call, { signal: new AbortController().signal })
      process.exit()`
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: import.meta.dirname })
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))))
  })
})

describe('permission', () => {
  it('is asked for with the whole command', async () => {
    const { run, asked } = await stage()
    mkdirSync(join(root, 'there'), { recursive: true })
    await run({ command: 'ls .' })
    await run({ command: 'ls .', cwd: 'there' })
    await run({ command: 'echo 1\necho 2' })
    const long = `echo ${'x'.repeat(200)}`
    await run({ command: long })
    expect(asked).toEqual([
      { scope: 'shell: ls', title: 'Run ls .' },
      { scope: `shell in "${root}/there": ls`, title: `Run ls . in ${root}/there` },
      { scope: 'shell, exactly: echo 1\necho 2', title: 'Run echo 1…', detail: 'echo 1\necho 2' },
      { scope: `shell, exactly: ${long}`, title: `Run ${long.slice(0, 100)}…`, detail: long },
    ])
  })

  it('is asked for by where a link leads', async () => {
    const { run, asked } = await stage()
    const away = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-shell-away-')))
    symlinkSync(away, join(root, 'away'))
    await run({ command: 'ls away' })
    await run({ command: 'ls .', cwd: 'away' })
    rmSync(away, { recursive: true })
    expect(asked).toEqual([
      { scope: 'shell, exactly: ls away', title: 'Run ls away' },
      { scope: `shell in "${away}": ls`, title: `Run ls . in ${away}` },
    ])
  })

  it('is not asked for what cannot run', async () => {
    const { run, asked } = await stage({ maxTimeoutMs: 1_000_000 })
    expect(textOf(await run({ command: 'ls', cwd: 'missing' }))).toBe(`There is no folder ${root}/missing to run the command in.`)
    expect(textOf(await run({ command: 'ls', timeoutMs: 2_000_000 }))).toContain('timeoutMs')
    expect(textOf(await run({ command: 'ls', timeout: 5 }))).toContain('timeout')
    expect(asked).toEqual([])
  })
})

it('refuses a configuration that it does not know', async () => {
  const ctx = new Context()
  await ctx.plugin(Tools)
  await expect(ctx.plugin(ShellTool, { timeout: 3 } as never)).rejects.toThrow('timeout')
})
