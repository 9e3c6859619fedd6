/**
 * Run lines: what a headless run does, in lines for whoever watches it.
 *
 * Pure.
 */
import { callsOf, textOf, type ToolCallBlock } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-compaction'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { compactTokens } from './chart.ts'

const MAX_LINE_CHARS = 120

export class RunLines {
  /** Of the newest answer; a call is told as it begins. */
  private readonly calls = new Map<string, ToolCallBlock>()

  /** The lines that an event is worth; most are worth none. The final answer is not among them: it is the result. */
  of(event: SessionEvent): string[] {
    switch (event.type) {
      case 'assistant/message': {
        const calls = callsOf(event.data.content)
        for (const call of calls) this.calls.set(call.id, call)
        const words = textOf(event.data.content).trim()
        return calls.length === 0 || words === '' ? [] : [words]
      }
      case 'tool/call': {
        const call = this.calls.get(event.data.callId)
        return call === undefined ? [] : [oneLine(`• ${call.name} ${call.arguments}`)]
      }
      case 'tool/result': {
        if (event.surfaceOp !== 'append') return []
        const call = this.calls.get(event.data.callId)
        this.calls.delete(event.data.callId)
        return event.data.isError === true ? [oneLine(`✗ ${call?.name ?? 'a call'}: ${textOf(event.data.content)}`)] : []
      }
      case 'compaction/start':
        return [`compacting the conversation (${event.data.trigger})`]
      case 'compaction/summary':
        return [`compacted ${event.data.shadowedSeqs.length} entries of about ${compactTokens(event.data.shadowedTokens)} tokens`]
      case 'compaction/end':
        return event.data.error === undefined ? [] : [oneLine(`✗ not compacted: ${event.data.error}`)]
      default:
        return []
    }
  }
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS - 1)}…`
}
