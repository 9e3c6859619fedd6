import { Context } from '@deepseek-ai/cordis'
import { compactionContract } from '@deepseek-ai/dsh-compaction/contract'
import LlmService, { ScriptedAdapter } from '@deepseek-ai/dsh-llm'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { BasicCompactionEngine } from '../src/index.ts'

const SUMMARY = `## Current Work\n${'The fox is being observed from a distance. '.repeat(8)}`

compactionContract('basic', async ({ provider, model, windowTokens, summarize }) => {
  const ctx = new Context()
  for (const plugin of [LlmService, TokenMeterService]) await ctx.plugin(plugin)
  const replies = async () => (await summarize()) ?? SUMMARY
  ctx.llm.registerAdapter(new ScriptedAdapter({ provider, models: { [model]: { contextWindow: windowTokens } }, replies }))
  const fiber = ctx.plugin(BasicCompactionEngine)
  await fiber
  return { engine: ctx.compaction, unload: () => fiber.dispose(), dispose: () => ctx.fiber.dispose() }
})
