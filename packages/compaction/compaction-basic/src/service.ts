/**
 * `ctx.compaction`, and what makes it act by itself.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-agent'
import { CompactionEngine, type CompactionAgent, type CompactionResult } from '@deepseek-ai/dsh-compaction'
import type { LlmService, RetryPolicy } from '@deepseek-ai/dsh-llm'
import { teller, type Seq, type Session, type Tell } from '@deepseek-ai/dsh-session'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { Compactor } from './compactor.ts'
import { configSchema, resolveConfig, type BasicCompactionConfig } from './config.ts'
import type { Pruner } from './relief.ts'
import { climbLadder, type Rung, type Summary, type SummaryInput } from './summarize.ts'

declare module '@deepseek-ai/cordis' {
  interface Events {
    /** A rung of the summary's ladder answered or did not, while a compaction of the session runs; told, never logged. */
    'compaction/rung'(session: Session, rung: Rung): void
  }
}

/** A summarizer that says nothing for so long is given up. */
const IDLE_MS = 60_000
/** Short: an agent waits for its summary, and without one its run goes on. */
const RETRY: RetryPolicy = { maxRetries: 1, maxElapsedMs: 30_000, firstWaitMs: 1_000 }

export class BasicCompactionEngine extends CompactionEngine {
  static readonly inject = ['llm', 'tokenMeter']
  static readonly Config = configSchema

  private readonly llm: LlmService
  private readonly meter: TokenMeter
  /** A plain object: what is called through a context costs microseconds a property, so the work is done there. */
  private readonly compactor: Compactor
  private readonly tell: Tell
  private readonly auto: boolean

  constructor(ctx: Context, config?: BasicCompactionConfig) {
    super(ctx)
    this.llm = ctx.llm
    this.meter = ctx.tokenMeter.meter
    this.tell = teller(ctx, 'compaction')
    const resolved = resolveConfig(config)
    const compactor = new Compactor({
      llm: this.llm,
      meter: this.meter,
      config: resolved,
      pruner: () => ctx.get('toolResultPruner') as Pruner | undefined,
      summarize: (input, agent, signal) => this.summarize(input, agent, signal),
      warn: message => ctx.logger('compaction').warn(message),
    })
    this.compactor = compactor
    this.auto = resolved.auto
    ctx.on('session/loading', log => compactor.follow(log))
    if (!resolved.auto) return
    // Prepended: whoever reads the surface to add context does so after it was compacted.
    ctx.on('agent/pre-step', async (event, next) => {
      await compactor.relieve(event)
      return next()
    }, { prepend: true })
    // Prepended: it judges the route that all others have chosen.
    ctx.on('agent/request', async (event, next) => {
      const config = await next()
      compactor.fit(event, config)
      return config
    }, { prepend: true })
    ctx.on('agent/request-error', async (event, next) => ((await compactor.recover(event)) ? { kind: 'retry' } : next()), { prepend: true })
  }

  async *[Service.init](): AsyncGenerator<() => Promise<void>, void, void> {
    yield () => this.compactor.unload()
  }

  override thresholdTokens(agent: CompactionAgent): number | null {
    return this.auto ? this.compactor.thresholdTokens(agent) : null
  }

  compactIfNeeded(agent: CompactionAgent, trigger: 'pressure' | 'context-overflow', signal: AbortSignal): Promise<CompactionResult | null> {
    return this.compactor.compactIfNeeded(agent, trigger, signal)
  }

  compactNow(agent: CompactionAgent, signal: AbortSignal): Promise<CompactionResult | null> {
    return this.compactor.compactNow(agent, signal)
  }

  compactRegion(start: Seq, end: Seq, agent: CompactionAgent, signal?: AbortSignal): Promise<CompactionResult> {
    return this.compactor.compactRegion(start, end, agent, signal)
  }

  /**
   * Makes one summary of the span. The one hook for another way to make them: what it throws fails the attempt, what it
   * returns is checked for text and size. It stops soon after `signal` aborts.
   */
  protected summarize(input: SummaryInput, agent: CompactionAgent, signal?: AbortSignal): Promise<Summary> {
    const { llm, meter, estimateText, idleMs, retry, tell } = this
    const { session } = agent
    const onRung = (rung: Rung): void => tell('compaction/rung', session, rung)
    return climbLadder({ llm, meter, estimateText, sessionId: session.id, idleMs, retry, onRung, ...(signal === undefined ? {} : { signal }) }, input)
  }

  /** How long the stream of a summary may say nothing before it is given up. */
  protected readonly idleMs: number = IDLE_MS

  /** When a summary request that failed for a passing reason is sent again. */
  protected readonly retry: RetryPolicy = RETRY

  /** The price of a text by itself, in tokens. */
  protected readonly estimateText = (text: string): number => this.meter.estimateMessage({ role: 'user', content: [{ type: 'text', text }] })
}
