/**
 * The plugin: a turn whose request failed for a passing reason is tried again after a wait that observers see and a cancel ends.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { RequestErrorEvent, RequestErrorResult } from '@deepseek-ai/dsh-agent'
import { isTransient, pause, retryWait, type LlmFailure, type RetryPolicy } from '@deepseek-ai/dsh-llm'
import { teller, type Session, type Tell } from '@deepseek-ai/dsh-session'
import { z } from 'zod'
import { rowFold, rowOf } from './row.ts'

/** A failed request waits to be sent again. */
export interface RetryWait {
  readonly failure: LlmFailure
  /** Which retry it will be, from 1. */
  readonly retry: number
  readonly maxRetries: number
  readonly waitMs: number
  /** When the wait ends, in milliseconds since the epoch. */
  readonly until: number
}

/** A failure that another try might have cured, were there one left. */
export interface RetriesSpent {
  /** Its `retryAfterMs`, where set, may be what there was no time for. */
  readonly failure: LlmFailure
  readonly retries: number
  readonly elapsedMs: number
}

declare module '@deepseek-ai/cordis' {
  interface Events {
    /** A wait before a retry begins; told, never logged. */
    'llm/retry-wait'(session: Session, wait: RetryWait): void
    /** That wait is over: the turn is retried, or was cancelled while it waited. */
    'llm/retry-wait-ended'(session: Session, outcome: 'retried' | 'cancelled'): void
    /** A transient failure is not tried again, and so ends its turn. */
    'llm/retries-spent'(session: Session, spent: RetriesSpent): void
  }
}

/** The longest delay of a timer; a longer one would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

const milliseconds = z.number().int().positive().max(LONGEST_TIMER_MS)

const Config = z
  .strictObject({
    /** Tries in a row beyond the first; 0 turns retries off. */
    maxRetries: z.number().int().min(0).default(5),
    /** The last retry begins no later than so long after the first failure; a longer wait that a provider asks for is not begun. */
    maxElapsedMs: milliseconds.default(300_000),
    /** Doubled with each retry. */
    firstWaitMs: milliseconds.default(1_000),
  })
  .prefault({})

export class LlmRetry {
  static readonly Config = Config

  private readonly policy: RetryPolicy
  private readonly tell: Tell
  /** Ends every wait when the plugin is unloaded. */
  private readonly unloading = new AbortController()

  constructor(ctx: Context, config: z.input<typeof Config> = {}) {
    this.policy = Config.parse(config)
    this.tell = teller(ctx, 'llm-retry')
    ctx.on('session/loading', log => void log.read(rowFold))
    ctx.on('agent/request-error', (event, next) => this.recover(event, next))
    ctx.effect(() => () => this.unloading.abort(), 'waits before retries')
  }

  /** Rejects with the agent's own reason when it is cancelled; when the plugin is unloaded, others decide. */
  private async recover(event: RequestErrorEvent, next: () => Promise<RequestErrorResult>): Promise<RequestErrorResult> {
    const { agent: { session }, signal } = event
    const { cause: _, ...failure } = event.failure
    if (!isTransient(failure)) return next()
    const { retries, elapsedMs } = rowOf(session)
    const wait = retryWait(failure, { attempt: retries, elapsedMs, random: Math.random() }, this.policy)
    if (wait === null) {
      this.tell('llm/retries-spent', session, { failure, retries, elapsedMs })
      return next()
    }
    const { waitMs } = wait
    this.tell('llm/retry-wait', session, { failure, retry: retries + 1, maxRetries: this.policy.maxRetries, waitMs, until: Date.now() + waitMs })
    try {
      await pause(waitMs, AbortSignal.any([signal, this.unloading.signal]))
    } catch {
      this.tell('llm/retry-wait-ended', session, 'cancelled')
      signal.throwIfAborted()
      return next()
    }
    this.tell('llm/retry-wait-ended', session, 'retried')
    return { kind: 'retry' }
  }
}
