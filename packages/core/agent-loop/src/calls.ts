/**
 * Calls: the tools of one answer, run and answered in the model's order.
 *
 * A batch is what starts together: neighbouring calls of parallel tools, or one call of any other. `tool/call` is durable
 * before its tool runs, so that after a power loss "not started" is never said of a call that was.
 */
import type { ToolCallBlock } from '@deepseek-ai/dsh-llm'
import type { ToolOutcome, ToolService } from '@deepseek-ai/dsh-tools'
import type { At, Run } from './run.ts'

/** Calls that run at the same time, at most. */
const MAX_PARALLEL_CALLS = 16

/** Leaves every call answered, also when the run is cancelled meanwhile. Rejects only when the log does not take an event. */
export async function runCalls(run: Run, at: At, calls: readonly ToolCallBlock[]): Promise<void> {
  const { session, tools, signal } = run
  for (const batch of batchesOf(calls, tools)) {
    if (signal.aborted) {
      for (const call of batch) logResult(run, at, call, NOT_RUN)
      continue
    }
    for (const { id } of batch) session.append('tool/call', { ...at, callId: id })
    await session.flush()
    const running = batch.map(call => tools.execute(call, { signal, session }))
    for (const [index, call] of batch.entries()) logResult(run, at, call, await running[index]!)
  }
}

/** The answer to a call that no tool was asked to run. */
export const NOT_RUN: ToolOutcome = {
  content: [{ type: 'text', text: 'The turn ended before this call was run.' }],
  isError: true,
  error: { name: 'AbortError', code: 'ABORTED' },
}

/** A result that is no plain JSON is answered for, not lost: its call must not stay open because its tool misbehaved. */
export function logResult({ session }: Run, at: At, { id }: ToolCallBlock, outcome: ToolOutcome): void {
  const append = ({ content, isError, error, meta }: ToolOutcome) => {
    const verdict = { ...(isError && { isError }), ...(error && { error }), ...(meta && { meta }) }
    session.append('tool/result', { ...at, callId: id, content, ...verdict }, { surfaceOp: 'append' })
  }
  try {
    append(outcome)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    append({
      content: [{ type: 'text', text: `The tool returned something that cannot be kept: ${error.message}` }],
      isError: true,
      error: { name: 'ToolError', code: 'TOOL_RESULT_INVALID' },
    })
  }
}

function* batchesOf(calls: readonly ToolCallBlock[], tools: ToolService): Generator<ToolCallBlock[]> {
  let batch: ToolCallBlock[] = []
  let parallel = false
  for (const call of calls) {
    const joins = tools.isParallel(call.name)
    if (batch.length > 0 && !(parallel && joins && batch.length < MAX_PARALLEL_CALLS)) {
      yield batch
      batch = []
    }
    batch.push(call)
    parallel = joins
  }
  if (batch.length > 0) yield batch
}
