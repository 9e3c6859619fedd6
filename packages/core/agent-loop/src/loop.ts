/**
 * The loop: a turn answers waking input, a step is one model request and the tools it calls.
 *
 *     turn/start
 *       input enters (agent/pre-step) · step/start · request · assistant/message · tool/call, tool/result … · step/end
 *       … the same again while there are results or steering to go on with
 *     turn/end                       a failed request that is to be retried opens the next turn at once
 */
import { callsOf } from '@deepseek-ai/dsh-llm'
import { hasSteering } from '@deepseek-ai/dsh-agent'
import { lastTurn } from '@deepseek-ai/dsh-session'
import { runCalls } from './calls.ts'
import { completed, cutShort, recover, type TurnOutcome } from './ending.ts'
import { takeInput } from './input.ts'
import { request } from './request.ts'
import type { Run } from './run.ts'

/** One turn, and the turns that retry it. Rejects only when the log refuses to end one. */
export async function runTurn(run: Run): Promise<void> {
  const { session } = run
  let retry = false
  do {
    const turn = lastTurn(session) + 1
    session.append('turn/start', { turn, ...(retry ? { retry } : {}) })
    const { end, retried }: TurnOutcome = await runSteps(run, turn, retry).catch((error: unknown) => cutShort(run, error))
    session.append('turn/end', { turn, ...end })
    retry = retried
  } while (retry)
}

/** Throws the signal's reason on a cancel, and what a listener or the log threw; a step may be open then. */
async function runSteps(run: Run, turn: number, retry: boolean): Promise<TurnOutcome> {
  const { session, signal } = run
  for (let step = 1; ; step++) {
    signal.throwIfAborted()
    const at = { turn, step }
    const opens = step === 1 && !retry
    const envelope = { system: run.systemPrompt.assemble(session), tools: run.tools.schemas() }

    const entered = await takeInput(run, at, opens)
    if (entered === 'rejected') return { end: { reason: 'blocked' }, retried: false }
    if (opens && entered === 0) return completed

    session.append('step/start', at)
    const answer = await request(run, at, envelope)
    if ('failure' in answer) {
      session.append('step/end', at)
      return recover(run, at, answer)
    }
    const calls = callsOf(answer.content)
    if (calls.length > 0) await runCalls(run, at, calls)
    session.append('step/end', at)
    signal.throwIfAborted()

    if (answer.finish === 'max-tokens') return { end: { reason: 'max-tokens' }, retried: false }
    if (calls.length === 0 && !hasSteering(session)) return completed
  }
}
