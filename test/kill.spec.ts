/**
 * What a killed process, a cut file and a flipped bit leave: the short set. `npm run test:deep` has the long one, with the same
 * judges.
 *
 * Kills are SIGKILL to a real process that writes to a real file. They show what the process had handed to the operating system:
 * a write that was skipped, came in the wrong order or was acknowledged too early. The page cache outlives a process, so they
 * cannot show an fsync that is missing; what power loss leaves is approached by the cuts, at any byte.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { cutAll, flipAll, killAll, tallyLine } from './crash/plan.ts'

const root = mkdtempSync(join(tmpdir(), 'dsh-kill-'))
afterAll(() => rmSync(root, { recursive: true }))

/** Processes are slow to start where others want the cores too; nothing here is a matter of time. */
const TIMEOUT_MS = 300_000

it('loses nothing that was acknowledged when its process is killed, at every boundary of a compaction and at random', async () => {
  const tally = await killAll(root, { seed: 1, exact: [{ engine: 'basic', trigger: 'pressure' }], randomChains: 6, killsPerChain: 4, chainsAtOnce: 4 })
  console.log(tallyLine(tally))
  expect(tally.losses).toEqual([])
  expect(tally.kills).toBe(8 + 24)
  expect(tally.openFull).toBeGreaterThanOrEqual(2) // start and summary, durable without what follows them
  expect(tally.openCheckpoint).toBeGreaterThanOrEqual(1)
}, TIMEOUT_MS)

it('reads every whole line of a file cut off at any byte, and sets the torn one aside', async () => {
  const { line, losses } = await cutAll(root, { endings: ['compaction'], everyBytes: 128 })
  console.log(line)
  expect(losses).toEqual([])
}, TIMEOUT_MS)

it('refuses a flipped bit by its line, or reads all the rest as it was', async () => {
  const { line, losses } = await flipAll(root, { seed: 1, everyBytes: 64, earlier: 64 })
  console.log(line)
  expect(losses).toEqual([])
}, TIMEOUT_MS)
