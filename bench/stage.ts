/** A context with everything an agent needs, an instant scripted model and a no-op tool. */
import { Context } from '@deepseek-ai/cordis'
import { AgentService } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic'
import { LlmService, ScriptedAdapter, type ScriptedTurn } from '@deepseek-ai/dsh-llm'
import { Session, SessionService } from '@deepseek-ai/dsh-session'
import { SystemPromptService } from '@deepseek-ai/dsh-system-prompt'
import { TokenMeterService } from '@deepseek-ai/dsh-token-meter'
import { ToolService } from '@deepseek-ai/dsh-tools'

export const PROVIDER = 'scripted'
export const MODEL = 'instant'
const TOOL = 'noop'

export interface Stage {
  readonly ctx: Context
  dispose(): Promise<void>
}

/** @param contextWindow tokens; large enough by default that nothing is ever compacted. */
export async function stage(replies: ScriptedTurn, contextWindow = 1_000_000_000): Promise<Stage> {
  const root = new Context()
  const parts = [SessionService, LlmService, TokenMeterService, SystemPromptService, ToolService, AgentService, AgentLoop, BasicCompactionEngine]
  for (const part of parts) await root.plugin(part)
  let ctx = root
  const scene = await root.plugin({
    name: 'bench',
    inject: ['sessions', 'llm', 'tokenMeter', 'tools', 'agents', 'compaction'],
    apply(inner: Context) {
      ctx = inner
      inner.llm.registerAdapter(new ScriptedAdapter({ provider: PROVIDER, models: { [MODEL]: { contextWindow } }, replies }))
      inner.tools.registerTool({ name: TOOL, description: 'Does nothing.', parameters: { type: 'object' }, execute: () => 'done' })
    },
  })
  return { ctx, dispose: async () => scene.dispose() }
}

export function toolCall(id: string): { readonly type: 'tool-call'; readonly id: string; readonly name: string; readonly arguments: string } {
  return { type: 'tool-call', id, name: TOOL, arguments: '{}' }
}

const RESULT = 'The quick brown fox jumps over the lazy dog, and line 42 says so. '.repeat(31)

/**
 * Plays `entries` surface entries of a tool loop into a session: a user message every 20 steps; a step is an assistant
 * message with one call and a result of about 2 KB. Ends between turns.
 */
export function fill(session: Session, entries: number, eachStep: () => void = () => {}): void {
  const config = { provider: PROVIDER, model: MODEL }
  let turn = 0
  while (session.surface.entries.length < entries) {
    turn += 1
    session.append('turn/start', { turn })
    session.append('user/message', { content: [{ type: 'text', text: `Go on with part ${turn}.` }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    for (let step = 1; step <= 20 && session.surface.entries.length < entries; step++) {
      const callId = `call-${turn}-${step}`
      session.append('step/start', { turn, step })
      if (turn === 1 && step === 1) session.append('request/header', { config, reason: 'initial' })
      session.append('assistant/message', { turn, step, content: [toolCall(callId)], ...config, finish: 'tool-calls' }, { surfaceOp: 'append' })
      session.append('tool/call', { turn, step, callId })
      session.append('tool/result', { turn, step, callId, content: [{ type: 'text', text: RESULT }] }, { surfaceOp: 'append' })
      session.append('step/end', { turn, step })
      eachStep()
    }
    session.append('turn/end', { turn, reason: 'completed' })
  }
}

export function emptySession(): Session {
  return new Session({ header: { id: 'bench', createdAt: 0 } })
}
