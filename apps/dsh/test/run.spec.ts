import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startProvider, type Provider } from '../../../test/provider/server.ts'
import { rateLimit, refusal, type Answer } from '../../../test/provider/script.ts'
import { startDsh, type Ended, type Started, type Surroundings } from './run-dsh.ts'

let home: string
let provider: Provider
let answers: Answer[]
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'dsh-run-'))
  answers = []
  provider = await startProvider({ script: () => answers.shift() ?? 'Done.' })
})
afterEach(async () => {
  await provider.close()
  await rm(home, { recursive: true })
})

const sessions = (): string => join(home, 'data', 'sessions')

function start(args: readonly string[], { env, ...surroundings }: Surroundings = {}): Started {
  const model = { OPENAI_COMPATIBLE_BASE_URL: `${provider.url}/v1`, OPENAI_COMPATIBLE_MODEL: 'm', OPENAI_COMPATIBLE_CONTEXT_WINDOW: '50000' }
  return startDsh(['run', '--invariants', ...args], { cwd: home, ...surroundings, env: { ...model, DSH_DATA_DIR: join(home, 'data'), ...env } })
}
const run = (args: readonly string[], surroundings?: Surroundings): Promise<Ended> => start(args, surroundings).ended

const asked = (index: number): string[] => {
  const { system, messages } = provider.served[index]!.request
  return [`system: ${system}`, ...messages.map(({ role, text }) => `${role}: ${text}`)]
}
const lines = ({ stdout }: Ended): { type: string; [key: string]: unknown }[] => stdout.trimEnd().split('\n').map(line => JSON.parse(line))

