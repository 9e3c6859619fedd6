/**
 * Views of answers: each long text of one, its words and the strings in the arguments of its calls, by beginning and end.
 *
 * Pure. Reasoning stays, since providers want it back as it was; so do arguments that are no JSON. What is cut is a text by
 * itself and not all texts together, so that a call keeps its short arguments whatever the long one is.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { Seq } from '@deepseek-ai/dsh-session'
import { cut, isCutOf, type ViewSize } from './view.ts'

/** Every text of at most `keptChars` beyond what a marker takes stays; of the others so much is kept. */
export function answerViewOf(content: readonly ContentBlock[], keptChars: number, { headChars, tailChars }: ViewSize, seq: Seq): readonly ContentBlock[] {
  const tail = Math.floor((keptChars * tailChars) / (headChars + tailChars))
  return mapTexts(content, text => (text.length <= keptChars + MARKER_CHARS ? text : (cut(text, { headChars: keptChars - tail, tailChars: tail }, seq) ?? text)))
}

/** More than any marker is long: a text that would hardly become shorter is left alone. */
const MARKER_CHARS = 120

export function longestText(content: readonly ContentBlock[]): number {
  return Math.max(0, ...textsOf(content).map(text => text.length))
}

export function isAnswerViewOf(view: readonly ContentBlock[], content: readonly ContentBlock[], seq: Seq): boolean {
  const frame = (blocks: readonly ContentBlock[]): string => JSON.stringify(mapTexts(blocks, () => ''))
  if (frame(view) !== frame(content)) return false
  const whole = textsOf(content)
  return textsOf(view).every((text, index) => text === whole[index] || isCutOf(text, whole[index]!, seq))
}

function textsOf(content: readonly ContentBlock[]): string[] {
  const texts: string[] = []
  mapTexts(content, text => {
    texts.push(text)
    return text
  })
  return texts
}

/** A block of which nothing changes is the same object. */
function mapTexts(content: readonly ContentBlock[], map: (text: string) => string): readonly ContentBlock[] {
  return content.map(block => {
    if (block.type === 'text') {
      const text = map(block.text)
      return text === block.text ? block : { ...block, text }
    }
    if (block.type !== 'tool-call') return block
    const parsed = parse(block.arguments)
    const mapped = mapStrings(parsed, map)
    return mapped === parsed ? block : { ...block, arguments: JSON.stringify(mapped) }
  })
}

/** Undefined for what is no JSON, which JSON itself never is. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The strings of a value, keys apart; the value itself where none changes. */
function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, part]) => [key, part, mapStrings(part, map)] as const)
  if (entries.every(([, part, mapped]) => part === mapped)) return value
  return Array.isArray(value) ? entries.map(([, , mapped]) => mapped) : Object.fromEntries(entries.map(([key, , mapped]) => [key, mapped]))
}
