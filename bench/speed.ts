/** Ours beside every other: a table a figure, and one of all figures against what is aimed at. */
import { FIGURES, type Figure } from './figures.ts'
import { median } from './measure.ts'
import { compare, type Pace, type Pair } from './pairs.ts'
import { peers, PLAIN } from './peers.ts'
import { record, table, type Cell } from './report.ts'
import type { Values } from './worker.ts'

export interface SpeedOptions {
  readonly figures: readonly string[]
  /** Whether the libraries in peers/ take part. */
  readonly peers: boolean
  /** The first and the last size of each figure only, of logs and loops the first, and fewer rounds. */
  readonly quick: boolean
}

const FULL: Pace = { maxRounds: 15, sizes: ({ sizes }) => sizes }
const QUICK: Pace = { maxRounds: 3, sizes: ({ sizes, sizeOf }) => (sizeOf === 'steps' ? sizes.slice(0, 1) : [sizes[0]!, sizes.at(-1)!]) }

export async function run({ figures, peers: withPeers, quick }: SpeedOptions): Promise<void> {
  const chosen = FIGURES.filter(({ name }) => figures.includes(name))
  const sampled = FIGURES.filter(({ name }) => chosen.some(figure => sourceOf(figure) === name))
  const pairs: Pair[] = []
  for (const party of [PLAIN, ...(withPeers ? peers() : [])]) pairs.push(...(await compare(party, sampled, quick ? QUICK : FULL)))
  const results = chosen.map(figure => resultOf(figure, pairs))
  for (const result of results) print(result)
  printAims(results)
}

interface Result {
  readonly figure: Figure
  readonly sizes: readonly number[]
  readonly ours: readonly number[]
  readonly others: readonly { readonly name: string; readonly cells: readonly { readonly value: number | null; readonly ratio: number | null; readonly failure?: string }[] }[]
}

function sourceOf({ name, reads }: Figure): string {
  return reads?.figure ?? name
}

/** The median of each, and the ratio of the medians of a pair: above 1 ours is the better. */
function resultOf(figure: Figure, all: readonly Pair[]): Result {
  const pairs = all.filter(pair => pair.figure === sourceOf(figure))
  const sizes = [...new Set(pairs.map(({ size }) => size))]
  const at = (samples: readonly Values[]): number => median(samples.map(values => values[figure.reads?.value ?? 'value']!))
  const names = [...new Set(pairs.filter(({ theirs, failure }) => theirs.length > 0 || failure !== undefined).map(({ peer }) => peer))]
  const others = names.map(name => ({
    name,
    cells: pairs
      .filter(({ peer }) => peer === name)
      .map(({ size, ours, theirs, failure }) => {
        if (theirs.length === 0) {
          record({ figure: figure.name, [figure.sizeOf]: size, peer: name, failure })
          return { value: null, ratio: null, ...(failure !== undefined && { failure }) }
        }
        const [own, value] = [at(ours), at(theirs)]
        const ratio = figure.better === 'less' ? value / own : own / value
        record({ figure: figure.name, what: figure.what, [figure.sizeOf]: size, ours: own, peer: name, theirs: value, ratio, rounds: ours.length })
        return { value, ratio }
      }),
  }))
  return { figure, sizes, ours: sizes.map(size => at(pairs.filter(pair => pair.size === size).flatMap(({ ours }) => ours))), others }
}

function print({ figure, sizes, ours, others }: Result): void {
  const rows: Cell[][] = [['ours', ...ours, growthOf(figure, ours), null]]
  for (const { name, cells } of others) {
    const values = cells.map(({ value }) => value)
    rows.push([name, ...cells.map(({ value, failure }) => failure ?? value), growthOf(figure, values), cells.findLast(({ ratio }) => ratio !== null)?.ratio ?? null])
  }
  table(`${figure.name}: ${figure.what}`, ['', ...sizes.map(size => label(figure, size)), 'growth', 'ours better by'], rows)
}

function label({ sizeOf }: Figure, size: number): string {
  return `${size / 1_000}k ${sizeOf}`
}

/** By how much the last size is worse than the first. */
function growthOf({ better }: Figure, values: readonly (number | null)[]): number | null {
  const [first = null, last = null] = [values[0], values.at(-1)]
  if (values.length < 2 || first === null || last === null) return null
  return better === 'less' ? last / first : first / last
}

/** `best other` is the best of the libraries that got to that size. */
function printAims(results: readonly Result[]): void {
  const rows = results.map(({ figure, sizes, ours, others }): Cell[] => {
    const size = figure.target?.at ?? sizes.at(-1)!
    const index = sizes.indexOf(size)
    const value = ours[index]!
    const libraries = others.flatMap(({ name, cells }) => (name === PLAIN.name || cells[index]!.ratio === null ? [] : [{ name, value: cells[index]!.value, ratio: cells[index]!.ratio }]))
    const best = libraries.toSorted((one, other) => one.ratio - other.ratio)[0]
    const growth = figure.maxGrowth === undefined ? null : growthOf(figure, ours)
    return [
      figure.what,
      label(figure, size),
      value,
      aim(figure),
      holds(figure, value, growth, others.find(({ name }) => name === PLAIN.name)?.cells[index]?.ratio ?? null),
      growth,
      best?.name ?? null,
      best?.value ?? null,
      best?.ratio ?? null,
    ]
  })
  table('what is aimed at', ['', 'at', 'ours', 'aim', 'holds', 'growth', 'best other', 'its', 'ours better by'], rows)
}

function holds({ target, better, maxGrowth }: Figure, value: number, growth: number | null, ofPlain: number | null): string | null {
  if (target === undefined && maxGrowth === undefined) return null
  const measured = target?.of === undefined ? value : ofPlain
  const reached = target === undefined || (measured !== null && (better === 'less' ? measured <= target.value : measured >= target.value))
  return reached && (growth === null || maxGrowth === undefined || growth <= maxGrowth) ? 'yes' : 'NO'
}

function aim({ target, maxGrowth, better }: Figure): string {
  return [
    ...(target === undefined ? [] : [`${better === 'less' ? '≤' : '≥'} ${target.value}${target.of === undefined ? '' : ` × ${target.of}`}`]),
    ...(maxGrowth === undefined ? [] : [`growth ≤ ${maxGrowth}`]),
  ].join(', ')
}
