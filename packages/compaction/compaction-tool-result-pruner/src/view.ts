/**
 * Views: what stands on the surface for text too long to stay there, its beginning and its end around a marker.
 *
 * Pure. The text of a content is that of its text blocks together, wherever other blocks stand between them; lengths are
 * code points of it, and none is ever split.
 *
 *     content   [ text ███████ ] [ image ] [ text ████ ] [ text ██████ ]
 *     view      [ text ███ [… 11 … 7 …] ] [ image ]      [ text    ███ ]
 */
import { textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import type { LogView, Seq, SurfaceEvent } from '@deepseek-ai/dsh-session'

/** How much a view keeps. Code points. */
export interface ViewSize {
  readonly headChars: number
  readonly tailChars: number
}

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/g
const MARKER = /\n\[… (\d+) characters left out here; event (\d+) of the session log holds the whole text …\]\n/g

function marker(leftOutChars: number, seq: Seq): string {
  return `\n[… ${leftOutChars} characters left out here; event ${seq} of the session log holds the whole text …]\n`
}

export function textChars(content: readonly ContentBlock[]): number {
  let chars = 0
  for (const block of content) if (block.type === 'text') chars += codePoints(block.text)
  return chars
}

/**
 * The view of a content that the event `seq` holds; null where nothing would be left out. Blocks without text keep place and
 * order, a text block left without any is dropped.
 */
export function viewOf(content: readonly ContentBlock[], { headChars, tailChars }: ViewSize, seq: Seq): readonly ContentBlock[] | null {
  const chars = textChars(content)
  const tailStart = chars - tailChars
  if (tailStart <= headChars) return null
  const view: ContentBlock[] = []
  let mark = marker(tailStart - headChars, seq)
  let before = 0
  for (const block of content) {
    if (block.type !== 'text') {
      view.push(block)
      continue
    }
    const { text } = block
    const own = codePoints(text)
    const end = before + own
    if (end <= headChars || before >= tailStart) {
      view.push(block)
    } else {
      const kept = headOf(text, headChars - before) + mark + tailOf(text, end - tailStart)
      if (kept !== '') view.push({ ...block, text: kept })
      mark = ''
    }
    before = end
  }
  return view
}

/** The same for a single text. */
export function cut(text: string, { headChars, tailChars }: ViewSize, seq: Seq): string | null {
  const leftOutChars = codePoints(text) - headChars - tailChars
  return leftOutChars <= 0 ? null : headOf(text, headChars) + marker(leftOutChars, seq) + tailOf(text, tailChars)
}

/**
 * The event that holds the whole text of an entry: the entry itself, or what it is a view of, through any number of views.
 *
 * A rewrite that is no view (somebody took a secret out, say) holds its own text: what it replaced is not brought back.
 */
export function originalOf<T extends SurfaceEvent>(log: Pick<LogView, 'at'>, event: T, isView = isViewOf): T {
  const { surfaceOp } = event
  if (surfaceOp === 'append' || surfaceOp.start !== surfaceOp.end) return event
  const replaced = log.at(surfaceOp.start)
  if (replaced.type !== event.type) return event
  const original = originalOf(log, replaced as T, isView)
  return isView(event.data.content, original.data.content, original.seq) ? original : event
}

function isViewOf(view: readonly ContentBlock[], content: readonly ContentBlock[], seq: Seq): boolean {
  return isCutOf(textOf(view), textOf(content), seq) && sameOthers(view, content)
}

/** Whether `text` shows beginning and end of `whole`, and its marker says so. */
export function isCutOf(text: string, whole: string, seq: Seq): boolean {
  for (const match of text.matchAll(MARKER)) {
    const [mark, leftOut, holder] = match
    const head = text.slice(0, match.index)
    const tail = text.slice(match.index + mark.length)
    if (Number(holder) !== seq || !whole.startsWith(head) || !whole.endsWith(tail)) continue
    const middle = whole.slice(head.length, whole.length - tail.length)
    // Not equal: where blocks meet, the halves of a pair are two characters apart and one together.
    if (Number(leftOut) >= codePoints(middle) && Number(leftOut) <= middle.length) return true
  }
  return false
}

function sameOthers(a: readonly ContentBlock[], b: readonly ContentBlock[]): boolean {
  const others = (content: readonly ContentBlock[]): string => JSON.stringify(content.filter(block => block.type !== 'text'))
  return others(a) === others(b)
}

function codePoints(text: string): number {
  return text.length - (text.match(PAIR)?.length ?? 0)
}

/** The first `chars` code points; none for a negative number. */
function headOf(text: string, chars: number): string {
  let index = 0
  for (let left = chars; left > 0 && index < text.length; left--) index += isPair(text, index) ? 2 : 1
  return text.slice(0, index)
}

/** The last `chars` code points; none for a negative number. */
function tailOf(text: string, chars: number): string {
  let index = text.length
  for (let left = chars; left > 0 && index > 0; left--) index -= isPair(text, index - 2) ? 2 : 1
  return text.slice(index)
}

function isPair(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00
}
