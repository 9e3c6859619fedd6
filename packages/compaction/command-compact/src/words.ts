/**
 * Words: a compaction, or why there was none, as one line for the person who asked.
 *
 * Pure.
 */
import type { CompactionResult, ManualCompactionError } from '@deepseek-ai/dsh-compaction'

export function resultText(result: CompactionResult | null): string {
  if (result === null) return 'Nothing to compact yet.'
  const { shadowedSeqs: { length }, shadowedTokens, checkpointTokens } = result
  return `Compacted ${count(length)} ${length === 1 ? 'entry' : 'entries'}: about ${count(shadowedTokens)} → ${count(checkpointTokens)} tokens.`
}

export function failureText({ code, reason, message }: ManualCompactionError): string {
  switch (code) {
    case 'busy':
      return reason === 'agent'
        ? 'The agent is working. Compact once it is idle.'
        : 'Another compaction of this conversation is running. Wait until it has ended.'
    case 'cancelled':
      return 'The compaction was cancelled. The conversation is as it was.'
    case 'changed':
      return 'The conversation changed while its summary was written, so nothing was compacted. Try again.'
    case 'summary':
      return `No summary that would help could be made (${message}). The conversation is as it was.`
    case 'commit':
      return `The compaction could not be written to the log (${message}). Reopen the session before you try again.`
    case 'persistence':
      return `The conversation was compacted, but that is not safely on disk yet (${message}).`
  }
}

function count(number: number): string {
  return number.toLocaleString('en-US')
}
