/**
 * Session summaries: what a person wants to know of a stored session, in lines of text.
 *
 * Pure.
 */
import { pendingInput } from '@deepseek-ai/dsh-agent'
import { liveCompaction } from '@deepseek-ai/dsh-compaction'
import { textOf } from '@deepseek-ai/dsh-llm'
import { admit, EventLog, interruptedTurnClosers, isPersonSource, lastTurn, openTurn, type SessionEvent, type SessionHeader, type SessionListing } from '@deepseek-ai/dsh-session'
import { compactTokens } from './chart.ts'

/** Two lines a session, the newest first, as the store lists them: what names it, and what it is about. */
export function listingLines(listings: readonly SessionListing[], now: number): string[] {
  return listings.flatMap(({ header, modifiedAt, bytes, title = NOTHING_SAID, tokens, holder }) => {
    const facts = [
      header.id,
      age(now - modifiedAt),
      size(bytes),
      ...(tokens === undefined ? [] : [`${compactTokens(tokens)} tokens`]),
      ...(header.cwd === undefined ? [] : [header.cwd]),
      ...(header.parent === undefined ? [] : [`fork of ${header.parent.id} at ${header.parent.seq}`]),
      ...(holder === undefined ? [] : [`held by process ${holder.pid} on ${holder.host} since ${timestamp(holder.startedAt)}`]),
    ]
    return [facts.join('  '), `    ${firstLine(title)}`]
  })
}

const NOTHING_SAID = '(nothing said yet)'

/** What a session holds and how it was left; its events are read, not changed. */
export function sessionLines(header: SessionHeader, events: Iterable<SessionEvent>): string[] {
  const log = new EventLog()
  let lastWords = ''
  const compactions = { done: 0, failed: 0 }
  for (const event of events) {
    // A compaction that its process did not live to finish failed: nothing of it is on the surface.
    if (event.type === 'session/end-seed' && liveCompaction(log) !== null) compactions.failed += 1
    admit(log, event)
    if (event.type === 'user/message' && isPersonSource(event.data.source)) lastWords = textOf(event.data.content)
    if (event.type === 'compaction/end') compactions[event.data.error === undefined ? 'done' : 'failed'] += 1
  }
  const waiting = pendingInput({ header, read: fold => log.read(fold) })
  const turn = openTurn(log)
  const live = liveCompaction(log)
  return [
    `session ${header.id}, created ${timestamp(header.createdAt)}${header.cwd === undefined ? '' : ` in ${header.cwd}`}`,
    ...(header.parent === undefined ? [] : [`  fork of ${header.parent.id} at event ${header.parent.seq}`]),
    `  ${log.length} events, ${lastTurn(log)} turns, ${log.surface.entries.length} entries on the surface`,
    `  ${compactions.done} compactions${compactions.failed === 0 ? '' : `, ${compactions.failed} failed`}${live === null ? '' : `, one unfinished since event ${live.startSeq}`}`,
    ...(turn === null ? [] : [`  turn ${turn} has not ended; a resume completes it with ${interruptedTurnClosers(log).length} events`]),
    ...(waiting.length === 0 ? [] : [`  ${waiting.length} accepted messages wait in the inbox`]),
    ...(lastWords === '' ? [] : [`  last said: ${firstLine(lastWords)}`]),
  ]
}

const MAX_LINE_CHARS = 100

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0]!
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS - 1)}…`
}

const UNITS = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000]] as const

/** The largest unit that fills it once. */
function age(ms: number): string {
  for (const [name, unitMs] of UNITS) if (ms >= unitMs) return `${Math.floor(ms / unitMs)} ${name} ago`
  return 'just now'
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

function size(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
