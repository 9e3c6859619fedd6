import { Context } from '@deepseek-ai/cordis'
import { compactionContract } from '@deepseek-ai/dsh-compaction/contract'
import { CountingEngine } from './counting-engine.ts'

compactionContract('an engine that counts', async ({ summarize }) => {
  const ctx = new Context()
  const fiber = ctx.plugin(CountingEngine, { words: summarize })
  await fiber
  return { engine: ctx.compaction, unload: () => fiber.dispose(), dispose: () => ctx.fiber.dispose() }
})
