/**
 * Endings: how a turn ends when it does not simply complete, and whether the next one retries it.
 */
import { Cancelled, type RequestErrorEvent, type RequestErrorResult } from '@deepseek-ai/dsh-agent'
import { failureOf, messageOf, type LlmFailure } from '@deepseek-ai/dsh-llm'
import { openStep, pendingCalls, traceOf, type TurnEndReason } from '@deepseek-ai/dsh-session'
import { logResult, NOT_RUN } from './calls.ts'
import type { FailedRequest } from './request.ts'
import type { At, Run } from './run.ts'

export interface TurnOutcome {
  readonly end: TurnEndReason
  readonly retried: boolean
}

export const completed: TurnOutcome = { end: { reason: 'completed' }, retried: false }

/**
 * A request failed, and its step has ended: whether a listener of `agent/request-error` wants it tried again. A listener that
 * throws is reported, and the request's own failure stands.
 *
 * @throws the signal's reason: a cancel beats a retry.
 */
export async function recover(run: Run, at: At, { failure, cause }: FailedRequest): Promise<TurnOutcome> {
  const { events, agent, signal } = run
  let retried = false
  try {
    const event: RequestErrorEvent = { agent, ...at, failure: { ...failure, cause }, signal }
    const verdict: RequestErrorResult = await events.waterfall('agent/request-error', event, async () => undefined)
    retried = verdict?.kind === 'retry'
  } catch (error) {
    if (!signal.aborted) report(run, `a listener of agent/request-error failed`, error)
  }
  signal.throwIfAborted()
  return { end: { reason: 'error', failure: plain(failure) }, retried }
}

/** The turn was cut short by a throw: closes what is open and says why. */
export function cutShort(run: Run, error: unknown): TurnOutcome {
  const { session, signal } = run
  const step = openStep(session)
  if (step !== null) {
    for (const call of pendingCalls(session)) logResult(run, step, call, NOT_RUN)
    session.append('step/end', step)
  }
  if (signal.aborted) {
    const by = signal.reason instanceof Cancelled ? signal.reason.by : messageOf(signal.reason)
    return { end: { reason: 'aborted', by }, retried: false }
  }
  report(run, `a turn of agent ${run.agent.id} failed`, error)
  return { end: { reason: 'error', failure: plain(failureOf(error)) }, retried: false }
}

function report({ ctx }: Run, message: string, error: unknown): void {
  ctx.logger('agent-loop').error('%s: %s', message, traceOf(error))
}

/** The failure's own fields, and of those only the ones that say something: it comes from adapters, and goes into the log. */
function plain({ code, message, status, retryAfterMs, limitTokens, requestedTokens }: LlmFailure): LlmFailure {
  const figures = Object.entries({ status, retryAfterMs, limitTokens, requestedTokens }).filter(([, figure]) => Number.isFinite(figure))
  return { code, message, ...Object.fromEntries(figures) }
}