describe('dsh run', () => {
  it('prints the answer alone on stdout', async () => {
    answers = ['The answer.']
    expect(await run(['What', 'is it?'])).toEqual({ code: 0, stdout: 'The answer.\n', stderr: '' })
    expect(asked(0).at(-1)).toBe('user: What is it?')
    expect(asked(0)[0]).toMatch(/^system: You are dsh/)
    expect(asked(0)[0]).toContain(`Working folder: ${home}`)
  })

  it('goes on with a session, with the same prefix, which the provider has cached', async () => {
    const [session] = lines(await run(['One.', '--json']))
    const second = await run(['Two.', '--resume', String(session!['id'])], { cwd: tmpdir() })
    expect(second).toMatchObject({ code: 0, stderr: '' })
    expect(asked(1)).toEqual([...asked(0), 'assistant: Done.', 'user: Two.'])
    expect(provider.served[1]!.read).toBeGreaterThan(0.9 * provider.served[0]!.promptTokens)
    await run(['Three.', '--continue'])
    expect(asked(2).slice(0, -2)).toEqual(asked(1))
    const { stdout } = await startDsh(['sessions'], { env: { DSH_DATA_DIR: join(home, 'data') } }).ended
    expect(stdout).toMatch(new RegExp(`^${String(session!['id'])}  just now  \\d+ kB  [\\d.]+k? tokens  ${home}\n    One\\.\n$`))
  })

  it('takes a prompt from stdin, or context beside one', async () => {
    await run(['-'], { stdin: 'From a pipe.\n' })
    expect(asked(0).at(-1)).toBe('user: From a pipe.')
    await run([], { stdin: 'Without a dash.' })
    expect(asked(1).at(-1)).toBe('user: Without a dash.')
    await run(['Explain.'], { stdin: `head ${'x'.repeat(200_000)} tail` })
    const text = asked(2).join('\n')
    expect(text).toMatch(/<stdin>\nhead x+\n\[… \d+ characters left out …\]\nx+ tail\n<\/stdin>/)
    expect(text).toMatch(/Explain\.$/)
    expect(text.length).toBeLessThan(110_000)
  })

  it('refuses what needs permission, saying so once, unless --yes allows it', async () => {
    const write = (id: string): Answer => [{ call: { id, name: 'shell', arguments: { command: `echo ${id} > ${id}.txt` } } }]
    answers = [write('a'), write('b'), 'Not done.']
    const refused = await run(['Write.'])
    expect(refused).toMatchObject({ code: 0, stdout: 'Not done.\n' })
    expect(refused.stderr.match(/--yes allows it/g)).toHaveLength(1)
    expect(asked(1).at(-1)).toMatch(/^tool: .*a person can allow it/s)
    answers = [write('c'), 'Done.']
    const allowed = await run(['Write.', '--yes'])
    expect(allowed).toEqual({ code: 0, stdout: 'Done.\n', stderr: '• shell {"command":"echo c > c.txt"}\n' })
    expect((await readdir(home)).sort()).toEqual(['c.txt', 'data'])
  })

  it('--json prints the events as they are logged, and the result', async () => {
    answers = ['The answer.']
    const ended = await run(['Hello.', '--json'])
    const [session, ...rest] = lines(ended)
    const result = rest.pop()
    expect(session).toMatchObject({ type: 'session', id: expect.any(String), cwd: home, provider: 'compatible', model: 'm' })
    expect(result).toMatchObject({ type: 'result', session: session!['id'], exitCode: 0, end: { reason: 'completed' }, text: 'The answer.', usage: { outputTokens: provider.served[0]!.outputTokens } })
    const log = (await readFile(join(sessions(), `${String(session!['id'])}.jsonl`), 'utf8')).trimEnd().split('\n').slice(1)
    expect(ended.stdout.trimEnd().split('\n').slice(1, -1)).toEqual(log)
  })

  it('exits with 1 when the turn fails, and says why', async () => {
    answers = [refusal('openai', 401, 'Incorrect API key provided.')]
    const { code, stdout, stderr } = await run(['Hello.'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('AUTH')
    expect(stderr).toContain('Incorrect API key provided.')
  })

  it('says what a person would miss: a wait that is too long to begin, an answer without words', async () => {
    answers = [rateLimit('openai', 4_000)]
    expect(await run(['Hello.'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/RATE_LIMIT: .* \(the provider asks to wait 4,000 s\)\n$/) })
    answers = [[{ reasoning: 'Thoughts alone.' }]]
    expect(await run(['Hello.'])).toEqual({ code: 0, stdout: '', stderr: 'dsh: the answer has no words\n' })
  })

  it('a signal cancels the turn and exits with 130; the session goes on', async () => {
    answers = [[{ text: 'Half of it. ' }, { wait: 'never' }]]
    const { child, ended } = start(['Hello.', '--json'])
    while (provider.gates.waiting().length === 0) await setTimeout(20)
    child.kill('SIGINT')
    const stopped = await ended
    expect(stopped.code).toBe(130)
    const result = lines(stopped).at(-1)
    expect(result).toMatchObject({ type: 'result', exitCode: 130, end: { reason: 'aborted' } })
    await run(['Go on.', '--resume', String(result!['session'])])
    expect(asked(1)).toContain('user: Hello.')
    expect(asked(1).at(-1)).toMatch(/Go on\.$/)
  })
})

describe('dsh run leaves nothing running', () => {
  const background = { command: `sleep 1000 >/dev/null & echo $! > pid` }
  /** A turn that has left a process in the background and waits for its model; what the file `pid` says is that process. */
  async function waiting(): Promise<Started & { pid(): Promise<number> }> {
    answers = [[{ call: { name: 'shell', arguments: background } }], [{ text: 'Half of it. ' }, { wait: 'go' }, { text: 'The rest.' }]]
    const started = start(['Hello.', '--json', '--yes'])
    while (provider.gates.waiting().length === 0) await setTimeout(20)
    return { ...started, pid: async () => Number(await readFile(join(home, 'pid'), 'utf8')) }
  }
  /** What has ended may still stand in the table of processes. */
  const isRunning = async (pid: number): Promise<boolean> => !/^State:\s+Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z'))

  it.each([['SIGTERM', 1], ['SIGHUP', 1], ['SIGINT', 2]] as const)('when it gets %s, %i times', async (signal, times) => {
    const { child, ended, pid } = await waiting()
    expect(await isRunning(await pid())).toBe(true)
    for (let sent = 0; sent < times; sent++) child.kill(signal)
    expect((await ended).code).toBe(130)
    while (await isRunning(await pid())) await setTimeout(20)
  })

  it('when nobody reads its output any more', async () => {
    const { child, ended, pid } = await waiting()
    child.stdout!.destroy()
    provider.gates.release('go')
    await ended
    while (await isRunning(await pid())) await setTimeout(20)
  })
})

it('dsh run does without somebody who reads what happens', async () => {
  answers = [[{ call: { name: 'list', arguments: {} } }], 'The answer.']
  const { child, ended } = start(['Hello.'])
  child.stderr!.destroy()
  expect(await ended).toMatchObject({ code: 0, stdout: 'The answer.\n' })
})

describe('dsh run exits with 2 and stores nothing', () => {
  it.each<[string, string[], Record<string, string>, RegExp]>([
    ['without a prompt', [], {}, /there is no prompt/],
    ['without a model', ['Hello.'], { OPENAI_COMPATIBLE_BASE_URL: '' }, /no provider has a key/],
    ['for a model that nobody offers', ['Hello.', '--model', 'nobody/x'], {}, /--model nobody\/x: nothing offers that/],
    ['without a folder for it', ['Hello.', '--dir', '/dev/null/sessions'], {}, /^dsh: \/dev\/null\/sessions could not be written: .*\n$/],
    ['for a session that is not there', ['Hello.', '--resume', 'nobody'], {}, /nobody\.jsonl/],
  ])('%s', async (_title, args, env, message) => {
    const { code, stdout, stderr } = await run(args, { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    await expect(readdir(sessions())).rejects.toThrow('ENOENT')
  })
})
