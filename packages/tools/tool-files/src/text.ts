/**
 * Text: what a model sees of a file, and how what it writes gets back into it.
 *
 *     file   BOM  a \r\n b \n          view   a \n b \n
 *
 * Pure. A view has no byte order mark and one kind of line end. A change touches what it names: every other character of the
 * file stays as it was, line ends of another kind included.
 */

const BOM = '\uFEFF'

export interface TextFile {
  readonly bom: boolean
  /** Everything after the byte order mark. */
  readonly raw: string
}

/** Null for bytes that are no UTF-8 text. */
export function decodeText(bytes: Uint8Array): TextFile | null {
  if (bytes.includes(0)) return null
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const bom = text.startsWith(BOM)
    return { bom, raw: bom ? text.slice(1) : text }
  } catch {
    return null
  }
}

export function encodeText({ bom, raw }: TextFile): Buffer {
  return Buffer.from(bom ? BOM + raw : raw)
}

export function viewOf(raw: string): string {
  return raw.replaceAll('\r\n', '\n')
}

/** `raw` with the span from `start` to `end` of its view replaced by `text`, whose line ends become those of its surroundings. */
export function replaceInView(raw: string, start: number, end: number, text: string): string {
  const from = rawIndex(raw, 0, start)
  const to = rawIndex(raw, from, end - start)
  return raw.slice(0, from) + withLineEnds(text, lineEndAt(raw, from)) + raw.slice(to)
}

/** `text` in the place of a whole file: it gets the line ends of what was there, unless it brings its own. */
export function replaceAll(old: TextFile, text: string): TextFile {
  return { bom: old.bom, raw: text.includes('\r\n') ? text : withLineEnds(text, lineEndAt(old.raw, 0)) }
}

/** Where the view's character `offset` after the one at `from` is: a line end begins with its `\r`. */
function rawIndex(raw: string, from: number, offset: number): number {
  let at = from + offset
  for (let end = raw.indexOf('\r\n', from); end >= 0 && end < at; end = raw.indexOf('\r\n', end + 2)) at += 1
  return at
}

/** That of the line that holds the character, else of the one before it. */
function lineEndAt(raw: string, at: number): '\n' | '\r\n' {
  const next = raw.indexOf('\n', at)
  const end = next >= 0 ? next : raw.lastIndexOf('\n', at)
  return end > 0 && raw[end - 1] === '\r' ? '\r\n' : '\n'
}

function withLineEnds(text: string, lineEnd: '\n' | '\r\n'): string {
  const view = viewOf(text)
  return lineEnd === '\n' ? view : view.replaceAll('\n', '\r\n')
}

/** Lines with their ends; the last may have none. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

export function lineCount(lines: number): string {
  return lines === 1 ? '1 line' : `${lines} lines`
}
