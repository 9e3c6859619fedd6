/**
 * The property of `histories.property.spec.ts` at length, a thread a core. What is played depends on nothing but the numbers
 * here, so that a failure is found again.
 */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { unseen, type Tally } from './histories-play.ts'

const HISTORIES = 100_000
const HISTORIES_A_SHARD = 2_500
const SHARDS = HISTORIES / HISTORIES_A_SHARD

it(`holds through ${HISTORIES} random histories`, async () => {
  const tally: Tally = {}
  const shards = Array.from({ length: SHARDS }, (_, index) => index + 1).values()
  const play = async (): Promise<void> => {
    const worker = new Worker(new URL('./histories-worker.ts', import.meta.url))
    try {
      for (const seed of shards) {
        worker.postMessage({ count: HISTORIES_A_SHARD, seed })
        const [{ tally: seen, error }] = (await once(worker, 'message')) as [{ readonly tally?: Tally; readonly error?: string }]
        if (seen === undefined) throw new Error(`seed ${seed}: ${error}`)
        for (const [name, times] of Object.entries(seen)) tally[name] = (tally[name] ?? 0) + times
        console.log(`${tally['histories']} of ${HISTORIES} histories, ${tally['operations']} operations, ${tally['summarizer requests']} summarizer requests`)
      }
    } finally {
      await worker.terminate()
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, play))
  console.log(Object.entries(tally).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, times]) => `  ${name.padEnd(46)}${String(times).padStart(9)}`).join('\n'))
  expect(unseen(tally)).toEqual([])
  expect(tally['histories']).toBe(HISTORIES)
})
