/**
 * Judge: what must hold of a session that a crash left, told from its bytes and from what its writer had said, naively: nothing
 * here is shared with what it judges but the invariants.
 *
 * Everything throws an AssertionError for a loss.
 */
import { pendingInput } from '@deepseek-ai/dsh-agent'
import { compactionInvariant, isCompactCheckpointSource, liveCompaction } from '@deepseek-ai/dsh-compaction'
import { callsOf } from '@deepseek-ai/dsh-llm'
import { checkLog, isSurfaceEvent, openTurn, sessionInvariant, type Seq, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { LastWords } from './killer.ts'

/** A file as its bytes say: whole lines, and what follows the last of them. */
export interface Remains {
  readonly header: string
  /** The JSON of one event each. */
  readonly lines: readonly string[]
  readonly torn: Buffer
}

export function remainsOf(bytes: Buffer): Remains {
  const end = bytes.lastIndexOf('\n') + 1
  const [header = '', ...lines] = bytes.toString('utf8', 0, end).split('\n').slice(0, -1)
  return { header, lines, torn: bytes.subarray(end) }
}

/** What is in the file was appended, as it is; what was acknowledged is in the file. `before`: what it held when its writer came. */
export function judgeRemains({ lines }: Remains, before: readonly string[], { appended, acknowledgedSeq }: LastWords): void {
  assert.ok(lines.length > acknowledgedSeq, `event ${acknowledgedSeq} was acknowledged, and the file has ${lines.length}`)
  assert.ok(lines.length >= before.length, `the file had ${before.length} events and has ${lines.length}`)
  for (const [seq, line] of lines.entries()) {
    if (seq < before.length) assert.equal(line, before[seq], `event ${seq}, which was there before`)
    else assert.equal(hash('sha256', line, 'base64url'), appended.get(seq), `event ${seq} is not what was appended: ${line.slice(0, 200)}`)
  }
}

/** A session that was resumed from these lines, before anybody went on with it. */
export function judgeResumed(session: Session, lines: readonly string[]): void {
  const events = [...session.log.from(0)]
  assert.ok(events.length > lines.length, `${lines.length} events were there, and ${events.length} came back`)
  for (const [seq, line] of lines.entries()) assert.equal(JSON.stringify(events[seq]), line, `event ${seq} was not read as it was written`)
  assert.equal(events[lines.length]!.type, 'session/end-seed')
  assert.equal(openTurn(session), null, 'no turn is open')
  assert.equal(liveCompaction(session), null, 'no compaction is live')
  assert.deepEqual(pendingInput(session).map(({ inputId }) => inputId), waitingInput(events), 'accepted input that did not enter waits')
  judgeSession(session, events)
}

/** Any session at rest, with the events of its log. */
export function judgeSession(session: Session, events: readonly SessionEvent[]): void {
  assert.deepEqual(checkLog(events, [sessionInvariant, compactionInvariant]), [])
  judgeSurface(session.surface.entries, events)
  judgePairing(session)
  expectReplays(session)
}

/**
 * Full history, or the newest checkpoint and the end of full history behind what it stands for; never a mixture, never empty
 * where something was said.
 */
function judgeSurface(entries: readonly Seq[], events: readonly SessionEvent[]): void {
  const surface = events.filter(isSurfaceEvent)
  const history = surface.filter(event => event.surfaceOp === 'append').map(event => event.seq)
  const checkpoint = surface.findLast(event => event.surfaceOp !== 'append')
  if (checkpoint === undefined) return assert.deepEqual(entries, history, 'the surface is full history')
  assert.ok(checkpoint.type === 'user/message' && isCompactCheckpointSource(checkpoint.data.source), `${checkpoint.seq} is a checkpoint`)
  const shadowed = history.filter(seq => checkpoint.sourceEventSeqs!.includes(seq))
  const reached = history.indexOf(shadowed.at(-1)!) + 1
  assert.deepEqual(entries, [checkpoint.seq, ...history.slice(reached)], `the surface is checkpoint ${checkpoint.seq} and what follows ${shadowed.at(-1)}`)
}

/** Behind an answer that calls stand the results of exactly these calls, and no result stands elsewhere. */
function judgePairing(session: Session): void {
  const messages = session.deriveMessages()
  let open: string[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'tool') assert.deepEqual(open, [], `calls without a result before message ${index}`)
    for (const block of message.content) {
      if (block.type !== 'tool-result') continue
      assert.ok(open.includes(block.toolCallId), `message ${index} answers ${block.toolCallId}, which was not called`)
      open = open.filter(id => id !== block.toolCallId)
    }
    if (message.role === 'assistant') open = callsOf(message.content).map(call => call.id)
  }
  assert.deepEqual(open, [], 'calls without a result at the end')
}

function waitingInput(events: readonly SessionEvent[]): string[] {
  const waiting = new Set<string>()
  for (const event of events) {
    if (event.type === 'inbox/spliced') {
      for (const { inputId } of event.data.inserted ?? []) waiting.add(inputId)
      for (const inputId of event.data.removed ?? []) waiting.delete(inputId)
    } else if (event.type === 'user/message' && event.data.source.inputId !== undefined) {
      waiting.delete(event.data.source.inputId)
    }
  }
  return [...waiting]
}

/** Whatever was ever accepted has entered, once, over all the lives of the session. */
export function judgeInput(events: readonly SessionEvent[]): void {
  const accepted: string[] = []
  const entered: string[] = []
  for (const event of events) {
    if (event.type === 'inbox/spliced') for (const { inputId } of event.data.inserted ?? []) accepted.push(inputId)
    if (event.type === 'user/message' && event.data.source.inputId !== undefined) entered.push(event.data.source.inputId)
  }
  assert.deepEqual(entered.toSorted(), accepted.toSorted(), 'what was accepted has entered once')
}

/** Compactions that began and did not end, in whatever life of the session. */
export function unfinishedCompactions(events: readonly SessionEvent[]): Seq[] {
  const starts = new Set<Seq>()
  for (const event of events) {
    if (event.type === 'compaction/start') starts.add(event.seq)
    else if (event.type === 'compaction/end') starts.delete(event.data.startSeq)
  }
  return [...starts]
}
