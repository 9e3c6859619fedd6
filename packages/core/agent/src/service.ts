/**
 * `ctx.agents`: one agent a session, run by the driver that a loop provides.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { StreamChunk } from '@deepseek-ai/dsh-llm'
import { teller, traceOf, type CallConfig, type Session } from '@deepseek-ai/dsh-session'
import type {
  Agent,
  AgentDriver,
  AgentOptions,
  AgentStatus,
  PreStepEvent,
  PreStepResult,
  RequestErrorEvent,
  RequestErrorResult,
  RequestEvent,
} from './agent.ts'
import { pendingInput } from './inbox.ts'
import { AgentRunner, type RunnerHost } from './runner.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    agents: AgentService
  }
  interface Events {
    /** Around the entry of input, after a `step/end` and before the next `step/start`; listeners may change the surface. */
    'agent/pre-step'(event: PreStepEvent, next: () => Promise<PreStepResult>): Promise<PreStepResult>
    /** Around the choice of route and call config, once a request. */
    'agent/request'(event: RequestEvent, next: () => Promise<CallConfig>): Promise<CallConfig>
    /**
     * Around a failed request, after its `step/end`. Who does not retry passes on what `next()` gives; who retries bounds how
     * often.
     */
    'agent/request-error'(event: RequestErrorEvent, next: () => Promise<RequestErrorResult>): Promise<RequestErrorResult>
    /** A chunk of the answer as it arrives; the log gets whole blocks only. */
    'agent/delta'(agent: Agent, chunk: StreamChunk): void
    'agent/status'(agent: Agent, status: AgentStatus): void
  }
}

interface Entry {
  readonly runner: AgentRunner
  readonly dispose: () => Promise<void>
}

export class AgentService extends Service {
  private readonly entries = new Map<string, Entry>()
  private readonly host: RunnerHost
  private currentDriver: AgentDriver | null = null

  constructor(ctx: Context) {
    super(ctx, 'agents')
    const tell = teller(ctx, 'agents')
    this.host = {
      driver: () => this.currentDriver,
      statusChanged: agent => tell('agent/status', agent, agent.status),
      report: (message, error) => ctx.logger('agents').error('%s: %s', message, traceOf(error)),
    }
    ctx.on('session/loading', log => void pendingInput({ header: {}, read: fold => log.read(fold) }))
    ctx.on('session/closed', session => {
      const entry = this.entries.get(session.id)
      if (entry?.runner.session === session) void entry.dispose()
    })
  }

  /**
   * The agent of a session. It belongs to the calling context and goes with it. Input that waits in the session stays
   * waiting; `agent.wake()` goes on with it.
   *
   * @throws Error when the session has an agent.
   */
  create(session: Session, options: AgentOptions = {}): Agent {
    const { entries } = this
    const runner = new AgentRunner(session, options, this.host)
    const dispose = this.ctx.effect(() => {
      if (entries.has(session.id)) throw new Error(`session ${session.id} has an agent already`)
      return async () => {
        entries.delete(session.id)
        await runner.release('the agent was let go')
      }
    }, `ctx.agents.create(${JSON.stringify(session.id)})`)
    entries.set(session.id, { runner, dispose })
    return runner
  }

  get(sessionId: string): Agent | undefined {
    return this.entries.get(sessionId)?.runner
  }

  /**
   * Lets go of an agent: it accepts nothing more, a running turn is cancelled; resolves once that has ended, whoever let go of it
   * first. The session stays.
   */
  async release(agent: Agent): Promise<void> {
    const entry = this.entries.get(agent.id)
    if (entry?.runner === agent) await entry.dispose()
    else await agent.whenIdle()
  }

  /**
   * Gives agents their run; a second driver is refused. Belongs to the calling context: when it goes, running turns end as
   * cancelled, and what waits goes on with the next driver.
   */
  setDriver(driver: AgentDriver): () => Promise<void> {
    return this.ctx.effect(() => {
      if (this.currentDriver !== null) throw new Error('agents have a driver already')
      this.currentDriver = driver
      for (const { runner } of this.entries.values()) runner.driverCame()
      return async () => {
        this.currentDriver = null
        await Promise.all([...this.entries.values()].map(({ runner }) => runner.driverLeft()))
      }
    }, 'ctx.agents.setDriver()')
  }

  async *[Service.init](): AsyncGenerator<() => Promise<void>, void, void> {
    yield async () => {
      await Promise.all([...this.entries.values()].map(({ dispose }) => dispose()))
    }
  }
}
