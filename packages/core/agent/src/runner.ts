/**
 * The runner: one agent's status, its inbox door, and when its driver runs.
 *
 *          accept / wake                driver          nothing wakes, flushed
 *     idle ────────────► running ──► turn, turn, … ──► idle
 *          maintenance ► running ──► task ─────────────┘      (waking input waits behind the task)
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { InputKind, MessageSource, Session } from '@deepseek-ai/dsh-session'
import { Cancelled, type Agent, type AgentDriver, type AgentOptions, type AgentStatus } from './agent.ts'
import { isPending, wakingInput } from './inbox.ts'

/** What a runner needs of the service it lives in. */
export interface RunnerHost {
  driver(): AgentDriver | null
  statusChanged(agent: Agent): void
  /** Something that no caller can be told any more. */
  report(message: string, error: unknown): void
}

export class AgentRunner implements Agent {
  readonly session: Session
  readonly options: AgentOptions
  private readonly host: RunnerHost
  private activity: 'turns' | 'maintenance' | null = null
  /** Of the running turn or task. */
  private controller = new AbortController()
  /** Resolves when the newest activity has ended. */
  private ended: Promise<void> = Promise.resolve()
  /** Waking input came while nothing could run for it. */
  private wakeHeld = false
  private released = false

  constructor(session: Session, options: AgentOptions, host: RunnerHost) {
    this.session = session
    this.options = options
    this.host = host
  }

  get id(): string {
    return this.session.id
  }

  get status(): AgentStatus {
    return this.activity === null ? 'idle' : 'running'
  }

  send(content: string | readonly ContentBlock[], source?: MessageSource): string {
    return this.accept('send', content, source)
  }

  steer(content: string | readonly ContentBlock[], source?: MessageSource): string {
    return this.accept('steer', content, source)
  }

  inject(content: string | readonly ContentBlock[], source?: MessageSource): string {
    return this.accept('inject', content, source)
  }

  withdraw(inputId: string): boolean {
    if (!isPending(this.session, inputId)) return false
    this.session.append('inbox/spliced', { removed: [inputId] })
    return true
  }

  wake(): void {
    if (this.released || wakingInput(this.session) === null) return
    if (this.activity !== null || this.host.driver() === null) this.wakeHeld = true
    else void this.occupy('turns', () => this.runTurns())
  }

  cancel(cause: string): void {
    if (this.activity === null) return
    // A cancelled turn whose input had not entered rests; only what comes after the cancel may wake it. Maintenance had no input.
    if (this.activity === 'turns') this.wakeHeld = false
    this.controller.abort(new Cancelled(cause))
  }

  async whenIdle(): Promise<void> {
    while (this.activity !== null) await this.ended
  }

  runMaintenance<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.released) throw new Error(`agent ${this.id} was let go`)
    if (this.activity !== null) throw new Error(`agent ${this.id} is not idle: it is busy with ${this.activity}`)
    return this.occupy('maintenance', () => task(this.controller.signal))
  }

  /** A driver has come: goes on with what was held back for want of one. */
  driverCame(): void {
    if (this.wakeHeld) this.wake()
  }

  /** The driver is gone: ends the running turn and resolves once it has ended. What waits is held for the next driver. */
  async driverLeft(): Promise<void> {
    if (this.activity !== 'turns') return
    this.cancel('the loop was unloaded')
    await this.ended
  }

  /** Accepts nothing more, ends what runs as cancelled by `cause` and resolves once it has ended. */
  async release(cause: string): Promise<void> {
    this.released = true
    this.cancel(cause)
    await this.whenIdle()
  }

  private accept(kind: InputKind, content: string | readonly ContentBlock[], source: MessageSource = { kind: 'user' }): string {
    if (this.released) throw new Error(`agent ${this.id} was let go and accepts no input`)
    const { session } = this
    // The seq of the event that accepts it: unique in the log, its forks and later lifecycles, and the same when replayed.
    const inputId = `input-${session.log.length}`
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
    session.append('inbox/spliced', { inserted: [{ inputId, kind, content: blocks, source }] })
    // Durable now, not only with the next request; where this fails, the next step's own flush fails as well.
    session.flush().catch(error => this.host.report(`input ${inputId} of agent ${this.id} could not be made durable`, error))
    if (kind !== 'inject') this.wake()
    return inputId
  }

  /** Status is `running` from now until `work` settles; waking input held back meanwhile then gets its turn. */
  private occupy<T>(activity: 'turns' | 'maintenance', work: () => Promise<T>): Promise<T> {
    this.activity = activity
    this.controller = new AbortController()
    this.wakeHeld = false
    const run = (async () => {
      this.host.statusChanged(this)
      try {
        return await work()
      } finally {
        this.activity = null
        if (this.wakeHeld) this.wake()
        if (this.activity === null) this.host.statusChanged(this)
      }
    })()
    this.ended = run.then(nothing, nothing)
    return run
  }

  /** Turn after turn while something wakes, as long as each takes in what woke it. Never rejects. */
  private async runTurns(): Promise<void> {
    try {
      await Promise.resolve() // who sends goes on first: what it sends next may still join
      for (;;) {
        this.wakeHeld = false
        const opener = wakingInput(this.session)
        if (opener === null || this.released) break
        const driver = this.host.driver()
        if (driver === null) {
          this.wakeHeld = true
          break
        }
        await driver(this, this.controller.signal)
        this.controller = new AbortController()
        if (isPending(this.session, opener.inputId) && this.host.driver() !== null) break
      }
      await this.session.flush()
    } catch (error) {
      if (!this.released) this.host.report(`agent ${this.id} stopped`, error)
    }
  }
}

function nothing(): void {}
