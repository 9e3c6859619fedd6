/**
 * A transcript drawn as text, one line an item:
 *
 *     person: hello
 *     answer: {thinking} Let me look. | a read({"path":"x"}) → content | b read({}) → ! failed | c read({}) → ∅
 *     compaction from 2: the summary
 *
 * `∅` is a call without a result, `!` an error, `✂` an interrupted answer, `[image/png 2×3]` an image.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { AnswerItem, Transcript, TranscriptItem } from '../src/index.ts'

export function sketch(transcript: Transcript): string[] {
  return transcript.items.map(line)
}

/** What was counted, without its lines: `{ reason: count }`. */
export function skips(transcript: Transcript): Record<string, number> {
  return Object.fromEntries(transcript.skipped.map(({ reason, count }) => [reason, count]))
}

export function jsonl(...values: readonly unknown[]): string {
  return values.map(value => `${JSON.stringify(value)}\n`).join('')
}

function line(item: TranscriptItem): string {
  switch (item.kind) {
    case 'input':
      return `${item.from}: ${words(item.content)}`
    case 'answer':
      return answer(item)
    case 'compaction':
      return `compaction from ${item.keptFrom}: ${words(item.content)}`
  }
}

function answer(item: AnswerItem): string {
  const said = words(item.content.filter(block => block.type !== 'tool-call'))
  const calls = item.content.filter(block => block.type === 'tool-call')
  const called = calls.map(({ id, name, arguments: given }, slot) => ` | ${id} ${name}(${given}) → ${result(item, slot)}`)
  return `answer${item.interrupted === true ? ' ✂' : ''}: ${said}${called.join('')}`
}

function result(item: AnswerItem, slot: number): string {
  const recorded = item.results[slot]
  if (recorded === undefined || recorded === null) return '∅'
  return `${recorded.isError === true ? '! ' : ''}${words(recorded.content)}`
}

function words(content: readonly ContentBlock[]): string {
  return content.map(word).join(' ')
}

function word(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'reasoning':
      return `{${block.text}}`
    case 'image':
      return `[${block.mediaType}${block.width === undefined ? '' : ` ${block.width}×${block.height}`}${block.ref === undefined ? '' : ` ${block.ref}`}]`
    default:
      return `[${block.type}]`
  }
}
