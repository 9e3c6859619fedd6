/**
 * Transcript: a span flattened to text, for a summarizer that cannot be sent the messages themselves.
 *
 * Pure. Labels stand at column 0 and everything else is indented, so no content can pass for a label:
 *
 *     user:
 *       Find the failing test.
 *     assistant:
 *       I look.
 *     [tool-call: bash({"command":"npm test"})]
 *     [tool-result:
 *       1 failing
 *     ]
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { escapeFrameTags } from './checkpoint.ts'
import type { DigestEntry } from './digest.ts'
import { clip, withoutPayloads } from './text.ts'

/** Reasoning is the first to be shortened, then results and arguments. Characters. */
const MAX_REASONING_CHARS = 400
const MAX_ARGUMENT_CHARS = 2_000
const MAX_RESULT_CHARS = 4_000

/** The text of one unit: what must stand in one chunk. */
export interface TranscriptPart {
  readonly entries: readonly DigestEntry[]
  readonly text: string
  readonly tokens: number
}

/** One part a unit, in order. A unit ends where every call before it has its result. */
export function transcriptParts(entries: readonly DigestEntry[], estimate: (text: string) => number): TranscriptPart[] {
  const parts: TranscriptPart[] = []
  let unit: DigestEntry[] = []
  let openCalls = 0
  for (const entry of entries) {
    unit.push(entry)
    for (const block of entry.message.content) {
      if (block.type === 'tool-call') openCalls += 1
      else if (block.type === 'tool-result') openCalls -= 1
    }
    if (openCalls > 0) continue
    parts.push(toPart(unit, estimate))
    unit = []
  }
  if (unit.length > 0) parts.push(toPart(unit, estimate))
  return parts
}

/** Consecutive parts in chunks of at most `chunkTokens`; a part larger than that is a chunk by itself, clipped to fit. */
export function transcriptChunks(parts: readonly TranscriptPart[], chunkTokens: number, estimate: (text: string) => number): TranscriptPart[] {
  const chunks: TranscriptPart[] = []
  let open: TranscriptPart[] = []
  let openTokens = 0
  const close = (): void => {
    if (open.length > 0) chunks.push({ entries: open.flatMap(part => part.entries), text: open.map(part => part.text).join('\n'), tokens: openTokens })
    open = []
    openTokens = 0
  }
  for (const part of parts) {
    if (openTokens + part.tokens > chunkTokens) close()
    const fitting = part.tokens > chunkTokens ? clipped(part, chunkTokens, estimate) : part
    open.push(fitting)
    openTokens += fitting.tokens
  }
  close()
  return chunks
}

function clipped(part: TranscriptPart, maxTokens: number, estimate: (text: string) => number): TranscriptPart {
  let { text, tokens } = part
  while (tokens > maxTokens && text !== '') {
    text = clip(part.text, Math.floor(text.length * Math.min(0.9, maxTokens / tokens)))
    tokens = estimate(text)
  }
  return { ...part, text, tokens }
}

function toPart(entries: readonly DigestEntry[], estimate: (text: string) => number): TranscriptPart {
  const text = entries.map(flatten).join('\n')
  return { entries, text, tokens: estimate(text) }
}

function flatten({ message, from }: DigestEntry): string {
  const label = { person: 'user:', context: 'context:', checkpoint: 'checkpoint:', assistant: 'assistant:', tool: null }[from]
  const lines: string[] = []
  // A label stands before every run of text; calls and results carry their own.
  let labelled = false
  for (const block of message.content) {
    const own = blockLine(block)
    if (own !== null) {
      lines.push(own)
      labelled = false
      continue
    }
    if (label !== null && !labelled) lines.push(label)
    labelled = true
    lines.push(indent(blockText(block)))
  }
  return lines.join('\n')
}

/** A block that stands under its own label; null for one that is text of its message. */
function blockLine(block: ContentBlock): string | null {
  switch (block.type) {
    case 'tool-call':
      return `[tool-call: ${oneLine(block.name)}(${clip(oneLine(block.arguments), MAX_ARGUMENT_CHARS)})]`
    case 'tool-result':
      return `[tool-result${block.isError ? ', failed' : ''}:\n${indent(clip(block.content.map(blockText).join('\n'), MAX_RESULT_CHARS))}\n]`
    default:
      return null
  }
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return withoutPayloads(block.text)
    case 'reasoning':
      return `[reasoning: ${clip(block.text, MAX_REASONING_CHARS)}]`
    case 'image':
      return block.width === undefined || block.height === undefined ? '[image]' : `[image ${block.width}×${block.height}]`
    default:
      return `[${block.type}: …]`
  }
}

function indent(text: string): string {
  return escapeFrameTags(text).replace(/^/gm, '  ').replaceAll('\r', '')
}

function oneLine(text: string): string {
  return escapeFrameTags(text).replace(/\s*[\r\n\u2028\u2029]\s*/g, ' ')
}
