/**
 * Recordings and logs drawn as text.
 *
 * A recording: `u` a person's input, `x` context, `a` an answer, `c`, `cc` one with one or two calls and their results, `c?`
 * one whose last call has no result, `i` an interrupted answer, `K2` a compaction that kept the items from the second on
 * (counted from 0), `K` one that kept none.
 *
 * A log: `[` a turn begins, `]` it completes, `!` it is aborted, `*` it fails; the entries as they were appended: `u`, `x`,
 * `a`, `i`, `r` a result, `?` one that is not known, `g` the replay's own prompt, `K` a checkpoint.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import type { Transcript, TranscriptItem } from '@deepseek-ai/dsh-transcript'

/** `textOf` gives an item's words by its index; short ones by default. */
export function recording(picture: string, textOf: (index: number) => string = index => `item ${index}`): Transcript {
  const items = picture.split(' ').map((word, index) => itemOf(word, index, textOf(index)))
  return { format: 'openai-chat', model: 'drawn', items, skipped: [] }
}

function itemOf(word: string, index: number, text: string): TranscriptItem {
  const content = [{ type: 'text', text } as const]
  const line = index + 1
  const [, kind, count] = /^([uxai]|c+\??|K)(\d*)$/.exec(word) ?? []
  switch (kind) {
    case 'u':
    case 'x':
      return { kind: 'input', from: kind === 'u' ? 'person' : 'context', content, line }
    case 'a':
      return { kind: 'answer', content, results: [], finish: 'stop', line }
    case 'i':
      return { kind: 'answer', content, results: [], finish: 'other', interrupted: true, line }
    case 'K':
      return { kind: 'compaction', content, keptFrom: count === '' ? index : Number(count), line }
    case undefined:
      throw new SyntaxError(`not an item: ${word}`)
  }
  const calls = [...kind].filter(sign => sign === 'c').map((_, place) => ({
    type: 'tool-call' as const,
    id: `call-${index}-${place}`,
    name: 'look',
    arguments: JSON.stringify({ at: index }),
  }))
  const results = calls.map((_, place) =>
    kind.endsWith('?') && place === calls.length - 1 ? null : { content: [{ type: 'text' as const, text: `result ${index}.${place}: ${text}` }] })
  return { kind: 'answer', content: [...content, ...calls], results, finish: 'tool-calls', line }
}

export function drawLog(events: Iterable<SessionEvent>): string {
  let drawn = ''
  for (const event of events) drawn += signOf(event)
  return drawn
}

function signOf(event: SessionEvent): string {
  switch (event.type) {
    case 'turn/start':
      return '['
    case 'turn/end':
      return event.data.reason === 'completed' ? ']' : event.data.reason === 'aborted' ? '!' : '*'
    case 'user/message': {
      const { source } = event.data
      if (isCompactCheckpointSource(source)) return 'K'
      return { user: 'u', context: 'x', replay: 'g' }[source.kind] ?? source.kind
    }
    case 'assistant/message':
      return event.data.interrupted === true ? 'i' : 'a'
    case 'tool/result':
      return event.data.error?.code === 'TOOL_OUTCOME_UNKNOWN' ? '?' : 'r'
    default:
      return ''
  }
}
