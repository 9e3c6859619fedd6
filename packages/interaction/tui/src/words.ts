/**
 * Words: figures as a person reads them.
 *
 * Pure.
 */

/** `940`, `9.4k`, `128k`, `1.2M`. */
export function tokens(count: number): string {
  if (count < 1_000) return String(Math.round(count))
  if (count < 9_950) return `${(count / 1_000).toFixed(1).replace(/\.0$/, '')}k`
  if (count < 999_500) return `${Math.round(count / 1_000)}k`
  return `${(count / 1_000_000).toFixed(1).replace(/\.0$/, '')}M`
}

/** `0.4s`, `12s`, `3m 05s`, `1h 02m`. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (ms < 1_000) return `${(Math.max(0, ms) / 1_000).toFixed(1)}s`
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`
}

/** `now`, `5m ago`, `3h ago`, `2d ago`. */
export function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes}m ago`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours}h ago` : `${Math.floor(hours / 24)}d ago`
}

/** US dollars; small sums keep two digits that say something. */
export function money(dollars: number): string {
  if (dollars === 0) return '$0'
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`
  return `$${dollars.toFixed(dollars < 100 ? 2 : 0)}`
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`
  return count < 1_000_000 ? `${Math.ceil(count / 1_000)} kB` : `${(count / 1_000_000).toFixed(1)} MB`
}

/** `1 line`, `1,204 lines`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}
