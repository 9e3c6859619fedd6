import { Context } from '@deepseek-ai/cordis'
import type { CompactionAgent } from '@deepseek-ai/dsh-compaction'
import type { Summary, SummaryInput } from '@deepseek-ai/dsh-compaction-basic'
import { compactionContract } from '@deepseek-ai/dsh-compaction/contract'
import LlmService, { ScriptedAdapter } from '@deepseek-ai/dsh-llm'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { DigestCompactionEngine } from '../src/index.ts'

compactionContract('digest', async ({ provider, model, windowTokens, summarize }) => {
  /** The digest never waits and never fails: what the suite wants of a summarizer comes before it. */
  class Directed extends DigestCompactionEngine {
    protected override async summarize(input: SummaryInput, agent: CompactionAgent, signal?: AbortSignal): Promise<Summary> {
      const text = await summarize()
      return text === null ? super.summarize(input, agent, signal) : { summary: [{ type: 'text', text }] }
    }
  }
  const ctx = new Context()
  for (const plugin of [LlmService, TokenMeterService]) await ctx.plugin(plugin)
  ctx.llm.registerAdapter(new ScriptedAdapter({ provider, models: { [model]: { contextWindow: windowTokens } }, replies: [] }))
  const fiber = ctx.plugin(Directed)
  await fiber
  return { engine: ctx.compaction, unload: () => fiber.dispose(), dispose: () => ctx.fiber.dispose() }
})
