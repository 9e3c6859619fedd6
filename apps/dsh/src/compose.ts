/**
 * Compose: the harness put together in code, as a replay needs it: no file decides what is loaded.
 */
import { Context } from '@deepseek-ai/cordis'
import AgentService from '@deepseek-ai/dsh-agent'
import agentLoop from '@deepseek-ai/dsh-agent-loop'
import DigestCompactionEngine from '@deepseek-ai/dsh-compaction-digest'
import ToolResultPruner from '@deepseek-ai/dsh-compaction-tool-result-pruner'
import LlmService from '@deepseek-ai/dsh-llm'
import SessionService from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import ToolService from '@deepseek-ai/dsh-tools'
import { StderrLog } from './stderr-log.ts'

interface Composition {
  /** Where sessions are kept. */
  readonly sessionDir: string
  /** Loads who compacts; the digest engine where nothing is said. */
  readonly loadEngine?: ((ctx: Context) => PromiseLike<unknown>) | undefined
}

/** The context is the caller's to dispose of. */
export async function compose({ sessionDir, loadEngine = ctx => ctx.plugin(DigestCompactionEngine) }: Composition): Promise<Context> {
  const ctx = new Context()
  new StderrLog(ctx)
  await ctx.plugin(JsonlSessionPersistence, { dir: sessionDir })
  await ctx.plugin(SessionService)
  await ctx.plugin(LlmService)
  await ctx.plugin(TokenMeterService)
  await ctx.plugin(SystemPromptService)
  await ctx.plugin(ToolService)
  await ctx.plugin(AgentService)
  await ctx.plugin(agentLoop)
  await ctx.plugin(ToolResultPruner)
  try {
    await loadEngine(ctx)
  } catch (error) {
    await ctx.fiber.dispose()
    throw error
  }
  return ctx
}
