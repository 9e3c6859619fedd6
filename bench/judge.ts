/** What holds of a request, whoever made it. Pure. */
import type { Entry } from './workload.ts'

/** Characters, of which all estimators here take four for a token. */
export function charactersOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + entry.text.length + (entry.role === 'assistant' ? entry.calls.reduce((all, call) => all + call.name.length + call.arguments.length, 0) : 0), 0)
}

/** Whether every result follows its call, and every call is answered before anybody says anything else. */
export function isPaired(entries: readonly Entry[]): boolean {
  let open: string[] = []
  for (const entry of entries) {
    if (entry.role === 'tool') {
      if (!open.includes(entry.callId)) return false
      open = open.toSpliced(open.indexOf(entry.callId), 1)
      continue
    }
    if (open.length > 0) return false
    if (entry.role === 'assistant') open = entry.calls.map(({ id }) => id)
  }
  return open.length === 0
}

/** Whether no result stands oftener than it was `said`: one that does was given to a call that is not its own. */
export function givesOnce(entries: readonly Entry[], said: ReadonlyMap<string, number>): boolean {
  const seen = new Map<string, number>()
  for (const { role, text } of entries) {
    const most = said.get(text)
    if (role !== 'tool' || most === undefined) continue
    const times = (seen.get(text) ?? 0) + 1
    if (times > most) return false
    seen.set(text, times)
  }
  return true
}

export function holds(entries: readonly Entry[], words: string): boolean {
  return entries.some(({ text }) => text.includes(words))
}
