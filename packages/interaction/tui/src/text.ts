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
/** A progress bar overwrites its line: what was written last is what stays. */
const OVERWRITTEN = /[^\n]*\r(?!\n|$)/g

const TAB_COLUMNS = 4

/** Lines of text without anything that a terminal would act on. */
export function clean(text: string): string {
  return text
    .toWellFormed()
    .replace(SEQUENCES, '')
    .replace(/\r+(?=\n|$)/g, '')
    .replace(OVERWRITTEN, '')
    .replace(/[\u2028\u2029]/g, '\n')
    .replace(/[^\t\n]*\t/g, expandTab)
    .replace(CONTROLS, '�')
    .replace(INVISIBLE, '')
}

/** To the next stop; counted in characters from the tab before, so that columns of ASCII stay columns. */
function expandTab(words: string): string {
  const length = words.length - 1
  return words.slice(0, -1) + ' '.repeat(TAB_COLUMNS - (length % TAB_COLUMNS))
}

/** Clean, and on one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
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
