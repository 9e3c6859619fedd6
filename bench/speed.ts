/**
 * Ours beside every other, in pairs of processes: each figure is sampled in turns, and what is compared are the medians of the
 * same pair.
 */
import { Child } from './child.ts'
import { FIGURES, type Figure } from './figures.ts'
import { median } from './measure.ts'
import { OURS, PLAIN, peers, type Party } from './peers.ts'
import { record, table, type Cell } from './report.ts'
import type { Values } from './worker.ts'

export interface SpeedOptions {
  readonly figures: readonly string[]
  readonly peers: boolean
  /** The first and the last size of each figure only, the smaller log only, and fewer samples. */
  readonly quick: boolean
}

interface Pair {
  readonly figure: string
  readonly size: number
  readonly peer: string
  /** By name of the value, all samples. */
  readonly ours: Samples
  readonly theirs: Samples | string | null
}
type Samples = readonly Values[]

const MAX_SAMPLES = 5
/** Samples of one pair at one size stop when they have taken so long together. */
const ENOUGH_MS = 3_000
const TIMEOUT_MS = 60_000
const QUICK = { maxSamples: 3, timeoutMs: 30_000 }

export async function run({ figures, peers: withPeers, quick }: SpeedOptions): Promise<void> {
  const chosen = FIGURES.filter(({ name }) => figures.includes(name))
  const sampled = FIGURES.filter(({ name }) => chosen.some(figure => (figure.reads?.figure ?? figure.name) === name))
  const parties = [PLAIN, ...(withPeers ? peers() : [])]
  const pairs: Pair[] = []
  for (const party of parties) {
    const [ours, theirs] = [new Child(OURS.module), new Child(party.module)]
    for (const figure of sampled) {
      for (const size of quick ? quickSizes(figure) : figure.sizes) pairs.push(await measure(figure.name, size, party, ours, theirs, quick))
    }
    ours.close()
    theirs.close()
  }
  for (const figure of chosen) print(figure, parties, pairs)
}

function quickSizes({ sizes, sizeOf }: Figure): readonly number[] {
  return sizeOf === 'steps' ? sizes.slice(0, 1) : [sizes[0]!, sizes.at(-1)!]
}

async function measure(figure: string, size: number, peer: Party, ours: Child, theirs: Child, quick: boolean): Promise<Pair> {
  const maxSamples = quick ? QUICK.maxSamples : MAX_SAMPLES
  const timeoutMs = quick ? QUICK.timeoutMs : TIMEOUT_MS
  const samples: { ours: Values[]; theirs: Values[] } = { ours: [], theirs: [] }
  let outcome: string | null | undefined
  const start = performance.now()
  // The first round warms both up and counts only where it stays the only one.
  for (let round = 0; round <= maxSamples; round++) {
    if (round > 1 && performance.now() - start > ENOUGH_MS) break
    if (round === 1) samples.ours.length = samples.theirs.length = 0
    const own = await ours.ask({ figure, size }, timeoutMs)
    if (!('values' in own)) throw new Error(`${figure} of ours at ${size}: ${'error' in own ? own.error : 'absent'}`)
    samples.ours.push(own.values)
    if (outcome === undefined) {
      const other = await theirs.ask({ figure, size }, timeoutMs)
      if ('values' in other) samples.theirs.push(other.values)
      else outcome = 'error' in other ? other.error : null
    }
    if (outcome !== undefined && round > 0) break
  }
  console.error(`bench: ${figure} ${size}, ${peer.name}: ${Math.round(performance.now() - start)} ms${outcome ? `, ${outcome}` : ''}`)
  return { figure, size, peer: peer.name, ours: samples.ours, theirs: outcome === undefined ? samples.theirs : outcome }
}

function print(figure: Figure, parties: readonly Party[], pairs: readonly Pair[]): void {
  const source = figure.reads?.figure ?? figure.name
  const own = pairs.filter(pair => pair.figure === source)
  const sizes = [...new Set(own.map(({ size }) => size))]
  const at = (samples: Samples): number => median(samples.map(values => values[figure.reads?.value ?? 'value']!))
  const notes: string[] = []
  const oursAt = sizes.map(size => at(own.filter(pair => pair.size === size).flatMap(({ ours }) => ours)))
  const rows: Cell[][] = [['ours', ...oursAt, growth(figure, oursAt), null]]
  for (const { name } of parties) {
    const theirs = own.filter(({ peer }) => peer === name)
    if (theirs.every(pair => pair.theirs === null)) continue
    const values: (number | null)[] = theirs.map(pair => (Array.isArray(pair.theirs) ? at(pair.theirs) : null))
    const ratios: (number | null)[] = theirs.map(({ ours }, index) => ratio(figure, at(ours), values[index]!))
    for (const [index, pair] of theirs.entries()) {
      if (typeof pair.theirs === 'string') notes.push(`${name} at ${pair.size}: ${pair.theirs}`)
      record({ figure: figure.name, what: figure.what, [figure.sizeOf]: pair.size, ours: at(pair.ours), peer: name, theirs: values[index], ratio: ratios[index], runs: pair.ours.length, ...(typeof pair.theirs === 'string' && { note: pair.theirs }) })
    }
    rows.push([name, ...theirs.map((pair, index) => (typeof pair.theirs === 'string' ? pair.theirs : values[index]!)), growth(figure, values), ratios.findLast(value => value !== null) ?? null])
  }
  table(`${figure.name}: ${figure.what}${aim(figure)}`, ['', ...sizes.map(size => `${size / 1000}k ${figure.sizeOf}`), 'growth', 'ours better by'], rows)
}

/** How much worse the last size is than the first. */
function growth({ better }: Figure, values: readonly (number | null)[]): number | null {
  const [first = null, last = null] = [values[0], values.at(-1)]
  if (values.length < 2 || first === null || last === null) return null
  return better === 'less' ? last / first : first / last
}

function ratio({ better }: Figure, ours: number, theirs: number | null): number | null {
  if (theirs === null) return null
  return better === 'less' ? theirs / ours : ours / theirs
}

function aim({ target, maxGrowth, better }: Figure): string {
  const parts = [
    ...(target === undefined ? [] : [`${better === 'less' ? '≤' : '≥'} ${target.value}${target.of === undefined ? '' : ` × ${target.of}`}`]),
    ...(maxGrowth === undefined ? [] : [`growth ≤ ${maxGrowth}`]),
  ]
  return parts.length === 0 ? '' : ` (aim: ${parts.join(', ')})`
}
