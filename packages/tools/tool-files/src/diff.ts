/**
 * Diff: two texts as a unified diff.
 *
 * Pure. Lines that both begin or end with are put aside; between them, the fewest changes are looked for as long as they are few
 * (Myers, "An O(ND) difference algorithm"), and beyond that the old lines are replaced by the new ones as a whole.
 */
import { linesOf } from './text.ts'

export interface Diff {
  readonly added: number
  readonly removed: number
  /** Hunks with three lines of context; empty for equal texts. */
  readonly text: string
}

/** More changes than this between two texts are one change. */
const MAX_CHANGES = 400
const CONTEXT_LINES = 3

/** Lines `oldStart` to `oldEnd` become lines `newStart` to `newEnd`; ends are exclusive. */
interface Change {
  readonly oldStart: number
  readonly oldEnd: number
  readonly newStart: number
  readonly newEnd: number
}

export function diffOf(before: string, after: string): Diff {
  const old = linesOf(before)
  const now = linesOf(after)
  const changes = changesBetween(old, now)
  return {
    added: changes.reduce((sum, { newStart, newEnd }) => sum + newEnd - newStart, 0),
    removed: changes.reduce((sum, { oldStart, oldEnd }) => sum + oldEnd - oldStart, 0),
    text: hunksOf(changes).map(hunk => hunkText(hunk, old, now)).join(''),
  }
}

function changesBetween(old: readonly string[], now: readonly string[]): Change[] {
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1
  let oldEnd = old.length
  let newEnd = now.length
  while (oldEnd > start && newEnd > start && old[oldEnd - 1] === now[newEnd - 1]) {
    oldEnd -= 1
    newEnd -= 1
  }
  if (start === oldEnd && start === newEnd) return []
  const whole = [{ oldStart: start, oldEnd, newStart: start, newEnd }]
  const trace = traceOf(old.slice(start, oldEnd), now.slice(start, newEnd))
  return trace === null ? whole : changesOf(trace, oldEnd - start, newEnd - start, start)
}

/** `trace[d]` says how far each diagonal comes with d changes; diagonal k, old minus new, is at `k + d`. Null beyond the bound. */
function traceOf(old: readonly string[], now: readonly string[]): Int32Array[] | null {
  const trace: Int32Array[] = []
  for (let d = 0; d <= Math.min(MAX_CHANGES, old.length + now.length); d++) {
    const last = trace[d - 1]
    const reach = new Int32Array(2 * d + 1)
    trace.push(reach)
    for (let k = -d; k <= d; k += 2) {
      let x = last === undefined ? 0 : nextStep(last, d, k)
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x += 1
      reach[k + d] = x
      if (x >= old.length && x - k >= now.length) return trace
    }
  }
  return null
}

/** Where diagonal k is entered with the d-th change: down from k + 1 (a line comes) or right from k − 1 (a line goes). */
function nextStep(last: Int32Array, d: number, k: number): number {
  return comesDown(last, d, k) ? last[k + 1 + d - 1]! : last[k - 1 + d - 1]! + 1
}

function comesDown(last: Int32Array, d: number, k: number): boolean {
  return k === -d || (k !== d && last[k - 1 + d - 1]! < last[k + 1 + d - 1]!)
}

/** The way back through a trace; neighbouring steps are one change. */
function changesOf(trace: readonly Int32Array[], oldLength: number, newLength: number, offset: number): Change[] {
  const changes: Change[] = []
  let k = oldLength - newLength
  for (let d = trace.length - 1; d > 0; d--) {
    const last = trace[d - 1]!
    const down = comesDown(last, d, k)
    const x = nextStep(last, d, k) // after the step, before the lines that are equal
    const y = x - k
    const step = { oldStart: x - (down ? 0 : 1), oldEnd: x, newStart: y - (down ? 1 : 0), newEnd: y }
    const next = changes[0]
    const at = shifted(step, offset)
    if (next !== undefined && next.oldStart === at.oldEnd && next.newStart === at.newEnd) {
      changes[0] = { ...next, oldStart: at.oldStart, newStart: at.newStart }
    } else {
      changes.unshift(at)
    }
    k += down ? 1 : -1
  }
  return changes
}

function shifted({ oldStart, oldEnd, newStart, newEnd }: Change, by: number): Change {
  return { oldStart: oldStart + by, oldEnd: oldEnd + by, newStart: newStart + by, newEnd: newEnd + by }
}

/** Changes whose contexts touch stand in one hunk. */
function hunksOf(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = []
  for (const change of changes) {
    const hunk = hunks.at(-1)
    if (hunk !== undefined && change.oldStart - hunk.at(-1)!.oldEnd <= 2 * CONTEXT_LINES) hunk.push(change)
    else hunks.push([change])
  }
  return hunks
}

function hunkText(hunk: readonly Change[], old: readonly string[], now: readonly string[]): string {
  const first = hunk[0]!
  const last = hunk.at(-1)!
  const before = Math.min(CONTEXT_LINES, first.oldStart)
  const oldEnd = Math.min(old.length, last.oldEnd + CONTEXT_LINES)
  const lines: string[] = []
  let at = first.oldStart - before
  for (const { oldStart, oldEnd: end, newStart, newEnd } of hunk) {
    for (; at < oldStart; at++) lines.push(marked(' ', old[at]!))
    for (; at < end; at++) lines.push(marked('-', old[at]!))
    for (let index = newStart; index < newEnd; index++) lines.push(marked('+', now[index]!))
  }
  for (; at < oldEnd; at++) lines.push(marked(' ', old[at]!))
  const oldRange = range(first.oldStart - before, oldEnd)
  const newRange = range(first.newStart - before, last.newEnd + oldEnd - last.oldEnd)
  return `@@ -${oldRange} +${newRange} @@\n${lines.join('')}`
}

/** As in unified diffs: an empty range names the line before it. */
function range(start: number, end: number): string {
  const length = end - start
  return `${length === 0 ? start : start + 1},${length}`
}

function marked(mark: string, line: string): string {
  return line.endsWith('\n') ? mark + line : `${mark}${line}\n\\ No newline at end of file\n`
}

/** A diff that somebody has to look at or keep: its beginning, and how much more there is. */
export function boundedDiff(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const end = text.lastIndexOf('\n', maxChars) + 1
  const rest = linesOf(text.slice(end)).length
  return `${text.slice(0, end)}… ${rest} more ${rest === 1 ? 'line' : 'lines'} of this diff\n`
}
