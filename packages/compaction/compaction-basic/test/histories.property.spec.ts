/**
 * Random histories through the engine: whatever the conversation, the summarizer, the store and whoever cancels do, the surface
 * stays balanced and whole, a commit makes it smaller, every start has its end, calls are bounded, and live state is replayed
 * state. `npm run test:deep` plays twenty times as many.
 */
import { expect, it } from 'vitest'
import { playHistories, unseen } from './histories-play.ts'

const HISTORIES = 5_000
/** Seconds on an idle machine. */
const TIMEOUT_MS = 300_000

it(`holds through ${HISTORIES} random histories`, async () => {
  const tally = await playHistories(HISTORIES, 20_250_202)
  expect(unseen(tally)).toEqual([])
  expect(tally['histories']).toBe(HISTORIES)
}, TIMEOUT_MS)
