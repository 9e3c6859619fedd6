import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { asksForSummary, type Script } from '../../../test/provider/script.ts'
import { startProvider, type Provider } from '../../../test/provider/server.ts'
import type { ReplayReport } from '../src/replay-report.ts'
import { startDsh, type Ended } from './run-dsh.ts'

let dir: string
let chat: string
let provider: Provider | undefined
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dsh-summarizer-'))
  chat = join(dir, 'chat.json')
  const filler = 'A line of ordinary length that says a little about src/main.ts and what was done there.\n'.repeat(12)
  await writeFile(chat, JSON.stringify(Array.from({ length: 60 }, (_, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: `${index}: ${filler}` }))))
})
afterEach(async () => {
  await provider?.close()
  provider = undefined
  await rm(dir, { recursive: true })
})

const SUMMARY = `## Current Work\n${'Lines were said about src/main.ts. '.repeat(10)}`

async function replayed(script: Script, ...more: string[]): Promise<Ended & { readonly provider: Provider }> {
  const { url } = (provider = await startProvider({ script }))
  const env = { OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`, OPENAI_COMPATIBLE_MODEL: 'little', OPENAI_COMPATIBLE_CONTEXT_WINDOW: '32000' }
  return { ...(await startDsh(['replay', chat, '--window', '8000', '--summarizer', 'model', '--json', ...more], { env }).ended), provider }
}

it('the configured model writes every checkpoint, and answers nothing else', async () => {
  const log = join(dir, 'log.jsonl')
  const { code, stdout, stderr, provider } = await replayed(() => SUMMARY, '--log', log)
  expect(stderr).toContain('compatible/little writes the checkpoints')
  const report = JSON.parse(stdout) as ReplayReport
  expect(report.compactions.length).toBeGreaterThan(1)
  for (const row of report.compactions) expect(row).toMatchObject({ ok: true, summarizer: 'model', rungs: [{ strategy: 'replay' }, { strategy: 'transcript', outcome: 'answered' }] })
  expect(provider.served).toHaveLength(report.compactions.length)
  expect(provider.served.every(({ request }) => request.model === 'little' && asksForSummary(request))).toBe(true)
  expect(report).toMatchObject({ steps: 30, requests: 30 + provider.served.length, overWindowRequests: 0, replayIdentical: true })
  expect(await readFile(log, 'utf8')).toContain('"provider":"compatible","model":"little"')
  expect(code).toBe(0)
})

it('whose refusals leave the conversation to its end', async () => {
  const { stdout } = await replayed(() => ({ status: 401, body: { error: { message: 'no such key' } } }))
  const report = JSON.parse(stdout) as ReplayReport
  expect(report).toMatchObject({ steps: 30 + report.compactions.filter(({ trigger }) => trigger === 'context-overflow').length, orphanResults: 0, replayIdentical: true })
  expect(report).not.toHaveProperty('stopped')
  expect(report.compactions[0]).toMatchObject({ ok: false, error: expect.stringContaining('no such key') })
})

it('without a model, the variables that name one are listed', async () => {
  const { code, stderr } = await startDsh(['replay', chat, '--summarizer', 'model']).ended
  expect(code).toBe(2)
  for (const name of ['DEEPSEEK_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_COMPATIBLE_BASE_URL']) expect(stderr).toContain(name)
})

it('a model and faults exclude each other', async () => {
  const { code, stderr } = await startDsh(['replay', chat, '--summarizer', 'model', '--summarizer-faults', 'empty']).ended
  expect(code).toBe(2)
  expect(stderr).toContain('cannot be used with')
})
