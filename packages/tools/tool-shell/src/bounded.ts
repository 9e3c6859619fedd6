/**
 * Bounded text: the beginning and the end of something that may be of any length.
 *
 *     whole   head │ omitted │ tail
 *
 * Pure. What is kept is whole lines, where lines are short enough for that, and always whole characters.
 */

export interface BoundedLimits {
  readonly headChars: number
  readonly tailChars: number
}

export interface Bounded {
  readonly head: string
  readonly tail: string
  /** Null when head and tail are all there was. Lines are counted by their ends. */
  readonly omitted: { readonly chars: number; readonly lines: number } | null
}

export class BoundedText {
  /** In UTF-16 code units, as all numbers of chars here. */
  chars = 0
  /** Line ends so far. */
  lines = 0
  private readonly limits: BoundedLimits
  private head = ''
  private tail = ''

  constructor(limits: BoundedLimits) {
    this.limits = limits
  }

  push(text: string): void {
    const { headChars, tailChars } = this.limits
    this.chars += text.length
    this.lines += lineEnds(text)
    const free = headChars - this.head.length
    this.head += text.slice(0, Math.max(0, free))
    this.tail += text.slice(Math.max(0, free))
    if (this.tail.length > 2 * tailChars && this.chars > headChars + tailChars) this.tail = lastChars(this.tail, tailChars)
  }

  /** Everything pushed so far; null once that is more than head and tail hold. */
  whole(): string | null {
    return this.chars <= this.limits.headChars + this.limits.tailChars ? this.head + this.tail : null
  }

  parts(): Bounded {
    const whole = this.whole()
    if (whole !== null) return { head: whole, tail: '', omitted: null }
    const head = beginning(this.head)
    const tail = ending(lastChars(this.tail, this.limits.tailChars))
    return {
      head,
      tail,
      omitted: { chars: this.chars - head.length - tail.length, lines: this.lines - lineEnds(head) - lineEnds(tail) },
    }
  }
}

/** Up to the last line end, if that keeps half of it; else up to the last whole character. */
function beginning(text: string): string {
  const end = text.lastIndexOf('\n') + 1
  if (end > 0 && end >= text.length / 2) return text.slice(0, end)
  return isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text
}

/** From after the first line end, if that keeps half of it; else from the first whole character. */
function ending(text: string): string {
  const start = text.indexOf('\n') + 1
  if (start > 0 && start <= text.length / 2) return text.slice(start)
  return isLowSurrogate(text.charCodeAt(0)) ? text.slice(1) : text
}

function lastChars(text: string, count: number): string {
  return text.slice(Math.max(0, text.length - count))
}

function lineEnds(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
