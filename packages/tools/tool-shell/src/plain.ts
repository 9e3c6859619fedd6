/**
 * Plain text: what a terminal would be left showing of a program's output, for a reader that has no terminal.
 *
 * Pure. Escape sequences and other controls go; of a line that is written over (`10%\r20%\r…`) the last state stays. Text comes
 * out by lines, because a line can be written over until it ends.
 */

/** A line that grows longer is no progress display: it is passed on before its end. */
const MAX_HELD_CHARS = 16_384
/** What claims to be an escape sequence for longer is none. */
const MAX_ESCAPE_CHARS = 4_096

// oxlint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-OQ-WYZ\\`-~])/g
// oxlint-disable-next-line no-control-regex
const OPEN_ESCAPE = /\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$/
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g
// oxlint-disable-next-line no-control-regex
const PLAIN = /^[^\x00-\x08\x0b-\x1f\x7f]*$/

export class PlainText {
  /** The line that has not ended, without complete escape sequences. */
  private line = ''
  /** An escape sequence that has not ended. */
  private escape = ''

  /** What can be shown for good now. */
  push(chunk: string): string {
    let text = this.escape + chunk
    this.escape = ''
    if (!PLAIN.test(text)) {
      const open = OPEN_ESCAPE.exec(text)
      if (open !== null && text.length - open.index <= MAX_ESCAPE_CHARS) {
        this.escape = text.slice(open.index)
        text = text.slice(0, open.index)
      }
      text = text.replace(ESCAPES, '')
    }
    text = this.line + text
    const end = text.lastIndexOf('\n') + 1
    this.line = text.slice(end)
    let shown = settled(text.slice(0, end))
    if (this.line.length > MAX_HELD_CHARS) {
      const line = this.line.replace(/\r+$/, '')
      this.line = this.line.slice(line.length)
      shown += settled(line)
    }
    return shown
  }

  /** The rest. */
  end(): string {
    const rest = settled(this.line)
    this.line = ''
    this.escape = ''
    return rest
  }
}

function settled(text: string): string {
  return PLAIN.test(text) ? text : text.split('\n').map(settledLine).join('\n')
}

function settledLine(line: string): string {
  if (PLAIN.test(line)) return line
  const ended = line.replace(/\r+$/, '')
  return rubbedOut(ended.slice(ended.lastIndexOf('\r') + 1)).replace(CONTROLS, '')
}

/** Without what backspaces went back over. */
function rubbedOut(line: string): string {
  if (!line.includes('\b')) return line
  const kept: string[] = []
  for (const char of line) {
    if (char === '\b') kept.pop()
    else kept.push(char)
  }
  return kept.join('')
}
