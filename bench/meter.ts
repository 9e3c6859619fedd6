/**
 * What the estimate is worth: the growth of a prompt between two successive requests of a recorded session, as estimated and
 * as its provider counted it; and whole prompts, where the recording holds them.
 *
 * Each recording is played into a session with the usage it reports, and the meter is asked before every answer. Figures are
 * the relative error of differences of at least 1,000 tokens; `before` is the bare estimate, `after` the route's line as it
 * had been taught by then; the last columns are the same with a tokenizer counting the texts. A difference over a compaction
 * or a change of model is left out. Prompts and schemas that a recording does not hold are part of both its requests and
 * cancel out; what a tool added unseen in between does not, and counts as our error.
 */
import { callsOf, promptTokens, textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { Session } from '@deepseek-ai/dsh-session'
import { tokenMeter, type TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { counter } from '@deepseek-ai/dsh-token-meter-exact'
import type { Transcript } from '@deepseek-ai/dsh-transcript'
import { microsecondsEach } from './measure.ts'
import { CUT_SHORT, hasRecordings, read, recordings } from './recordings.ts'
import { record, table, type Cell } from './report.ts'

const MIN_DIFFERENCE_TOKENS = 1_000
/** Share of its characters from which a text counts as Chinese, Japanese or Korean. */
const MIN_WIDE_SHARE = 0.1
/** Share beyond ASCII from which it counts as of other scripts and symbols. */
const MIN_OTHER_SHARE = 0.05
/**
 * Formats that hold every word of a request, but for this: an OpenHands log does not have the example that it put before the
 * task for a model without tools, to which it wrote calls and schemas as text.
 */
const WHOLE: ReadonlySet<string> = new Set(['mini-swe-agent-traj', 'openhands-output', 'copilot-chatreplay', 'openai-chat'])
const ENCODING = 'o200k_base'

/** Something that a provider counted, and what the meter had said of it. */
interface Sample {
  readonly of: 'growth' | 'whole prompt'
  readonly model: string
  readonly script: string
  readonly actual: number
  readonly before: number
  readonly after: number
}

/** The same by estimate and by tokenizer. */
interface Compared extends Sample {
  readonly file: string
  readonly exact: Sample
}

export async function run(): Promise<void> {
  await printSpeed()
  if (!hasRecordings()) {
    console.log('meter: no recorded sessions here, so its truth is not measured')
    return
  }
  const count = counter(ENCODING)
  const samples: Compared[] = []
  for (const file of recordings()) {
    const transcript = read(file)
    const exact = samplesOf(transcript, tokenMeter({ textTokens: count }))
    samplesOf(transcript, tokenMeter()).forEach((sample, index) => samples.push({ file, ...sample, exact: exact[index]! }))
  }
  const growth = samples.filter(({ of, file }) => of === 'growth' && !CUT_SHORT.has(file))
  printErrors(`Growth of the prompt by ${MIN_DIFFERENCE_TOKENS} tokens or more, by recording`, growth, ({ file }) => file)
  printErrors('Growth, by model', growth, ({ model }) => model)
  printErrors('Growth, by script', growth, ({ script }) => script)
  printErrors('Growth of texts that were cut after they were counted', samples.filter(({ file }) => CUT_SHORT.has(file)), ({ file }) => file)
  printErrors('Whole prompts, where the recording holds them', samples.filter(({ of }) => of === 'whole prompt'), ({ file }) => file)
}

function samplesOf({ items, model: mainModel, system, tools, format }: Transcript, meter: TokenMeter): Sample[] {
  const session = new Session({ header: { id: 'bench', createdAt: 0 } })
  const samples: Sample[] = []
  let routed: string | null = null
  let last: { usage: number; estimate: number; seq: number } | null = null
  /** Whether the surface is still all that was ever said in this conversation. */
  let isWhole = WHOLE.has(format)
  /** The first entry of each item, by the item's index; items that put nothing on the surface share their successor's. */
  const firstSeq: number[] = []
  for (const [index, item] of items.entries()) {
    firstSeq[index] = session.log.length
    if (item.kind === 'input') say(session, item.content)
    else if (item.kind === 'compaction') {
      const { entries } = session.surface
      const kept = entries.findIndex(seq => seq >= (firstSeq[item.keptFrom] ?? session.log.length))
      shadow(session, kept < 0 ? entries : entries.slice(0, kept), item.content)
      last = null
      isWhole &&= item.boundary === true
    } else {
      const config = { provider: 'recorded', model: item.model ?? mainModel ?? 'unknown' }
      const { model } = config
      if (model !== routed) {
        session.append('request/header', { config, ...(system === undefined ? {} : { system }), ...(tools === undefined ? {} : { tools }), reason: 'change' })
        last = null
        routed = model
      }
      const actual = item.usage !== undefined && item.interrupted === undefined ? promptTokens(item.usage) : 0
      if (actual > 0) {
        const { totalTokens, envelopeTokens, surfaceTokens } = meter.measure(session)
        const estimate = envelopeTokens + surfaceTokens
        const growth = last === null ? 0 : actual - last.usage
        if (last !== null && growth >= MIN_DIFFERENCE_TOKENS) {
          samples.push({ of: 'growth', model, script: scriptSince(session, last.seq), actual: growth, before: estimate - last.estimate, after: totalTokens - last.usage })
        }
        if (isWhole) samples.push({ of: 'whole prompt', model, script: scriptSince(session, 0), actual, before: estimate, after: totalTokens })
        last = { usage: actual, estimate, seq: session.log.length }
      }
      const { usage, interrupted, content, finish } = item
      session.append(
        'assistant/message',
        { turn: 1, step: 1, content, ...config, finish, ...(usage === undefined ? {} : { usage }), ...(interrupted === undefined ? {} : { interrupted }) },
        { surfaceOp: 'append' },
      )
      for (const result of item.results) {
        if (result !== null) session.append('tool/result', { turn: 1, step: 1, callId: 'call', content: result.content }, { surfaceOp: 'append' })
      }
    }
  }
  return samples
}

function say(session: Session, content: readonly ContentBlock[]): void {
  session.append('user/message', { content, source: { kind: 'user' } }, { surfaceOp: 'append' })
}

function shadow(session: Session, seqs: readonly number[], content: readonly ContentBlock[]): void {
  if (seqs.length === 0) return say(session, content)
  const surfaceOp = { op: 'replace', start: seqs[0]!, end: seqs.at(-1)! } as const
  session.append('user/message', { content, source: { kind: 'plugin', plugin: 'compact' } }, { surfaceOp, sourceEventSeqs: [...seqs] })
}

/** What the texts of the events from `seq` on are written in, for the most part. */
function scriptSince(session: Session, seq: number): string {
  let text = ''
  for (const { type, data } of session.log.from(seq)) {
    if (type === 'user/message' || type === 'assistant/message' || type === 'tool/result') text += textOf(data.content) + callsOf(data.content).map(call => call.arguments).join('')
  }
  const share = (pattern: RegExp) => (text.match(pattern)?.length ?? 0) / Math.max(1, text.length)
  if (share(/[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]/g) >= MIN_WIDE_SHARE) return `Chinese, Japanese, Korean (${MIN_WIDE_SHARE * 100} % or more)`
  return share(/[^\0-\x7f]/g) >= MIN_OTHER_SHARE ? `other scripts and symbols (${MIN_OTHER_SHARE * 100} % or more)` : 'ASCII'
}

function printErrors(title: string, samples: readonly Compared[], groupOf: (sample: Compared) => string): void {
  const groups = new Map<string, Compared[]>()
  for (const sample of samples) groups.set(groupOf(sample), [...(groups.get(groupOf(sample)) ?? []), sample])
  const rows = [...groups, ['all', samples] as const].map(([name, group]): Cell[] => {
    const exact = group.map(sample => sample.exact)
    const errors = { before: quantiles(group, 'before'), after: quantiles(group, 'after'), exactBefore: quantiles(exact, 'before'), exactAfter: quantiles(exact, 'after') }
    record({ figure: 'meter', title, group: name, count: group.length, ...errors })
    return [name, group.length, ...Object.values(errors).map(({ median, p90 }) => `${percent(median)} / ${percent(p90)}`)]
  })
  table(`${title}: median / 90th percentile of the error`, ['', 'n', 'before', 'after', `${ENCODING} before`, 'after'], rows)
}

interface Quantiles {
  readonly median: number | null
  readonly p90: number | null
}

function quantiles(samples: readonly Sample[], side: 'before' | 'after'): Quantiles {
  const sorted = samples.map(sample => Math.abs(sample[side] / sample.actual - 1)).sort((one, other) => one - other)
  return { median: sorted[sorted.length >> 1] ?? null, p90: sorted[Math.floor(sorted.length * 0.9)] ?? null }
}

function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(1)} %`
}

/** Pricing 2 KB, and a question to a session of 1,000 and of 100,000 entries. */
async function printSpeed(): Promise<void> {
  const meter = tokenMeter()
  const ascii = 'const price = estimate.text(block.text) // tokens\n'.repeat(41).slice(0, 2_048)
  const message = { role: 'user', content: [{ type: 'text', text: ascii }] } as const
  const rows: Cell[][] = [['price of 2 KB of ASCII', await microsecondsEach(() => meter.estimateMessage(message))]]
  const exact = tokenMeter({ textTokens: counter(ENCODING) })
  exact.estimateMessage(message) // loads it
  rows.push([`the same, counted by ${ENCODING}`, await microsecondsEach(() => exact.estimateMessage(message))])
  for (const entries of [1_000, 100_000]) {
    const session = new Session({ header: { id: 'bench', createdAt: 0 } })
    session.append('request/header', { config: { provider: 'recorded', model: 'any' }, reason: 'initial' })
    for (let made = 0; made < entries; made++) say(session, message.content)
    const start = performance.now()
    meter.measure(session)
    rows.push([`cold fold of ${entries} entries`, (performance.now() - start) * 1_000], [`a question to them`, await microsecondsEach(() => meter.measure(session))])
  }
  table('What the meter costs', ['', 'µs'], rows)
}
