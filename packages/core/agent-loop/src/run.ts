/**
 * A run: everything that one turn, with its retries, works with.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { messageOf, type LlmService } from '@deepseek-ai/dsh-llm'
import type { Session, Tell } from '@deepseek-ai/dsh-session'
import type { SystemPromptService } from '@deepseek-ai/dsh-system-prompt'
import type { ToolService } from '@deepseek-ai/dsh-tools'

export interface Run {
  readonly ctx: Context
  /** The context's own, held: `ctx.waterfall` costs microseconds more. */
  readonly events: Context['events']
  readonly tell: Tell
  readonly llm: LlmService
  readonly systemPrompt: SystemPromptService
  readonly tools: ToolService
  readonly agent: Agent
  readonly session: Session
  readonly signal: AbortSignal
  /** A request was refused here, unsent, because it plainly could not fit; from then on the provider has the last word. */
  refusedUnsent: boolean
}

/** Where in the session something happens; the head of most events. */
export interface At {
  readonly turn: number
  readonly step: number
}

/**
 * The outcome of a waterfall that stands between two parts of a step.
 *
 * @throws the signal's reason once the run is cancelled; else, naming the waterfall, what a listener threw.
 */
export async function middleware<T>({ signal }: Run, name: string, waterfall: () => Promise<T>): Promise<T> {
  try {
    const outcome = await waterfall()
    signal.throwIfAborted()
    return outcome
  } catch (error) {
    signal.throwIfAborted()
    throw new Error(`a listener of ${name} failed: ${messageOf(error)}`, { cause: error })
  }
}
