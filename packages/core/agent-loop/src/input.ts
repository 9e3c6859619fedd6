/**
 * Input: from the inbox, through `agent/pre-step`, onto the surface.
 */
import { hasSteering, isPending, nextInput, type PreStepEvent, type PreStepResult, type StepInput } from '@deepseek-ai/dsh-agent'
import type { InboxItem } from '@deepseek-ai/dsh-session'
import { middleware, type At, type Run } from './run.ts'

/**
 * Claims what joins this step and lets it enter; steering that arrives meanwhile gets one more pass, after what entered in the
 * first. What a listener leaves out, or rejects, is withdrawn. A throw leaves in the inbox what has not entered.
 *
 * Returns how many messages entered.
 */
export async function takeInput(run: Run, at: At, opensTurn: boolean): Promise<number | 'rejected'> {
  const { events, agent, session, signal } = run
  let entered = 0
  for (let pass = 1; pass <= 2; pass++) {
    const claimed = nextInput(session, opensTurn && pass === 1)
    const event: PreStepEvent = { agent, ...at, messages: claimed.map(messageOfInput), signal }
    const result = await middleware<PreStepResult>(run, 'agent/pre-step', () =>
      events.waterfall('agent/pre-step', event, async () => ({ kind: 'enter', messages: event.messages })))
    if (result.kind === 'enter') entered += enter(run, result.messages)
    withdrawPending(run, claimed)
    if (result.kind === 'reject') return 'rejected'
    if (!hasSteering(session)) break
  }
  return entered
}

function messageOfInput({ inputId, content, source }: InboxItem): StepInput {
  return { content, source: { ...source, inputId } }
}

/** Accepted input enters once, and not when it was withdrawn while the listeners had it. */
function enter({ session }: Run, messages: readonly StepInput[]): number {
  let entered = 0
  for (const { content, source } of messages) {
    if (source.inputId !== undefined && !isPending(session, source.inputId)) continue
    session.append('user/message', { content, source }, { surfaceOp: 'append' })
    entered += 1
  }
  return entered
}

function withdrawPending({ session }: Run, claimed: readonly InboxItem[]): void {
  const removed = claimed.map(({ inputId }) => inputId).filter(inputId => isPending(session, inputId))
  if (removed.length > 0) session.append('inbox/spliced', { removed })
}
