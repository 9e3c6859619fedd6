import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { boot, BootError } from '../src/boot.ts'

const shipped = fileURLToPath(new URL('../../../examples/tui-agent/cordis.yml', import.meta.url))
const basicToDigest = new Map([['@deepseek-ai/dsh-compaction-basic', '@deepseek-ai/dsh-compaction-digest']])

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dsh-boot-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** The shipped composition with one place changed. */
async function changed(change: (yaml: string) => string): Promise<string> {
  const yaml = await readFile(shipped, 'utf8')
  const path = join(dir, 'cordis.yml')
  await writeFile(path, change(yaml))
  expect(await readFile(path, 'utf8')).not.toBe(yaml)
  return path
}

it('boots the shipped composition as it stands', async () => {
  const ctx = await boot({ path: shipped })
  for (const service of ['sessions', 'sessionPersistence', 'llm', 'tokenMeter', 'systemPrompt', 'tools', 'agents', 'commands', 'compaction']) {
    expect(ctx.get(service), service).toBeDefined()
  }
  expect(ctx.get('commands')!.list().map(({ name }) => name)).toEqual(['compact'])
  await ctx.fiber.dispose()
})

it('loads another package in place of the one a row names, and another configuration', async () => {
  const ctx = await boot({ path: shipped, swaps: basicToDigest, configs: new Map([['session-persistence', { dir }]]) })
  expect(ctx.get('compaction')?.constructor.name).toBe('DigestCompactionEngine')
  await (await ctx.get('sessions')!.create({ id: 'kept' })).flush()
  await ctx.fiber.dispose()
  expect(await readFile(join(dir, 'kept.jsonl'), 'utf8')).toContain('"kept"')
})

it('loads nothing for a row that is dropped', async () => {
  const ctx = await boot({ path: shipped, drop: new Set(['@deepseek-ai/dsh-command-compact']) })
  expect(ctx.get('commands')!.list()).toEqual([])
  await ctx.fiber.dispose()
})

it('leaves the file as it is', async () => {
  const path = await changed(yaml => `# a remark\n${yaml}`)
  const before = await readFile(path, 'utf8')
  const ctx = await boot({ path, swaps: basicToDigest })
  await ctx.fiber.dispose()
  expect(await readFile(path, 'utf8')).toBe(before)
})

describe('every row that the README shows boots in place of the shipped one', async () => {
  const readme = await readFile(fileURLToPath(new URL('../../../examples/tui-agent/README.md', import.meta.url)), 'utf8')
  const rows = [...readme.matchAll(/```yaml\n(- id: (\S+)\n[^]*?)```/g)].map(([, row, id]) => [id!, row!] as const)

  it('and there are some', () => {
    expect(rows.length).toBeGreaterThan(3)
  })

  it.each(rows)('%s: %s', async (id, row) => {
    const path = await changed(yaml => yaml.replace(new RegExp(`^- id: ${id}\\n(  .*\\n)+`, 'm'), row))
    const ctx = await boot({ path })
    await ctx.fiber.dispose()
  })
})

describe('a broken row is named with its reason', () => {
  it.each<[string, (yaml: string) => string, RegExp]>([
    ['a package that is not there', yaml => yaml.replace('dsh-agent-loop', 'dsh-agent-lop'), /agent-loop \(@deepseek-ai\/dsh-agent-lop\): Cannot find package/],
    ['a service that no row provides', yaml => yaml.replace("- id: llm\n  name: '@deepseek-ai/dsh-llm'\n", ''), /agent-loop .*: it waits for "llm", which no active row provides/],
    ['a key that is not known', yaml => yaml.replace("name: '@deepseek-ai/dsh-compaction-basic'\n", '$&  config: { thresholdRato: 0.5 }\n'), /compaction .*invalid config:[^]*thresholdRato/],
    ['a key where none is known', yaml => yaml.replace("name: '@deepseek-ai/dsh-agent-loop'\n", '$&  config: { maxSteps: 5 }\n'), /agent-loop .*: it takes no configuration: maxSteps/],
    ['a row that is none', yaml => `${yaml}- dsh-tools\n`, /row \d+ is no mapping with an id and a name: "dsh-tools"/],
    ['two rows of one id', yaml => yaml.replace('- id: tools', '- id: llm'), /llm .*: another row has the same id/],
    ['two providers of one service', yaml => `${yaml}- id: second\n  name: '@deepseek-ai/dsh-llm'\n`, /second .*: service "llm" has been registered/],
    ['a row without a package', yaml => `${yaml}- id: empty\n`, /empty .*: it names no package/],
    ['a module that is no plugin', yaml => `${yaml}- id: odd\n  name: node:fs\n`, /odd \(node:fs\): its module exports no plugin/],
    ['no list of rows', () => 'rows: none\n', /must be a top-level array/],
    ['no YAML', () => '- id: [\n', /cannot be booted/],
  ])('%s', async (_title, change, message) => {
    const path = await changed(change)
    const error = await boot({ path }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BootError)
    expect((error as BootError).message).toMatch(message)
    expect((error as BootError).message).toContain(path)
  })

  it('a file that is not there', async () => {
    await expect(boot({ path: join(dir, 'none.yml') })).rejects.toThrow(/config file not found/)
  })
})
