import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { compose } from '../src/compose.ts'
import { replayReport } from '../src/replay-outcome.ts'
import { violationsOf, type ReplayReport } from '../src/replay-report.ts'
import { replay } from '../src/replay.ts'
import { renderReport } from '../src/report.ts'
import { scriptedSummarizer } from '../src/scripted-summarizer.ts'
import { SUMMARIZER_FAULTS, type SummarizerFault } from '../src/summarizer-faults.ts'
import { recording } from './recording.ts'
import { dsh } from './run-dsh.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dsh-faults-'))
})
afterEach(() => rm(dir, { recursive: true }))

const filler = 'A line of ordinary length that says a little about src/main.ts and what was done there.\n'.repeat(12)
const LONG = recording(Array.from({ length: 12 }, () => 'u c cc c a').join(' '), index => `${index}: ${filler}`)

async function play(...faults: SummarizerFault[]): Promise<ReplayReport> {
  const { loadEngine, answer } = scriptedSummarizer(faults)
  const ctx = await compose({ sessionDir: dir, loadEngine })
  try {
    const options = { transcript: LONG, windowTokens: 8_000, ignoreCompactions: false, summaries: answer, onProgress: () => {} }
    const replayed = await replay(ctx, options)
    const report = await replayReport('drawn', options, replayed, join(dir, `${replayed.session.id}.jsonl`))
    return { ...report, summarizerFaults: faults }
  } finally {
    await ctx.fiber.dispose()
  }
}

it('a model that never misbehaves answers by replay, every time', async () => {
  const report = await play()
  expect(report.compactions.length).toBeGreaterThan(2)
  for (const row of report.compactions) expect(row).toMatchObject({ ok: true, summarizer: 'model', rungs: [{ strategy: 'replay', outcome: 'answered' }] })
  expect(report).toMatchObject({ overWindowRequests: 0, orphanResults: 0, unansweredCalls: 0, replayIdentical: true })
  expect(report.requests).toBe(report.steps + report.compactions.length)
})

describe('whatever it does wrong, the conversation comes to its end, and the report says which rung answered', () => {
  it.each(SUMMARIZER_FAULTS)('%s', async fault => {
    const report = await play(fault)
    expect(violationsOf(report)).toEqual([])
    const [first] = report.compactions
    if (fault === 'text-and-tool-call') expect(first).toMatchObject({ ok: true, rungs: [{ strategy: 'replay', outcome: 'answered' }] })
    // What is wrong with a long one only a look at its size tells.
    else if (fault === 'long') expect(first).toMatchObject({ ok: false, error: expect.stringContaining('far longer') })
    else expect(first!.rungs![0]).toMatchObject({ strategy: 'replay', outcome: expect.not.stringMatching(/^answered$/) })
    expect(report.compactions.some(({ ok }) => ok)).toBe(true)
    const printed = renderReport({ report, points: [], columns: 100 })
    if (fault === 'overflow') expect(printed).toMatch(/replay {5}prompt is too long\n {6}transcript answered\n/)
  })
})

describe('dsh replay --summarizer-faults', () => {
  it('takes a list, and names what it does not know', async () => {
    const chat = join(dir, 'chat.json')
    await writeFile(chat, JSON.stringify([{ role: 'user', content: 'Hello.' }, { role: 'assistant', content: 'Hello.' }]))
    const { code, stdout } = await dsh('replay', chat, '--json', '--summarizer-faults', 'empty, slow')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ summarizerFaults: ['empty', 'slow'], requests: 1 })
    const wrong = await dsh('replay', chat, '--summarizer-faults', 'empty,lazy')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('There is no fault "lazy".')
  })
})
