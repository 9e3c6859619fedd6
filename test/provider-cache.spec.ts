/** A conversation that is compacted keeps the provider's prefix cache warm, by the server's own counters. */
import { expect, it } from 'vitest'
import { cacheRun, shareOf } from '../bench/cache-run.ts'
import { DIALECTS } from './provider/house.ts'

const SIZE = { steps: 100, contextWindow: 32_000 }

it.each(DIALECTS)('in the dialect of %s: of the summarizer’s prompt and of requests between compactions, at least 95 hundredths were read before', async dialect => {
  const figures = await cacheRun({ dialect, ...SIZE })
  expect(figures.compactions).toBeGreaterThan(0)
  expect(figures).toMatchObject({ prunes: 0, refused: 0, summaries: { requests: figures.compactions } })
  expect(shareOf(figures.summaries)).toBeGreaterThanOrEqual(0.95)
  expect(shareOf(figures.between)).toBeGreaterThanOrEqual(0.95)
})

it('what pruning costs is seen: a result that is rewritten parts a prompt from the one before', async () => {
  const long = { dialect: 'openai', ...SIZE, hasLongResults: true } as const
  const [pruned, whole] = [await cacheRun(long), await cacheRun({ ...long, prunes: false })]
  expect(pruned.prunes).toBeGreaterThan(0)
  expect(pruned.compactions).toBeLessThanOrEqual(whole.compactions)
  expect(shareOf(pruned.between)).toBeLessThan(shareOf(whole.between))
  expect(shareOf(pruned.summaries)).toBeGreaterThanOrEqual(0.95)
})
