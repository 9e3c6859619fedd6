/**
 * Text: foreign words made safe for a terminal, and made to fit.
 *
 * Pure. What a model, a tool or a file says may hold anything; only what `clean` returns is ever drawn.
 */
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'

export { visibleWidth }

/** Escape sequences, whole: CSI, OSC, the string kinds, and the short ones; those that were cut off as well. */
// oxlint-disable-next-line no-control-regex
const SEQUENCES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[PX^_][^\u001b\u009c]*(?:\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g
/** C0 but for the line feed, DEL and C1. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g
/** Characters that turn the direction of text around them or are not seen at all; the joiners of emoji are neither. */
const INVISIBLE = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g
const TAB_COLUMNS = 4

/** Lines of text without anything that a terminal would act on. */
export function clean(text: string): string {
  const lines = text.toWellFormed().replace(SEQUENCES, '').replace(/[\u2028\u2029]/g, '\n')
  return (/[\r\t]/.test(lines) ? lines.split('\n').map(settled).join('\n') : lines).replace(CONTROLS, '�').replace(INVISIBLE, '')
}

/** What a line shows in the end: what a progress bar wrote last, and tabs up to their stops. */
function settled(line: string): string {
  let end = line.length
  while (line[end - 1] === '\r') end -= 1
  const written = line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
  return written.includes('\t') ? written.split('\t').map((part, index, { length }) => (index === length - 1 ? part : part + tabAfter(part))).join('') : written
}

/** Counted in characters from the tab before, so that columns of ASCII stay columns. */
function tabAfter(part: string): string {
  return ' '.repeat(TAB_COLUMNS - (part.length % TAB_COLUMNS))
}

/** No screen is wider, and no glance takes in more. */
const MAX_LINE_CHARS = 1_000

/** Clean, and on one line; the beginning of what is too long for any. */
export function oneLine(text: string): string {
  return clean(text.slice(0, MAX_LINE_CHARS)).replace(/\s+/g, ' ').trim()
}

/** At most `width` columns, an ellipsis for what is left out. Styles are kept. */
export function fit(line: string, width: number): string {
  if (visibleWidth(line) <= width) return line
  return truncateToWidth(line, width, width > 1 ? '…' : '')
}

/** Exactly `width` columns. */
export function pad(line: string, width: number): string {
  const fitted = fit(line, width)
  return fitted + ' '.repeat(Math.max(0, width - visibleWidth(fitted)))
}

/** Clean text in lines of at most `width` columns; styles go on over the breaks. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => (visibleWidth(line) <= width ? [line] : wrapTextWithAnsi(line, Math.max(1, width)).map(part => fit(part, width))))
}

/** `first` before the first line, as many spaces before the others. */
export function hang(first: string, lines: readonly string[]): string[] {
  const indent = ' '.repeat(visibleWidth(first))
  return lines.map((line, index) => (index === 0 ? first : indent) + line)
}

/** `left` and `right` at the two ends of a line; where both do not fit, `right` gives way first. */
export function ends(left: string, right: string, width: number): string {
  const gap = width - visibleWidth(left) - visibleWidth(right)
  return gap >= 2 ? left + ' '.repeat(gap) + right : fit(left, width)
}

/** As shown, without styles. */
export function plain(line: string): string {
  return line.replace(SEQUENCES, '')
}
