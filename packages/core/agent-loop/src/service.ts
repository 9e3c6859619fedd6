/**
 * The plugin: gives the agents of a context their run.
 */
import type { Context } from '@deepseek-ai/cordis'
import { busOf } from '@deepseek-ai/dsh-llm'
import { registerInvariant, teller } from '@deepseek-ai/dsh-session'
import { loopInvariant, requestFaults } from './derivable.ts'
import { declaredContextFold } from './envelope.ts'
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
    ctx.on('session/loading', log => void log.read(declaredContextFold))
    registerInvariant(ctx, loopInvariant)
    ctx.inject(['invariants', 'agents'], checkRequests)
  }
}

/** Stops an ordinary request that is not what the log says. Prepended: what others make of it on the way is their doing. */
function checkRequests(ctx: Context): void {
  ctx.on('llm/stream', ({ options }, next) => {
    const session = options.purpose === undefined && options.sessionId !== undefined ? ctx.agents.get(options.sessionId)?.session : undefined
    const faults = session === undefined ? [] : requestFaults(session, options)
    if (faults.length > 0) throw new Error(`a request of session ${options.sessionId} cannot be derived from its log: ${faults.join('; ')}`)
    return next()
  }, { prepend: true })
}
