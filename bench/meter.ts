/**
 * What the estimate is worth: the growth of a prompt between two successive requests of a recorded session, as estimated and
 * as its provider counted it.
 *
 * Each recording is played into a session with the usage it reports, and the meter is asked before every answer. Figures are
 * the relative error of differences of at least 1,000 tokens; `before` is the bare estimate, `after` the route's line as it
 * had been taught by then. A difference over a compaction is left out. Prompts and schemas that a recording does not hold are
 * part of both its requests and cancel out; what a tool added unseen in between does not, and counts as our error.
 */
import { tokenMeter, type TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { promptTokens, textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { Session } from '@deepseek-ai/dsh-session'
import type { Transcript } from '@deepseek-ai/dsh-transcript'
import { hasRecordings, read, recordings } from './recordings.ts'

const MIN_DIFFERENCE_TOKENS = 1_000
/** Share of Chinese, Japanese or Korean characters from which a difference counts as such. */
const MIN_WIDE_SHARE = 0.1

interface Difference {
  readonly actual: number
  readonly before: number
  readonly after: number
  readonly wideShare: number
}

export async function run(): Promise<void> {
  printSpeed()
  if (!hasRecordings()) {
    console.log('meter: no recorded sessions here, so its truth is not measured')
    return
  }
  const all: Difference[] = []
  console.log(row('recording', 'n', 'before', 'after'))
  for (const file of recordings()) {
    const transcript = read(file)
    const differences = transcript === null ? [] : differencesOf(transcript)
    if (differences.length === 0) continue
    all.push(...differences)
    console.log(errors(file, differences))
  }
  console.log(errors('all', all))
  console.log(errors(`at least ${MIN_WIDE_SHARE * 100} % Chinese`, all.filter(({ wideShare }) => wideShare >= MIN_WIDE_SHARE)))
}

function differencesOf({ items, model, system, tools }: Transcript): Difference[] {
  const meter = tokenMeter()
  const session = new Session({ header: { id: 'bench', createdAt: 0 } })
  const config = { provider: 'recorded', model: model ?? 'unknown' }
  session.append('request/header', { config, ...(system === undefined ? {} : { system }), ...(tools === undefined ? {} : { tools }), reason: 'initial' })
  const differences: Difference[] = []
  let last: { usage: number; estimate: number; seq: number } | null = null
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
    } else {
      const usage = item.usage !== undefined && item.interrupted === undefined ? promptTokens(item.usage) : 0
      if (usage > 0) {
        const estimate = estimateOf(meter, session)
        if (last !== null && usage - last.usage >= MIN_DIFFERENCE_TOKENS) {
          differences.push({
            actual: usage - last.usage,
            before: estimate - last.estimate,
            after: meter.measure(session).totalTokens - last.usage,
            wideShare: wideShareSince(session, last.seq),
          })
        }
        last = { usage, estimate, seq: session.log.length }
      }
      const { usage: reported, interrupted, content, finish } = item
      session.append(
        'assistant/message',
        { turn: 1, step: 1, content, ...config, finish, ...(reported === undefined ? {} : { usage: reported }), ...(interrupted === undefined ? {} : { interrupted }) },
        { surfaceOp: 'append' },
      )
      for (const result of item.results) {
        if (result !== null) session.append('tool/result', { turn: 1, step: 1, callId: 'call', content: result.content }, { surfaceOp: 'append' })
      }
    }
  }
  return differences
}

function say(session: Session, content: readonly ContentBlock[]): void {
  session.append('user/message', { content, source: { kind: 'user' } }, { surfaceOp: 'append' })
}

function shadow(session: Session, seqs: readonly number[], content: readonly ContentBlock[]): void {
  if (seqs.length === 0) return say(session, content)
  const surfaceOp = { op: 'replace', start: seqs[0]!, end: seqs.at(-1)! } as const
  session.append('user/message', { content, source: { kind: 'plugin', plugin: 'compact' } }, { surfaceOp, sourceEventSeqs: [...seqs] })
}

function estimateOf(meter: TokenMeter, session: Session): number {
  const { envelopeTokens, surfaceTokens } = meter.measure(session)
  return envelopeTokens + surfaceTokens
}

function wideShareSince(session: Session, seq: number): number {
  let text = ''
  for (const { type, data } of session.log.from(seq)) {
    if (type === 'user/message' || type === 'assistant/message' || type === 'tool/result') text += textOf(data.content)
  }
  return text === '' ? 0 : (text.match(/[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]/g)?.length ?? 0) / text.length
}

function errors(name: string, differences: readonly Difference[]): string {
  const median = (of: (difference: Difference) => number) => {
    const sorted = differences.map(difference => Math.abs(of(difference) / difference.actual - 1)).sort((a, b) => a - b)
    return sorted.length === 0 ? '–' : `${(sorted[sorted.length >> 1]! * 100).toFixed(1)} %`
  }
  return row(name, String(differences.length), median(({ before }) => before), median(({ after }) => after))
}

function row(name: string, ...cells: readonly string[]): string {
  return name.padEnd(64) + cells.map(cell => cell.padStart(9)).join('')
}

/** Microseconds: pricing 2 KB, and a question to a session of 1,000 and of 100,000 entries. */
function printSpeed(): void {
  const meter = tokenMeter()
  const ascii = 'const price = estimate.text(block.text) // tokens\n'.repeat(41).slice(0, 2_048)
  const message = { role: 'user', content: [{ type: 'text', text: ascii }] } as const
  console.log(row('price of 2 KB of ASCII', `${microseconds(20_000, () => meter.estimateMessage(message)).toFixed(2)} µs`))
  for (const entries of [1_000, 100_000]) {
    const session = new Session({ header: { id: 'bench', createdAt: 0 } })
    session.append('request/header', { config: { provider: 'recorded', model: 'any' }, reason: 'initial' })
    for (let count = 0; count < entries; count++) say(session, message.content)
    const fold = microseconds(1, () => meter.measure(session)) / 1_000
    const ask = microseconds(20_000, () => meter.measure(session))
    console.log(row(`${entries} entries: cold fold, then a question`, `${fold.toFixed(0)} ms`, `${ask.toFixed(2)} µs`))
  }
}

function microseconds(rounds: number, work: () => void): number {
  const start = performance.now()
  for (let round = 0; round < rounds; round++) work()
  return ((performance.now() - start) * 1_000) / rounds
}
