/**
 * Check: a session log derived once more, with everything that must hold of it.
 */
import { loopInvariant } from '@deepseek-ai/dsh-agent-loop'
import { compactionInvariant } from '@deepseek-ai/dsh-compaction'
import {
  admit,
  checkLog,
  EventLog,
  isSurfaceEvent,
  messageOfEvent,
  pendingCalls,
  sessionInvariant,
  type Invariant,
  type LogView,
  type Seq,
  type SessionEvent,
  type Violation,
} from '@deepseek-ai/dsh-session'
import { readSessionFile } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { toolsInvariant } from '@deepseek-ai/dsh-tools'
import { openAiMessages } from './openai-shape.ts'
import { pairingFaults } from './request-check.ts'

/** All that `--invariants` judges by while a log is written. */
const INVARIANTS: readonly Invariant<unknown>[] = [sessionInvariant, toolsInvariant, loopInvariant, compactionInvariant]

export interface CheckedLog {
  readonly events: number
  /** By seq. */
  readonly violations: readonly Violation[]
  /** What of the file is no whole event, in words. */
  readonly notices: readonly string[]
}

/** @throws SessionPersistenceError when it is no session log or cannot be read. */
export async function checkSessionFile(path: string): Promise<CheckedLog> {
  const { events, notices } = await readSessionFile(path)
  return { events: events.length, violations: checkEvents(events), notices }
}

export function checkEvents(events: readonly SessionEvent[]): Violation[] {
  const violations = checkLog(events, INVARIANTS)
  return [...violations, ...pairingViolations(events)].sort((one, other) => one.seq - other.seq)
}

/** What a model would be sent after each rewrite of the surface, and at the end: calls and results must pair there. */
function pairingViolations(events: readonly SessionEvent[]): Violation[] {
  const log = new EventLog()
  const found: Violation[] = []
  for (const event of events) {
    try {
      admit(log, event)
    } catch {
      return found // told of as a violation of the log itself
    }
    const rewritten = isSurfaceEvent(event) && event.surfaceOp !== 'append'
    if (!rewritten && event.seq < events.length - 1) continue
    const messages = log.surface.entries.map(seq => messageAt(log, seq)).filter(message => message !== null)
    const { orphanResults, unansweredCalls } = pairingFaults(openAiMessages({ messages }))
    const unanswered = unansweredCalls - pendingCalls(log).length
    if (orphanResults > 0) found.push({ seq: event.seq, invariant: 'pairing', message: `${orphanResults} results without their call would be sent` })
    if (unanswered > 0) found.push({ seq: event.seq, invariant: 'pairing', message: `${unanswered} calls without a result would be sent` })
  }
  return found
}

function messageAt(log: LogView, seq: Seq): ReturnType<typeof messageOfEvent> {
  const event = log.at(seq)
  return isSurfaceEvent(event) ? messageOfEvent(event) : null
}
