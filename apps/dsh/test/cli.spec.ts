import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dsh } from './run-dsh.ts'

/** A file that is no conversation and no log. */
const SOURCE = fileURLToPath(import.meta.url)

let dir: string
let chat: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dsh-cli-'))
  chat = join(dir, 'chat.json')
  await writeFile(chat, JSON.stringify(longChat()))
})
afterAll(() => rm(dir, { recursive: true }))

/** Forty tool steps, one of them with its call left open by the recording. */
function longChat(): unknown {
  const words = 'What the tool found in src/main.ts, line after line of it.\n'.repeat(20)
  const steps = Array.from({ length: 40 }, (_, index) => {
    const call = { id: `call_${index}`, type: 'function', function: { name: 'look', arguments: `{"at":${index}}` } }
    const asked = { role: 'assistant', content: `Step ${index}.`, tool_calls: [call] }
    return index === 20 ? [asked, { role: 'user', content: 'Go on.' }] : [asked, { role: 'tool', tool_call_id: call.id, content: words }]
  })
  return [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Look at everything.' }, ...steps.flat(), { role: 'assistant', content: 'Done.' }]
}

/** A slow machine is told now and then where a replay stands. */
const withoutProgress = (stderr: string): string => stderr.replaceAll(/^replaying: .*\n/gm, '')

describe('dsh replay', () => {
  it('prints one JSON object, and nothing else, on stdout', async () => {
    const [requests, log] = [join(dir, 'requests.jsonl'), join(dir, 'log.jsonl')]
    const { code, stdout, stderr } = await dsh('replay', chat, '--window', '8000', '--json', '--requests', requests, '--log', log, '--invariants')
    expect(withoutProgress(stderr)).toBe('')
    expect(code).toBe(0)
    const report = JSON.parse(stdout) as Record<string, unknown>
    expect(Object.keys(report).sort()).toEqual([
      'compactions', 'file', 'finalRequestTokens', 'format', 'logEvents', 'messages', 'model', 'orphanResults', 'overWindowRequests', 'overheadMs',
      'oversized', 'peakRequestTokens', 'prunes', 'replayIdentical', 'requests', 'skipped', 'steps', 'threshold', 'toolCalls', 'unansweredCalls',
      'wallMs', 'window',
    ])
    expect(report).toMatchObject({ file: chat, format: 'openai-chat', window: 8_000, steps: 41, requests: 41, overWindowRequests: 0, replayIdentical: true })
    expect((report['compactions'] as unknown[]).length).toBeGreaterThan(1)

    const lines = (await readFile(requests, 'utf8')).trimEnd().split('\n').map(line => JSON.parse(line) as { step: number; messages: { role: string }[]; tools: unknown[] })
    expect(lines.map(({ step }) => step)).toEqual(Array.from({ length: 41 }, (_, index) => index + 1))
    for (const { messages, tools } of lines) {
      expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
      expect(tools).toHaveLength(1)
    }
    const checked = await dsh('check', log)
    expect(checked).toEqual({ code: 0, stdout: `${log}: ${String(report['logEvents'])} events, no violation\n`, stderr: '' })
    expect(JSON.parse((await dsh('replay', log, '--json')).stdout)).toMatchObject({ format: 'dsh-session', replayIdentical: true })
  })

  it('prints a report for a person', async () => {
    const { code, stdout } = await dsh('replay', chat, '--window', '8000')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^step {2}trigger/m)
    expect(stdout).toContain('▲ compaction')
    expect(stdout).toMatch(/^✓/m)
  })

  it('exits with 1 when a request did not fit', async () => {
    const fat = join(dir, 'fat.json')
    // Nothing may shorten a system prompt.
    await writeFile(fat, JSON.stringify([{ role: 'system', content: 'word '.repeat(8_000) }, { role: 'user', content: 'Hello.' }, { role: 'assistant', content: 'Hello.' }]))
    const { code, stdout } = await dsh('replay', fat, '--window', '4000')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^✗ the conversation stopped before its end: .*CONTEXT_WINDOW_EXCEEDED/m)
  })
})

it.each<[string, string[], RegExp]>([
  ['an unknown command', ['foo'], /unknown command 'foo'/],
  ['no file', ['replay'], /missing required argument/],
  ['a file that is not there', ['replay', '/no/such/file'], /no such file/],
  ['a file of no known format', ['replay', SOURCE], /expected one of/],
  ['a window that is no number', ['replay', SOURCE, '--window', 'wide'], /positive whole number/],
  ['a summarizer that is none', ['replay', SOURCE, '--summarizer', 'oracle'], /Allowed choices are digest, model/],
  ['a log that is none', ['check', SOURCE], /no session log/],
  ['a composition that is not there', ['--config', '/no/such/file.yml'], /config file not found/],
])('exits with 2 and an empty stdout for %s', async (_title, args, message) => {
  const { code, stdout, stderr } = await dsh(...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

it.each(['--requests', '--log'])('exits with 2 when %s cannot be written', async flag => {
  const { code, stdout, stderr } = await dsh('replay', chat, flag, join(dir, 'no', 'such', 'folder'))
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('ENOENT')
})

it('reports each violation of a log with its seq and exits with 1', async () => {
  const log = join(dir, 'to-damage.jsonl')
  expect((await dsh('replay', chat, '--log', log)).code).toBe(0)
  const damaged = (await readFile(log, 'utf8')).replace('"turn":1,"step":3', '"turn":1,"step":4')
  await writeFile(log, damaged)
  const { code, stdout } = await dsh('check', log)
  expect(code).toBe(1)
  expect(stdout).toMatch(/^.*to-damage\.jsonl: event \d+ \(session\): step 4 where step 3 is due$/m)
})

describe('dsh without arguments', () => {
  it('replays the shipped session in the shipped composition', async () => {
    const { code, stdout, stderr } = await dsh('--invariants')
    expect(withoutProgress(stderr)).toBe('')
    expect(code).toBe(0)
    const rows = stdout.match(/^ +\d+ {2}pressure .*digest/gm) ?? []
    expect(rows.length).toBeGreaterThanOrEqual(3)
    expect(stdout.match(/^(Try next:| {10}) +npm start -- /gm)).toHaveLength(2)
    const log = /^The session log: (.*)$/m.exec(stdout)![1]!
    expect((await dsh('check', log)).code).toBe(0)
    await rm(join(log, '..'), { recursive: true })
  })

  it('does not start with a broken row, and names it', async () => {
    const composition = fileURLToPath(new URL('../../../examples/tui-agent/cordis.yml', import.meta.url))
    const broken = join(dir, 'cordis.yml')
    await writeFile(broken, (await readFile(composition, 'utf8')).replace('dsh-token-meter', 'dsh-token-metre'))
    const { code, stdout, stderr } = await dsh('--config', broken)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/token-meter \(@deepseek-ai\/dsh-token-metre\): Cannot find package/)
    expect(stderr).toMatch(/compaction .*: it waits for "tokenMeter"/)
  })
})
