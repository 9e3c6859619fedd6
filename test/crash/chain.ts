/**
 * Chains: one session, killed again and again. After each kill the session is resumed here, judged, taken through a turn and a
 * compaction, judged again and left to the next process.
 */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { judgeInput, judgeRemains, judgeResumed, judgeSession, remainsOf, unfinishedCompactions, type Remains } from './judge.ts'
import { runAndKill, type KillPoint } from './killer.ts'
import { momentOf } from './order.ts'
import { sessionPath, stage, type StageInit } from './stage.ts'

export interface Tally {
  kills: number
  /** Kills before the session's file was there. */
  unborn: number
  /** Last lines that a kill tore. */
  torn: number
  /** Kills that left a compaction without its end, with a full surface and behind a checkpoint. */
  openFull: number
  openCheckpoint: number
  /** Events that had been acknowledged, and were looked for and found. */
  acknowledged: number
  /** In words, what was lost. */
  readonly losses: string[]
}

export function newTally(): Tally {
  return { kills: 0, unborn: 0, torn: 0, openFull: 0, openCheckpoint: 0, acknowledged: 0, losses: [] }
}

/** Turns in which pressure must have led to a compaction. */
const MAX_TURNS_TO_COMPACTION = 12

/** Ends at the first loss: what comes after it says nothing. */
export async function killChain(init: StageInit, points: Iterable<KillPoint>, tally: Tally): Promise<void> {
  let before: readonly string[] = []
  for (const point of points) {
    try {
      before = await killOnce(init, point, before, tally)
    } catch (error) {
      tally.losses.push(`${init.id} (${init.engine}, ${init.trigger}), kill ${JSON.stringify(point)}: ${(error as Error).stack}`)
      return
    }
  }
}

/** The lines of the file when it was judged and left. */
async function killOnce(init: StageInit, point: KillPoint, before: readonly string[], tally: Tally): Promise<readonly string[]> {
  const path = sessionPath(init)
  const words = await runAndKill(init, point)
  tally.kills += 1
  if (!existsSync(path)) {
    assert.equal(before.length, 0, 'the file is gone')
    assert.equal(words.acknowledgedSeq, -1, 'nothing was acknowledged of a session without a file')
    tally.unborn += 1
    return before
  }
  const remains = remainsOf(readFileSync(path))
  judgeRemains(remains, before, words)
  if ('stop' in point) judgeStop(remains, before.length, point.stop)
  tally.acknowledged += Math.max(0, words.acknowledgedSeq + 1 - before.length)

  await goOn(init, session => {
    judgeResumed(session, remains.lines)
    judgeTorn(path, remains, tally)
    judgeUnfinished(remains, tally)
  })
  return remainsOf(readFileSync(path)).lines
}

/**
 * Resumes what is there, has it judged, and goes on: the next turn and the next compaction work. Then the session is left, whole
 * and closed.
 */
export async function goOn(init: StageInit, judge: (session: Session) => void = () => {}): Promise<void> {
  const { agent: { session }, catchUp, playTurn, compact, leave } = await stage(init)
  let events: readonly SessionEvent[]
  try {
    judge(session)
    await catchUp()
    await playTurn()
    const { replaceGeneration } = session.surface
    if (init.trigger === 'manual') assert.ok(await compact(), 'there is something to compact')
    for (let turn = 0; session.surface.replaceGeneration === replaceGeneration; turn++) {
      assert.ok(turn < MAX_TURNS_TO_COMPACTION, `no compaction in ${turn} turns`)
      await playTurn()
    }
    await catchUp() // steering that came while a summary was written
    events = [...session.log.from(0)]
    judgeSession(session, events)
    judgeInput(events)
  } finally {
    await leave()
  }
  const { lines, torn } = remainsOf(readFileSync(sessionPath(init)))
  assert.equal(torn.length, 0)
  assert.deepEqual(lines, events.map(event => JSON.stringify(event)), 'the file holds the log')
}

/** An exact stop is where it was meant to be: the file ends with the event, or does not hold it yet. */
function judgeStop({ lines }: Remains, from: number, { moment, when }: { readonly moment: string; readonly when: string }): void {
  const found = lines.slice(from).findIndex(line => momentOf(JSON.parse(line)) === moment)
  assert.equal(found, when === 'durable' ? lines.length - from - 1 : -1, `it stopped at ${moment}, ${when}`)
}

function judgeTorn(path: string, { torn }: Remains, tally: Tally): void {
  if (torn.length === 0) return
  tally.torn += 1
  const siblings = readdirSync(join(path, '..')).filter(name => name.startsWith(`${basename(path)}.torn-`))
  const kept = siblings.some(name => readFileSync(join(path, '..', name)).equals(torn))
  assert.ok(kept, 'the torn line was set aside')
}

function judgeUnfinished({ lines }: Remains, tally: Tally): void {
  const events = lines.map(line => JSON.parse(line))
  const end = events.findLastIndex(event => event.type === 'session/end-seed')
  const [startSeq] = unfinishedCompactions(events.slice(end + 1))
  if (startSeq === undefined) return
  if (events.slice(startSeq).some(event => momentOf(event) === 'replacement')) tally.openCheckpoint += 1
  else tally.openFull += 1
}
