/**
 * What holds of recorded sessions: each is replayed through the real loop in four windows, with the digest engine and with a
 * model that writes its summaries.
 *
 * No request is over the window, no result without its call, no call without its result, and the log read back gives the same
 * state. Compactions include those of the recording and the boundaries between conversations of one file. What a model is
 * asked for a summary is, but for its directive, an exact prefix of the request before, counted in characters of its JSON;
 * where the span had to be sent as a transcript, that is no prefix and counts as none.
 */
import type { GenerateOptions, LlmRequest } from '@deepseek-ai/dsh-llm'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import type { Transcript } from '@deepseek-ai/dsh-transcript'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from '../apps/dsh/src/compose.ts'
import { replayIn } from '../apps/dsh/src/replay-command.ts'
import type { ReplayReport } from '../apps/dsh/src/replay-report.ts'
import { scriptedSummarizer } from '../apps/dsh/src/scripted-summarizer.ts'
import { hasRecordings, read, recordings } from './recordings.ts'
import { record, table, type Cell } from './report.ts'

const WINDOWS_TOKENS = [16_000, 32_000, 64_000, 128_000]
const COUNTS = ['requests', 'over', 'orphans', 'unanswered', 'stopped', 'differing', 'oversized', 'prunes', 'compactions', 'failed'] as const
type Counts = Record<(typeof COUNTS)[number], number>

export async function run(): Promise<void> {
  if (!hasRecordings()) {
    console.log('corpus: no recorded sessions here')
    return
  }
  const totals = { digest: noCounts(), model: noCounts() }
  const prefixes = new Prefixes()
  const rows: Cell[][] = []
  const notes: string[] = []
  for (const file of recordings()) {
    const transcript = read(file)
    const envelopeTokens = tokenMeter().estimateEnvelope(transcript.system, transcript.tools)
    for (const windowTokens of WINDOWS_TOKENS) {
      if (envelopeTokens >= windowTokens) {
        notes.push(`${file}, ${windowTokens / 1_000}k: not replayed, its system prompt and tools alone are ${envelopeTokens} tokens`)
        continue
      }
      for (const summarizer of ['digest', 'model'] as const) {
        const own = new Prefixes()
        const report = await replayOnce(file, transcript, windowTokens, summarizer === 'digest' ? undefined : own)
        const counts = countsOf(report)
        for (const name of COUNTS) totals[summarizer][name] += counts[name]
        prefixes.add(own)
        const window = `${windowTokens / 1_000}k`
        rows.push([file, window, summarizer, ...COUNTS.map(name => counts[name]), summarizer === 'digest' ? null : own.share()])
        record({ corpus: file, windowTokens, summarizer, ...counts })
        if (report.stopped !== undefined) notes.push(`${file}, ${window}, ${summarizer}: ${report.stopped}`)
        for (const { step, seq, tokens, shortened } of report.oversized) {
          notes.push(`${file}, ${window}, ${summarizer}: step ${step}, event ${seq} of ${tokens} tokens, ${shortened ? 'shortened' : 'as it was'}`)
        }
      }
    }
    console.error(`bench: replayed ${file}`)
  }
  for (const summarizer of ['digest', 'model'] as const) {
    rows.push(['all', null, summarizer, ...COUNTS.map(name => totals[summarizer][name]), summarizer === 'digest' ? null : prefixes.share()])
  }
  table('corpus: what holds of recorded sessions', ['recording', 'window', 'summaries', ...COUNTS, 'prefix'], rows)
  for (const note of notes) console.log(note)
  console.log(`summary requests: ${prefixes.replays} replayed the conversation, ${prefixes.exact} of them an exact prefix; ${prefixes.transcripts} held a transcript`)
}

async function replayOnce(file: string, transcript: Transcript, windowTokens: number, prefixes: Prefixes | undefined): Promise<ReplayReport> {
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
  try {
    const summarizer = prefixes && scriptedSummarizer([])
    const ctx = await compose({ sessionDir, loadEngine: summarizer?.loadEngine })
    if (prefixes !== undefined) {
      ctx.on('llm/stream', ({ options }: LlmRequest, next) => {
        prefixes.take(options)
        return next()
      })
    }
    const { report } = await replayIn(ctx, sessionDir, transcript, { file, windowTokens, ignoreCompactions: false, invariants: false, summaries: summarizer?.answer })
    return report
  } finally {
    await rm(sessionDir, { recursive: true, force: true })
  }
}

/** How much of what is sent for a summary stood at the beginning of the ordinary request before. */
class Prefixes {
  replays = 0
  exact = 0
  transcripts = 0
  private characters = 0
  private shared = 0
  private last: string[] = []

  take({ purpose, system, tools, messages }: GenerateOptions): void {
    const parts = [system, tools, ...messages].map(part => JSON.stringify(part) ?? '')
    if (purpose === undefined) {
      this.last = parts
      return
    }
    if (messages.length === 1) {
      this.transcripts += 1
      return
    }
    const asked = parts.slice(0, -1)
    const different = asked.findIndex((part, index) => part !== this.last[index])
    this.replays += 1
    if (different < 0) this.exact += 1
    this.characters += lengthOf(asked)
    this.shared += lengthOf(different < 0 ? asked : asked.slice(0, different))
  }

  add({ replays, exact, transcripts, characters, shared }: Prefixes): void {
    this.replays += replays
    this.exact += exact
    this.transcripts += transcripts
    this.characters += characters
    this.shared += shared
  }

  share(): string {
    return this.characters === 0 ? '–' : `${((this.shared / this.characters) * 100).toFixed(1)} %`
  }
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0)
}

function noCounts(): Counts {
  return Object.fromEntries(COUNTS.map(name => [name, 0])) as Counts
}

function countsOf(report: ReplayReport): Counts {
  const { compactions } = report
  return {
    requests: report.requests,
    over: report.overWindowRequests,
    orphans: report.orphanResults,
    unanswered: report.unansweredCalls,
    stopped: report.stopped === undefined ? 0 : 1,
    differing: report.replayIdentical ? 0 : 1,
    oversized: report.oversized.length,
    prunes: report.prunes.results,
    compactions: compactions.filter(({ ok }) => ok).length,
    failed: compactions.filter(({ ok }) => !ok).length,
  }
}
