/**
 * The plugin: gives the agents of a context their run.
 */
import type { Context } from '@deepseek-ai/cordis'
import { teller } from '@deepseek-ai/dsh-agent'
import { runTurn } from './loop.ts'

export class AgentLoop {
  static readonly inject = ['agents', 'llm', 'systemPrompt', 'tools']

  constructor(ctx: Context) {
    const { events, llm, systemPrompt, tools } = ctx
    const tell = teller(ctx)
    ctx.agents.setDriver((agent, signal) => {
      const { session } = agent
      return runTurn({ ctx, events, tell, llm, systemPrompt, tools, agent, session, signal, refusedUnsent: false })
    })
  }
}
