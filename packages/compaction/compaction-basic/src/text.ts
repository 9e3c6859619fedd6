/**
 * Words of a conversation, made fit for digests, pins and transcripts: bounded, without payloads, whole characters.
 *
 * Pure. Lengths are UTF-16 units; a surrogate pair is never parted.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'

const LEFT_OUT = / ?\[… (\d+) characters left out …\] ?/g

/**
 * At most `maxChars` of `text`: its head, a marker that says how much is missing, its tail. Clipping a clipped text adds
 * up what both left out. Below the marker's own length nothing but the head is kept.
 */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const room = maxChars - ' [… 000000000 characters left out …] '.length
  if (room <= 0) return text.slice(0, wholeEnd(text, Math.max(0, maxChars)))
  const headEnd = wholeEnd(text, Math.ceil((room * 2) / 3))
  const tailStart = wholeStart(text, text.length - Math.floor(room / 3))
  const removed = text.slice(headEnd, tailStart)
  let leftOut = removed.length
  for (const [marker, count] of removed.matchAll(LEFT_OUT)) leftOut += Number(count) - marker.length
  return `${text.slice(0, headEnd)} [… ${leftOut} characters left out …] ${text.slice(tailStart)}`
}

/**
 * `text` on one line; the breaks stay visible, because in a shell command they mean something. Free of ` → `, which parts
 * an item from its outcome.
 */
export function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ⏎ ').replace(/\s+/g, ' ').replaceAll(' → ', ' -> ')
}

/** What a person or model reads in these blocks, without encoded bytes. */
export function visibleText(content: readonly ContentBlock[]): string {
  return withoutPayloads(plainText(content))
}

/** Text as it stands, an image by its size, any other block by its type; reasoning and calls are not said to anybody. */
export function plainText(content: readonly ContentBlock[]): string {
  const parts: string[] = []
  for (const block of content) {
    if (block.type === 'text') parts.push(block.text)
    else if (block.type === 'image') parts.push(block.width && block.height ? `[image ${block.width}×${block.height}]` : '[image]')
    else if (block.type === 'tool-result') parts.push(plainText(block.content))
    else if (block.type !== 'reasoning' && block.type !== 'tool-call') parts.push(`[${(block as { type: string }).type}]`)
  }
  return parts.join('\n').replace(/\r\n?/g, '\n').trim()
}

/** Encoded bytes tell a reader nothing: data URLs and long base64 runs become a mention. */
export function withoutPayloads(text: string): string {
  if (text.length < 100) return text
  return text
    .replace(/data:([\w.+/-]+);base64,[A-Za-z0-9+/=]+/g, '[$1 data]')
    .replace(/[A-Za-z0-9+/]{200,}={0,2}/g, run =>
      /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run) ? `[${run.length} characters of encoded data]` : run)
}

const STANDING = new RegExp(
  '\\b(?:always|never|must|mustn[\'’]t|(?<!\\b(?:I|we|you|they) )(?:don[\'’]t|do not)|(?:don[\'’]t|do not) want|make sure|be sure|ensure|avoid|prefer|from now on|only use|should not|shouldn[\'’]t)\\b'
  + '|必须|(?<!要)不要|不能|不许|禁止|务必|始终|总是|永远|一定要|请勿|切勿|以后都|必ず|常に|決して|禁止|しないで|ないでください|てはいけない|항상|반드시|절대|하지 ?마', 'i')

const MAX_STANDING_SENTENCES = 12
const MAX_SENTENCE_CHARS = 300

/**
 * The sentences in which a person states a rule ("always…", "never…", "不要…"), verbatim. Fenced code and quoted output
 * are no rules, questions neither. At most twelve a message, each of at most 300 characters: what is longer is a document, not a rule.
 */
export function standingSentences(text: string): string[] {
  const found: string[] = []
  const prose = text.replace(/```[\s\S]*?(?:```|$)/g, '\n')
  for (const line of prose.split('\n')) {
    if (/^\s*[>|$]/.test(line)) continue
    for (const sentence of line.split(/(?<=[.!?])\s+|(?<=[。！？])/)) {
      const rule = sentence.trim().replace(/^(?:[-*•]|\d+[.)])\s+/, '')
      if (rule.length > MAX_SENTENCE_CHARS || rule.length < 4 || /[?？]$/.test(rule) || !STANDING.test(rule)) continue
      found.push(rule)
      if (found.length === MAX_STANDING_SENTENCES) return found
    }
  }
  return found
}

/** Markdown checkboxes, open and ticked, in order. */
export function checkboxes(text: string): { text: string; done: boolean }[] {
  const boxes: { text: string; done: boolean }[] = []
  for (const [, tick, words] of text.matchAll(/^[ \t]*[-*+] \[([ xX])\] +(\S.*)$/gm)) {
    boxes.push({ text: oneLine(words!), done: tick !== ' ' })
  }
  return boxes
}

function wholeEnd(text: string, end: number): number {
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end
}

function wholeStart(text: string, start: number): number {
  return isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
