/**
 * Plans: how often to kill, cut and flip, and in how many places at a time; with the line that says what came of it.
 */
import fc from 'fast-check'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { finishedRun, judgeCut, judgeEach, judgeFlip, judgeGoingOn, TAIL_BYTES, type Ending, type Flip, type Verdict } from './bytes.ts'
import { killChain, newTally, type Tally } from './chain.ts'
import type { KillPoint } from './killer.ts'
import { STOPS } from './order.ts'
import { ENGINES, TRIGGERS, type StageInit } from './stage.ts'

type Composition = Pick<StageInit, 'engine' | 'trigger'>

/** Every engine with everything that makes it compact. */
export const COMPOSITIONS: readonly Composition[] = TRIGGERS.flatMap(trigger =>
  (Object.keys(ENGINES) as StageInit['engine'][]).map(engine => ({ engine, trigger })))

export interface KillPlan {
  readonly seed: number
  /** Chains of a kill at every boundary of a compaction, in turn. */
  readonly exact: readonly Composition[]
  /** Chains of kills at random moments; the compositions take turns. */
  readonly randomChains: number
  readonly killsPerChain: number
  readonly chainsAtOnce: number
}

/** About two compactions' worth of a process: it says a line for every event and every flush. */
const MAX_LINES = 130
/** Long enough for a process to start and to take over the lock. */
const MAX_START_MS = 600

/** Most kills fall among what is written, some into the start, where the lock is taken over and the log is read. */
const killPoint: fc.Arbitrary<KillPoint> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ afterLines: fc.nat(MAX_LINES), delayMs: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ afterMs: fc.nat(MAX_START_MS) }) },
)

/** What is random is the moment as it is asked for; when the signal comes is the machine's to say. */
export async function killAll(root: string, { seed, exact, randomChains, killsPerChain, chainsAtOnce }: KillPlan): Promise<Tally> {
  const tally = newTally()
  const random = fc.sample(fc.array(fc.noBias(killPoint), { minLength: killsPerChain, maxLength: killsPerChain }), { seed, numRuns: randomChains })
  const chains = [
    ...exact.map(composition => ({ ...composition, points: STOPS.map((stop): KillPoint => ({ stop })) })),
    ...random.map((points, index) => ({ ...COMPOSITIONS[index % COMPOSITIONS.length]!, points })),
  ].entries()
  await Promise.all(Array.from({ length: chainsAtOnce }, async () => {
    for (const [index, { points, ...composition }] of chains) {
      await killChain({ ...composition, dir: mkdtempSync(join(root, 'chain-')), id: `chain-${index}` }, points, tally)
    }
  }))
  return tally
}

export function tallyLine({ kills, unborn, torn, openFull, openCheckpoint, acknowledged, losses }: Tally): string {
  return `kills: ${kills}, losses: ${losses.length} (${acknowledged} acknowledged events found, ${torn} torn lines set aside, `
    + `compactions cut before the checkpoint ${openFull}, behind it ${openCheckpoint}, kills before the session was there ${unborn})`
}

export interface BytesOutcome {
  readonly line: string
  readonly losses: readonly string[]
}

const LANES = 6
const NEWLINE = 0x0a

export interface CutPlan {
  readonly endings: readonly Ending[]
  /** The distance from one cut to the next in the end of the file. Next to the end of a line, every byte is cut. */
  readonly everyBytes: number
}

/** A session cut off at the end of a line goes on. */
export async function cutAll(root: string, { endings, everyBytes }: CutPlan): Promise<BytesOutcome> {
  const losses: string[] = []
  let cuts = 0
  let wentOn = 0
  for (const ending of endings) {
    const bytes = await finishedRun(root, ending)
    const tail = Array.from({ length: TAIL_BYTES + 1 }, (_, index) => bytes.length - TAIL_BYTES + index)
    const places = tail.filter(at => (bytes.length - at) % everyBytes === 0 || bytes.subarray(at - 2, at + 1).includes('\n'))
    const ends = tail.filter(at => bytes[at - 1] === NEWLINE)
    losses.push(...await judgeEach(root, places, LANES, (lane, at) => judgeCut(lane, bytes, at)))
    losses.push(...await judgeEach(root, ends, LANES, (lane, at) => judgeGoingOn(lane, bytes, at)))
    cuts += places.length
    wentOn += ends.length
  }
  return { line: `cuts: ${cuts}, losses: ${losses.length} (${wentOn} of the sessions went on)`, losses }
}

export interface FlipPlan {
  readonly seed: number
  /** The distance from one flip to the next in the end of the file. */
  readonly everyBytes: number
  /** Flips anywhere else. */
  readonly earlier: number
}

/** One bit at a time. */
export async function flipAll(root: string, { seed, everyBytes, earlier }: FlipPlan): Promise<BytesOutcome> {
  const bytes = await finishedRun(root, 'compaction')
  const from = bytes.length - TAIL_BYTES
  const tail = Array.from({ length: TAIL_BYTES }, (_, index) => from + index).filter(at => (bytes.length - at) % everyBytes === 0)
  const bits = fc.sample(fc.noBias(fc.nat(7)), { seed, numRuns: tail.length })
  const flips: Flip[] = [
    ...tail.map((at, index) => ({ at, bit: bits[index]! })),
    ...fc.sample(fc.noBias(fc.record({ at: fc.nat(from - 1), bit: fc.nat(7) })), { seed, numRuns: earlier }),
  ]
  const verdicts: { [verdict in Verdict]: number } = { refused: 0, 'set aside': 0, changed: 0 }
  const losses = await judgeEach(root, flips, LANES, async (lane, flip) => {
    verdicts[await judgeFlip(lane, bytes, flip)] += 1
  })
  const { refused, changed } = verdicts
  const line = `flips: ${flips.length}, losses: ${losses.length} (${refused} refused by line, ${verdicts['set aside']} last lines set aside, ${changed} read as another text or number)`
  return { line, losses }
}
