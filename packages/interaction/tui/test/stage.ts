/**
 * A stage: a real context with a scripted model and a few tools, without the app. For tests, the benchmark and `scene.ts`.
 */
import { Context } from '@deepseek-ai/cordis'
import Agents, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import CompactCommand from '@deepseek-ai/dsh-command-compact'
import Commands from '@deepseek-ai/dsh-commands'
import Compaction from '@deepseek-ai/dsh-compaction-basic'
import Pruner from '@deepseek-ai/dsh-compaction-tool-result-pruner'
import Llm, { type LlmAdapter } from '@deepseek-ai/dsh-llm'
import LlmRetry from '@deepseek-ai/dsh-llm-retry'
import Permissions from '@deepseek-ai/dsh-permissions'
import Sessions, { type Session } from '@deepseek-ai/dsh-session'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import TokenMeter from '@deepseek-ai/dsh-token-meter'
import Tools, { type Tool } from '@deepseek-ai/dsh-tools'
import Tui from '../src/index.ts'

export interface Stage {
  readonly ctx: Context
  readonly session: Session
  readonly agent: Agent
}

export async function stage(adapter: LlmAdapter, tools: readonly Tool[] = [], retry: ConstructorParameters<typeof LlmRetry>[1] = {}): Promise<Stage> {
  const ctx = new Context()
  for (const plugin of [Sessions, Llm, TokenMeter, SystemPrompt, Tools, Permissions, Agents, AgentLoop, Commands, Pruner, Compaction, CompactCommand, Tui]) {
    await ctx.plugin(plugin as typeof Sessions)
  }
  await ctx.plugin(LlmRetry, retry)
  ctx.llm.registerAdapter(adapter)
  ctx.systemPrompt.registerSection({ name: 'test', text: 'You are a coding agent. Answer in short words, and look before you speak.' })
  for (const tool of tools) ctx.tools.registerTool(tool)
  const session = await ctx.sessions.create()
  return { ctx, session, agent: ctx.agents.create(session, { provider: adapter.provider, model: adapter.models?.[0] ?? 'm', maxTokens: 1_000 }) }
}
