/**
 * Viewport: which lines of a long list of blocks are on the screen.
 *
 * Follows the end until it is scrolled up; then it stays with the line that is on top, whatever is added below. A frame costs
 * the blocks that are seen, not those that are there.
 */

/** A line by its block and its place in it; blank lines before a block count as its own. */
export interface Place {
  readonly index: number
  readonly line: number
}

export interface Lines {
  /** Blocks. */
  readonly length: number
  at(index: number): readonly string[]
}

export interface VisibleLine extends Place {
  readonly text: string
}

export class Viewport {
  /** The line on top; null while the end is followed. */
  private top: Place | null = null
  private height = 0

  get follows(): boolean {
    return this.top === null
  }

  follow(): void {
    this.top = null
  }

  /** The lines on a screen of `height` lines, fewer where there are no more. */
  visible(lines: Lines, height: number): VisibleLine[] {
    this.height = height
    const end = endTop(lines, height)
    if (this.top !== null && !isBefore(this.top, end)) this.top = null
    return forward(lines, this.top ?? end, height)
  }

  /** Moves by lines, up for a negative count; at the end it follows again. */
  scroll(lines: Lines, count: number): void {
    const end = endTop(lines, this.height)
    let top = this.top !== null && isBefore(this.top, end) ? this.top : end
    if (lines.length === 0) return
    for (let left = Math.abs(count); left > 0; left--) {
      const next = count < 0 ? lineBefore(lines, top) : lineAfter(lines, top)
      if (next === null) break
      top = next
    }
    this.top = isBefore(top, end) ? top : null
  }

  /** Sees to it that a block's beginning is seen. */
  reveal(lines: Lines, index: number): void {
    const seen = forward(lines, this.top ?? endTop(lines, this.height), this.height)
    const [first] = seen
    const last = seen.at(-1)
    if (first === undefined || last === undefined) return
    if (index < first.index || (index === first.index && first.line > 0)) this.top = { index, line: 0 }
    else if (index > last.index || !seen.some(line => line.index === index)) {
      this.top = { index, line: 0 }
      this.scroll(lines, -Math.floor(this.height / 2))
    }
  }
}

/** Where the top is when the last line is at the bottom. */
function endTop(lines: Lines, height: number): Place {
  let left = height
  for (let index = lines.length - 1; index >= 0; index--) {
    const { length } = lines.at(index)
    if (length >= left) return { index, line: length - left }
    left -= length
  }
  return { index: 0, line: 0 }
}

function forward(lines: Lines, from: Place, height: number): VisibleLine[] {
  const seen: VisibleLine[] = []
  for (let { index, line } = from; index < lines.length && seen.length < height; index++, line = 0) {
    const texts = lines.at(index)
    for (; line < texts.length && seen.length < height; line++) seen.push({ index, line, text: texts[line]! })
  }
  return seen
}

function lineBefore(lines: Lines, { index, line }: Place): Place | null {
  if (line > 0) return { index, line: Math.min(line, lines.at(index).length) - 1 }
  for (let before = index - 1; before >= 0; before--) {
    const { length } = lines.at(before)
    if (length > 0) return { index: before, line: length - 1 }
  }
  return null
}

function lineAfter(lines: Lines, { index, line }: Place): Place | null {
  if (line + 1 < lines.at(index).length) return { index, line: line + 1 }
  for (let after = index + 1; after < lines.length; after++) if (lines.at(after).length > 0) return { index: after, line: 0 }
  return null
}

function isBefore(one: Place, other: Place): boolean {
  return one.index < other.index || (one.index === other.index && one.line < other.line)
}
