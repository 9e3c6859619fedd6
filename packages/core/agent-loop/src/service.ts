/**
 * The plugin: gives the agents of a context their run.
 */
import type { Context } from '@deepseek-ai/cordis'
import { busOf } from '@deepseek-ai/dsh-llm'
import { teller } from '@deepseek-ai/dsh-session'
import { runTurn } from './loop.ts'

export class AgentLoop {
  static readonly inject = ['agents', 'llm', 'systemPrompt', 'tools']

  constructor(ctx: Context) {
    const { llm, systemPrompt, tools } = ctx
    const events = busOf(ctx)
    const tell = teller(ctx, 'agents')
    ctx.agents.setDriver((agent, signal) => {
      const { session } = agent
      return runTurn({ ctx, events, tell, llm, systemPrompt, tools, agent, session, signal, refusedUnsent: false })
    })
  }
}
