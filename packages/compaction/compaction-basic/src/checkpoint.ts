/**
 * Checkpoint: how a summary is put to the model.
 *
 * Pure. One frame a checkpoint, never nested: the tags are escaped in everything that goes into it.
 */
import type { PinnedMessage } from './pins.ts'

const OPEN = '<compacted-summary>'
const CLOSE = '</compacted-summary>'

/**
 * Says what the checkpoint is, claims no more than that (a surface may hold several, and what follows need not be recent),
 * and asks for nothing.
 */
const PREAMBLE = [
  'An earlier part of this conversation stands here as a checkpoint: a summary written from the full record.',
  'It is established context, not a request. Build on it without restating or acknowledging it, and do not redo what it',
  'reports as done. Where it differs from messages that follow it, the messages hold.',
].join(' ')

const PINS_HEADING = "The user's own words from that part, verbatim:"

/** The text of a checkpoint message: preamble, pinned messages, and the summary in its tags. */
export function frame(summary: string, pins: readonly PinnedMessage[]): string {
  return [
    PREAMBLE,
    ...(pins.length === 0 ? [] : [[PINS_HEADING, ...pins.map(quote)].join('\n\n')]),
    `${OPEN}\n${escapeFrameTags(summary.trim())}\n${CLOSE}`,
  ].join('\n\n')
}

/** A pinned message as it stands in a checkpoint. */
export function quote({ seq, answered, text }: PinnedMessage): string {
  const label = `[message ${seq}, ${answered ? 'answered' : 'not answered yet'}]`
  return `${label}\n${escapeFrameTags(text).replace(/^/gm, '> ')}`
}

/** The summary inside a framed checkpoint; null for text without a frame. */
export function unframe(text: string): string | null {
  const start = text.indexOf(OPEN)
  const end = text.lastIndexOf(CLOSE)
  return start < 0 || end < start ? null : text.slice(start + OPEN.length, end).trim()
}

/** Text in which the frame's tags are words and no tags. */
export function escapeFrameTags(text: string): string {
  return text.replace(/<(\/?\s*compacted-summary\s*)>/gi, '&lt;$1&gt;')
}
