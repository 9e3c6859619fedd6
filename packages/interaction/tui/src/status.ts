/**
 * Status: the last line of the screen, and the line above the editor that says what goes on.
 *
 * Pure.
 */
import { ends, fit, oneLine, visibleWidth } from './text.ts'
import type { Theme } from './theme.ts'
import { ago, duration, money, tokens } from './words.ts'

export interface Meter {
  readonly totalTokens: number
  /** Whether a provider's own count stands behind it. */
  readonly isMeasured: boolean
  /** Null where nobody knows it. */
  readonly windowTokens: number | null
  /** Where a compaction begins by itself; null where none does. */
  readonly thresholdTokens: number | null
}

export interface Status {
  readonly route: string
  readonly meter: Meter
  readonly compaction: { readonly beforeTokens: number; readonly afterTokens: number; readonly turn: number | null; readonly agoMs: number } | null
  /** US dollars; null where a price is not known. */
  readonly cost: number | null
  readonly title: string
  readonly id: string
}

const BAR_COLUMNS = 12
/** A bar that nears its mark by so much of the window is worth a second look. */
const NEAR = 0.1

/** A window as a bar: what is used, what is free, and a mark where a compaction begins. */
function bar({ totalTokens, windowTokens, thresholdTokens }: Meter, columns: number): string {
  if (windowTokens === null) return ''
  const filled = Math.min(columns, totalTokens === 0 ? 0 : Math.max(1, Math.round((totalTokens / windowTokens) * columns)))
  const mark = thresholdTokens === null ? -1 : Math.min(columns - 1, Math.floor((thresholdTokens / windowTokens) * columns))
  return Array.from({ length: columns }, (_, column) => (column === mark ? '┃' : column < filled ? '█' : '░')).join('')
}

function meterWords(meter: Meter, theme: Theme): string {
  const { totalTokens, isMeasured, windowTokens, thresholdTokens } = meter
  const total = `${isMeasured || totalTokens === 0 ? '' : '~'}${tokens(totalTokens)}`
  if (windowTokens === null) return `${total} tokens`
  const share = totalTokens / windowTokens
  const limit = (thresholdTokens ?? windowTokens) / windowTokens
  const hue = share >= limit ? theme.bad : share >= limit - NEAR ? theme.warning : theme.good
  return `${hue(bar(meter, BAR_COLUMNS))} ${Math.round(share * 100)}% ${theme.dim(`${total}/${tokens(windowTokens)}`)}`
}

/** From the left what is asked for most; what does not fit is left out from the right. */
export function statusLine({ route, meter, compaction, cost, title, id }: Status, width: number, theme: Theme): string {
  const separator = theme.dim(' · ')
  const parts = [theme.bold(oneLine(route)), meterWords(meter, theme)]
  if (compaction !== null) {
    const { beforeTokens, afterTokens, turn, agoMs } = compaction
    const when = turn === null ? ago(agoMs) : `turn ${turn}`
    parts.push(`${theme.special('compacted')} ${tokens(beforeTokens)}→${tokens(afterTokens)} ${theme.dim(when)}`)
  }
  if (cost !== null) parts.push(money(cost))
  let left = parts[0]!
  for (const part of parts.slice(1)) if (visibleWidth(left) + 3 + visibleWidth(part) <= width) left += separator + part
  const room = width - visibleWidth(left) - 2
  const name = [oneLine(title), id.slice(0, 8)].filter(words => words !== '').join(' ')
  const right = room < 8 ? '' : room < name.length ? id.slice(0, 8) : name
  return ends(fit(left, width), theme.dim(fit(right, Math.min(40, Math.max(0, room)))), width)
}

/** What goes on, and which keys matter now. */
export interface Activity {
  /** Null while nothing does. */
  readonly doing: { readonly words: string; readonly ms: number } | null
  /** The keys, the most wanted first; the line keeps as many as fit. */
  readonly keys: readonly (readonly [key: string, does: string])[]
}

export function activityLine({ doing, keys }: Activity, spinner: string, width: number, theme: Theme): string {
  const left = doing === null ? '' : `${theme.accent(spinner)} ${oneLine(doing.words)} ${theme.dim(duration(doing.ms))}`
  let right = ''
  for (const [key, does] of keys) {
    const next = `${right === '' ? '' : ' · '}${key} ${does}`
    if (visibleWidth(left) + 2 + visibleWidth(right + next) > width) break
    right += next
  }
  return left === '' ? theme.dim(fit(right, width)) : ends(left, theme.dim(right), width)
}

/** What was said and waits for its place, the oldest first; those that take the next step before those that open a turn. */
export function waitingLines(items: readonly { readonly kind: 'send' | 'steer' | 'inject'; readonly text: string }[], width: number, theme: Theme): string[] {
  const line = ({ kind, text }: (typeof items)[number]): string =>
    fit(`${theme.accent('↳')} ${theme.dim(kind === 'send' ? 'next:' : 'after this step:')} ${oneLine(text)}`, width)
  const shown = items.slice(-MAX_WAITING)
  const more = items.length - shown.length
  return [...(more === 0 ? [] : [theme.dim(fit(`  … ${more} more`, width))]), ...shown.map(line)]
}

const MAX_WAITING = 3
