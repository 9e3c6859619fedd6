/**
 * Recorded tools: every tool a recording calls, answering with what was answered then.
 *
 * Pure.
 */
import { callsOf } from '@deepseek-ai/dsh-llm'
import type { Tool, ToolOutcome } from '@deepseek-ai/dsh-tools'
import type { RecordedResult, Transcript } from '@deepseek-ai/dsh-transcript'
import { z } from 'zod'

/** Null where the recording has no result; undefined for a call that it does not know. */
export type ResultLookup = (callId: string) => RecordedResult | null | undefined

/**
 * One for each schema of the recording, then one with an open schema for each name that is only called. A model is shown the
 * recorded schema, but nothing is held to it: what was called then was answered then.
 */
export function recordedTools({ tools = [], items }: Transcript, resultOf: ResultLookup): Tool[] {
  const schemas = new Map(tools.map(tool => [tool.name, tool]))
  for (const item of items) {
    if (item.kind !== 'answer') continue
    for (const { name } of callsOf(item.content)) {
      if (!schemas.has(name)) schemas.set(name, { name, parameters: { type: 'object' } })
    }
  }
  return [...schemas.values()].map(({ name, description, parameters }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    parameters: z.unknown().meta(parameters),
    parallel: true,
    execute: (_args, { callId }) => outcomeOf(resultOf(callId)),
  }))
}

function outcomeOf(result: RecordedResult | null | undefined): ToolOutcome {
  if (result === undefined) throw new Error('the recording has no such call')
  return result ?? OUTCOME_UNKNOWN
}

const OUTCOME_UNKNOWN: ToolOutcome = {
  content: [{ type: 'text', text: 'The recording has no result of this call; whether it took effect is not known.' }],
  isError: true,
  error: { name: 'Interrupted', code: 'TOOL_OUTCOME_UNKNOWN' },
}
