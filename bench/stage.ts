/** A context with everything an agent needs, an instant scripted model and a no-op tool. */
import { Context } from '@deepseek-ai/cordis'
import { AgentService } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic'
import { LlmService, ScriptedAdapter, type ScriptedTurn } from '@deepseek-ai/dsh-llm'
import { SessionService } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import { SystemPromptService } from '@deepseek-ai/dsh-system-prompt'
import { TokenMeterService } from '@deepseek-ai/dsh-token-meter'
import { ToolService } from '@deepseek-ai/dsh-tools'
import { RESULT, TOOL } from './workload.ts'

export const PROVIDER = 'scripted'
export const MODEL = 'instant'

export interface Stage {
  readonly ctx: Context
  dispose(): Promise<void>
}

export interface StageOptions {
  /** Tokens; large enough by default that nothing is ever compacted. */
  readonly contextWindow?: number
  /** Where sessions are stored; nowhere by default. */
  readonly dir?: string
  /** What the tool answers. */
  readonly result?: string
}

export async function stage(replies: ScriptedTurn, { contextWindow = 1_000_000_000, dir, result = RESULT }: StageOptions = {}): Promise<Stage> {
  const root = new Context()
  if (dir !== undefined) await root.plugin(JsonlSessionPersistence, { dir })
  const parts = [SessionService, LlmService, TokenMeterService, SystemPromptService, ToolService, AgentService, AgentLoop, BasicCompactionEngine]
  for (const part of parts) await root.plugin(part)
  let ctx = root
  await root.plugin({
    name: 'bench',
    inject: ['sessions', 'llm', 'tokenMeter', 'tools', 'agents', 'compaction'],
    apply(inner: Context) {
      ctx = inner
      inner.llm.registerAdapter(new ScriptedAdapter({ provider: PROVIDER, models: { [MODEL]: { contextWindow } }, replies }))
      inner.tools.registerTool({ name: TOOL, description: 'Does nothing.', parameters: { type: 'object' }, execute: () => result })
    },
  })
  return { ctx, dispose: async () => root.fiber.dispose() }
}
