import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { doctorLines, isHealthy, type Diagnosis } from '../src/doctor-report.ts'
import { startDsh, type Ended } from './run-dsh.ts'

const sound: Diagnosis = {
  node: '24.0.0',
  composition: { path: 'cordis.yml', rows: ['session', 'llm'] },
  sessions: { dir: '/data/sessions' },
  isSet: name => name === 'OPENAI_API_KEY',
  providers: [{ provider: 'openai', origin: 'api.openai.com', models: ['a', 'b', 'c', 'd', 'e'] }, { provider: 'bare' }],
  choice: { route: { provider: 'openai', model: 'a' }, why: 'it is there' },
  info: { contextWindow: 128_000, maxOutputTokens: 8_000, prices: { input: 1, cacheRead: 0.1, output: 2 }, source: 'the built-in table' },
  programs: [{ name: 'rg', use: 'searches', path: '/bin/rg' }, { name: 'git', use: 'remembers', path: undefined }],
}

describe('the report', () => {
  it('says what is there and where its figures come from', () => {
    const lines = doctorLines(sound)
    expect(lines).toEqual(expect.arrayContaining([
      '✓ node 24.0.0',
      '    2 rows: session, llm',
      '✓ model openai/a: it is there',
      '    window 128,000 tokens',
      '    $1 in, $0.1 cached, $2 out a million tokens',
      '    as the built-in table says',
      '  openai: api.openai.com; a, b, c, d, …',
      '  bare',
      '  ✓ /bin/rg',
      '  – git is not there: remembers',
    ]))
    expect(lines.filter(line => line.startsWith('  ✓ ') && line.includes('_')).map(line => line.split(' ')[3])).toEqual(['OPENAI_API_KEY'])
    expect(isHealthy(sound)).toBe(true)
  })

  it.each<[string, Partial<Diagnosis>, string, boolean]>([
    ['a composition that does not boot', { composition: { path: 'c', fault: 'a row is broken' } }, '✗ composition: a row is broken', false],
    ['no way to store', { sessions: { dir: '/d', fault: 'EACCES' } }, '✗ sessions in /d: EACCES', false],
    ['no model', { choice: { refusal: 'no key' } }, '✗ model: no key', false],
    ['figures that are not known', { info: undefined }, '    its provider has no figures of it: its window is not known, and nothing is compacted before it overflows', true],
    ['a window that is not known', { info: {} }, '    window not known: nothing is compacted before it overflows', true],
    ['prices that are not known', { info: { contextWindow: 1 } }, '    prices not known', true],
  ])('tells %s', (_title, change, line, healthy) => {
    const diagnosis = { ...sound, ...change }
    expect(doctorLines(diagnosis)).toContain(line)
    expect(isHealthy(diagnosis)).toBe(healthy)
  })
})

describe('dsh doctor', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsh-doctor-'))
  })
  afterEach(() => rm(dir, { recursive: true }))

  const doctor = (env: { [name: string]: string }, ...args: string[]): Promise<Ended> => startDsh(['doctor', ...args], { env: { DSH_DATA_DIR: dir, ...env } }).ended

  it('exits with 0 when a conversation could begin, and prints no key', async () => {
    const { code, stdout, stderr } = await doctor({ OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1', OPENAI_COMPATIBLE_MODEL: 'mine', OPENAI_COMPATIBLE_CONTEXT_WINDOW: '50000', OPENAI_API_KEY: 'sk-secret', DSH_MODEL: 'compatible/mine' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`✓ sessions in ${join(dir, 'sessions')}`)
    expect(stdout).toContain('✓ model compatible/mine: DSH_MODEL says so')
    expect(stdout).toMatch(/openai: .*key from OPENAI_API_KEY/)
    expect(stdout).not.toContain('sk-secret')
  })

  it('exits with 1 and names each thing that is wrong', async () => {
    const [file, broken] = [join(dir, 'file'), join(dir, 'cordis.yml')]
    await writeFile(file, '')
    await writeFile(broken, "- id: loop\n  name: '@deepseek-ai/dsh-agent-loop'\n")
    const { code, stdout } = await doctor({ DSH_DATA_DIR: join(file, 'x') }, '--config', broken)
    expect(code).toBe(1)
    expect(stdout).toMatch(/✗ composition: .*cordis\.yml cannot be booted:\n.*loop .*: it waits for/)
    expect(stdout).toMatch(/✗ sessions in .*: ENOTDIR|✗ sessions in .*: .* is no folder/)
    expect(stdout).toContain('✗ model: ')
  })
})
