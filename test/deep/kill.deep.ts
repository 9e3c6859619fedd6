/** What a killed process, a cut file and a flipped bit leave: the long set of `test/kill.spec.ts`, which says what it can show. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { ENDINGS } from '../crash/bytes.ts'
import { COMPOSITIONS, cutAll, flipAll, killAll, tallyLine } from '../crash/plan.ts'

const root = mkdtempSync(join(tmpdir(), 'dsh-kill-'))
afterAll(() => rmSync(root, { recursive: true }))

it('loses nothing that was acknowledged in more than 500 kills, 96 of them at every boundary of a compaction', async () => {
  const tally = await killAll(root, { seed: 2, exact: [...COMPOSITIONS, ...COMPOSITIONS], randomChains: 42, killsPerChain: 12, chainsAtOnce: 4 })
  console.log(tallyLine(tally))
  expect(tally.losses).toEqual([])
  expect(tally.kills).toBe(2 * 6 * 8 + 42 * 12)
  expect(tally.openFull).toBeGreaterThanOrEqual(24)
  expect(tally.openCheckpoint).toBeGreaterThanOrEqual(12)
})

it('reads every whole line of a file cut off at every byte of its last 4 KB, and sets the torn one aside', async () => {
  const { line, losses } = await cutAll(root, { endings: ENDINGS, everyBytes: 1 })
  console.log(line)
  expect(losses).toEqual([])
})

it('refuses a flipped bit by its line, or reads all the rest as it was, at every byte of the last 4 KB and 2,000 earlier ones', async () => {
  const { line, losses } = await flipAll(root, { seed: 2, everyBytes: 1, earlier: 2_000 })
  console.log(line)
  expect(losses).toEqual([])
})
