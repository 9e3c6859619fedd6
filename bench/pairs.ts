/** Two processes, ours and another's, that are asked for samples in turns. */
import { Child } from './child.ts'
import type { Figure } from './figures.ts'
import { OURS, type Party } from './peers.ts'
import type { Values } from './worker.ts'

export interface Pair {
  /** Name of a figure that is sampled. */
  readonly figure: string
  readonly size: number
  readonly peer: string
  /** Samples of the same rounds, as many of one as of the other; none where it is absent or failed. */
  readonly ours: readonly Values[]
  readonly theirs: readonly Values[]
  /** Why there are none although it has such a thing. */
  readonly failure?: string
}

export interface Pace {
  readonly maxRounds: number
  sizes(figure: Figure): readonly number[]
}

/** Rounds of one pair at one size go on for so long, and if they are few still for longer. */
const ENOUGH_MS = 1_000
const FEW_ROUNDS = 5
const LONG_ENOUGH_MS = 5_000
const TIMEOUT_MS = 20_000
/** To build what is sampled. */
const PREPARE_TIMEOUT_MS = 60_000
/** Ours is compared with each, so it is waited for. */
const OURS_TIMEOUT_MS = 300_000

export async function compare(peer: Party, figures: readonly Figure[], pace: Pace): Promise<Pair[]> {
  const [ours, theirs] = [new Child(OURS.module), new Child(peer.module)]
  const pairs: Pair[] = []
  for (const figure of figures) {
    let failure: string | undefined
    for (const size of pace.sizes(figure)) {
      const start = performance.now()
      // What did not end with less does not end with more.
      const pair: Pair = failure === undefined ? await take(figure.name, size, peer, ours, theirs, pace.maxRounds) : { figure: figure.name, size, peer: peer.name, ours: [], theirs: [], failure }
      failure = pair.failure
      pairs.push(pair)
      if (pair.ours.length > 0 || failure !== undefined) console.error(`bench: ${figure.name} ${size}, ${peer.name}: ${Math.round(performance.now() - start)} ms${failure === undefined ? '' : `, ${failure}`}`)
    }
  }
  ours.close()
  theirs.close()
  return pairs
}

async function take(figure: string, size: number, peer: Party, ours: Child, theirs: Child, maxRounds: number): Promise<Pair> {
  const rounds: { readonly ours: Values; readonly theirs: Values }[] = []
  let failure: string | undefined
  const ready = await theirs.ask({ prepare: figure, size }, PREPARE_TIMEOUT_MS)
  if ('absent' in ready) return { figure, size, peer: peer.name, ours: [], theirs: [] }
  if ('error' in ready) return { figure, size, peer: peer.name, ours: [], theirs: [], failure: `not built: ${ready.error}` }
  await ours.ask({ prepare: figure, size }, OURS_TIMEOUT_MS)
  const start = performance.now()
  // One round more than count: the first warms both up, and counts only where it stays the only one.
  while (rounds.length <= maxRounds && (rounds.length < 2 || performance.now() - start < (rounds.length > FEW_ROUNDS ? ENOUGH_MS : LONG_ENOUGH_MS))) {
    const other = await theirs.ask('sample', TIMEOUT_MS)
    if ('error' in other) {
      failure = other.error
      break
    }
    const own = await ours.ask('sample', OURS_TIMEOUT_MS)
    if (!('values' in own)) throw new Error(`${figure} of ours at ${size}: ${'error' in own ? own.error : 'absent'}`)
    if ('values' in other) rounds.push({ ours: own.values, theirs: other.values })
  }
  const counted = rounds.length > 1 ? rounds.slice(1) : rounds
  return { figure, size, peer: peer.name, ours: counted.map(({ ours }) => ours), theirs: counted.map(({ theirs }) => theirs), ...(counted.length === 0 && failure !== undefined && { failure }) }
}
