/**
 * A terminal without a screen: keys are pressed by a program, and what is written is kept as the lines that one would show.
 */
import type { Terminal } from '@earendil-works/pi-tui'

/** Cursor moves, line clearing and words: all that a differential renderer on a second screen writes. */
// oxlint-disable-next-line no-control-regex
const TOKENS = /\u001b\[(\??[\d;]*)([A-Za-z])|\u001b\][^\u0007]*\u0007|\u001b_[^\u0007]*\u0007|\r|\n|[^\u001b\r\n]+/g

export class HeadlessTerminal implements Terminal {
  columns: number
  rows: number
  readonly kittyProtocolActive = false
  /** Everything written, in order. */
  readonly writes: string[] = []
  onWrite: () => void = () => {}
  private input: (data: string) => void = () => {}
  private resized: () => void = () => {}
  /** What each row was last given, styles and all. */
  private screen: string[] = []
  private row = 0

  constructor(columns = 80, rows = 24) {
    this.columns = columns
    this.rows = rows
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    this.input = onInput
    this.resized = onResize
  }

  stop(): void {}
  async drainInput(): Promise<void> {}

  press(...keys: readonly string[]): void {
    for (const key of keys) this.input(key)
  }

  type(words: string): void {
    this.press(...words)
  }

  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.resized()
  }

  write(data: string): void {
    this.writes.push(data)
    for (const [token, argument = '', final] of data.matchAll(TOKENS)) {
      if (token === '\n') this.row = Math.min(this.rows - 1, this.row + 1)
      else if (final === 'A') this.row = Math.max(0, this.row - Number(argument))
      else if (final === 'B') this.row = Math.min(this.rows - 1, this.row + Number(argument))
      else if (final === 'H') this.row = 0
      else if (final === 'J') this.screen = []
      else if (final === 'K') this.screen[this.row] = ''
      else if (final === undefined && !token.startsWith('\u001b') && token !== '\r') this.screen[this.row] = (this.screen[this.row] ?? '') + token
    }
    this.onWrite()
  }

  /** The rows as a person reads them. */
  text(): string {
    return Array.from({ length: this.rows }, (_, row) => (this.screen[row] ?? '').trimEnd()).join('\n')
  }

  moveBy(): void {}
  hideCursor(): void {}
  showCursor(): void {}
  clearLine(): void {}
  clearFromCursor(): void {}
  clearScreen(): void {}
  setTitle(): void {}
  setProgress(): void {}
}
