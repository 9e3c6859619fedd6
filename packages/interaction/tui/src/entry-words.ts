/**
 * Entry words: one entry of the surface in a few words.
 *
 * Pure.
 */
import type { ContentBlock, ToolCallBlock } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, messageOfEvent, type LogView, type Seq, type SessionEvent } from '@deepseek-ai/dsh-session'
import { argumentsLine } from './call-words.ts'
import { oneLine } from './text.ts'

export function entryWords(log: LogView, seq: Seq): string {
  const event = log.at(seq)
  const message = isSurfaceEvent(event) ? messageOfEvent(event) : null
  return message === null ? 'nothing said' : `${message.role}: ${oneLine(contentWords(message.content))}`
}

function contentWords(content: readonly ContentBlock[]): string {
  return content
    .map(block => {
      switch (block.type) {
        case 'text':
          return block.text
        case 'reasoning':
          return ''
        case 'tool-call':
          return `[${block.name} ${argumentsLine(block.arguments)}]`
        case 'tool-result':
          return contentWords(block.content)
        default:
          return `[${block.type}]`
      }
    })
    .filter(words => words !== '')
    .join(' ')
}

/** The call that a result answers; null in a log that has none. */
export function callOfResult(log: LogView, { seq, data: { turn, step, callId } }: SessionEvent<'tool/result'>): ToolCallBlock | null {
  for (let before = seq - 1; before >= 0; before--) {
    const event = log.at(before)
    if (event.type === 'turn/start') return null
    if (event.type !== 'assistant/message' || event.data.turn !== turn || event.data.step !== step) continue
    const call = event.data.content.find(block => block.type === 'tool-call' && block.id === callId)
    if (call?.type === 'tool-call') return call
  }
  return null
}
