/**
 * The laws of compacted histories, stated over a log alone by a naive re-derivation: nothing of the engine, its folds or the
 * session's surface is used to judge them.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import { callsOf } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, messageOfEvent, type LogView, type Seq, type SessionEvent, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import { deepStrictEqual, fail, ok } from 'node:assert/strict'

/** Price of an entry in tokens. */
export type Price = (event: SurfaceEvent) => number

/** Where a log leads to. */
export interface Judged {
  readonly surface: Seq[]
  /** The start of the compaction that has no end; null where none is running. */
  readonly running: Seq | null
}

/**
 * Walks a log and judges every event of it.
 *
 * - a result answers the nearest preceding call of its id that is open, at any time and not only at the end;
 * - a checkpoint stands for whole units: no call is open across either edge of its span, and none of it is of an open step;
 * - it is what its summary says it is, and smaller than what it stands for;
 * - a start has one end, unless an end-seed makes it stale or it is the one that still runs.
 */
export function judgeLog(log: LogView, price: Price): Judged {
  let surface: Seq[] = []
  let running = null as SessionEvent<'compaction/start'> | null
  let summary = null as SessionEvent<'compaction/summary'> | null
  let isStepOpen = false
  const isOfOpenStep = new Set<Seq>()
  const priceOf = (seq: Seq): number => price(log.at(seq) as SurfaceEvent)

  for (const event of log.from(0)) {
    switch (event.type) {
      case 'step/start':
        isStepOpen = true
        break
      case 'step/end':
      case 'turn/end':
        isStepOpen = false
        isOfOpenStep.clear()
        break
      case 'session/end-seed':
        running = null
        break
      case 'compaction/start':
        ok(running === null, `a compaction starts at ${event.seq} inside the one of ${running?.seq}`)
        running = event
        summary = null
        break
      case 'compaction/summary':
        deepStrictEqual(event.data.startSeq, running?.seq, 'a summary of the running compaction')
        summary = event
        break
      case 'compaction/end':
        deepStrictEqual(event.data.startSeq, running?.seq, 'an end of the running compaction')
        running = null
        break
    }
    if (!isSurfaceEvent(event)) continue
    if (event.surfaceOp === 'append') {
      surface.push(event.seq)
      if (isStepOpen && event.type !== 'user/message') isOfOpenStep.add(event.seq)
      continue
    }
    const from = surface.indexOf(event.surfaceOp.start)
    const last = surface.indexOf(event.surfaceOp.end)
    ok(from >= 0 && last >= from, `the replace at ${event.seq} names no span of the surface`)
    const shadowed = surface.slice(from, last + 1)
    if (event.type === 'user/message' && isCompactCheckpointSource(event.data.source)) {
      const open = openCallsAtCuts(log, surface)
      ok(open[from] === 0 && open[last + 1] === 0, `the checkpoint at ${event.seq} parts a call from its result`)
      ok(!shadowed.some(seq => isOfOpenStep.has(seq)), `the checkpoint at ${event.seq} takes away from an open step`)
      ok(running !== null && summary !== null, `the checkpoint at ${event.seq} stands outside a compaction that has its summary`)
      deepStrictEqual(summary.data.shadowedSeqs, shadowed, 'shadowed seqs')
      deepStrictEqual(summary.data.shadowedRange, { start: shadowed[0], end: shadowed.at(-1) }, 'shadowed range')
      const shadowedTokens = shadowed.reduce((sum, seq) => sum + priceOf(seq), 0)
      deepStrictEqual(summary.data.shadowedTokens, shadowedTokens, 'shadowed tokens')
      ok(priceOf(event.seq) < shadowedTokens, `the checkpoint at ${event.seq} is not smaller than what it stands for`)
      judgeCheckpoint(event)
    } else {
      deepStrictEqual(shadowed.length, 1, 'only checkpoints stand for more than one entry')
      deepStrictEqual(log.at(shadowed[0]!).type, event.type, 'a rewrite keeps the type')
    }
    surface = surface.toSpliced(from, shadowed.length, event.seq)
  }
  openCallsAtCuts(log, surface)
  return { surface, running: running?.seq ?? null }
}

function judgeCheckpoint({ seq, data: { content } }: SessionEvent<'user/message'>): void {
  const text = JSON.stringify(content)
  deepStrictEqual(text.match(/<\/?compacted-summary>/g), ['<compacted-summary>', '</compacted-summary>'], `the frame at ${seq}`)
  ok(content.every(({ type }) => type === 'text') && !text.includes(PIXELS), `the checkpoint at ${seq} holds more than text`)
}

/** Encoded bytes that no summary and no transcript may hold. */
export const PIXELS = 'iVBORw0KGgo'

/** Calls open at each cut 0..n. @throws AssertionError for a result that answers nothing. */
export function openCallsAtCuts(log: LogView, surface: readonly Seq[]): number[] {
  const open: string[] = []
  const counts = [0]
  for (const seq of surface) {
    const event = log.at(seq)
    if (event.type === 'assistant/message') open.push(...callsOf(event.data.content).map(({ id }) => id))
    else if (event.type === 'tool/result') {
      const at = open.lastIndexOf(event.data.callId)
      if (at < 0) fail(`the result at ${seq} answers nothing`)
      open.splice(at, 1)
    }
    counts.push(open.length)
  }
  return counts
}

/** What a surface derives, entry by entry. */
export function messagesOf(log: LogView, surface: readonly Seq[]) {
  return surface.map(seq => messageOfEvent(log.at(seq) as SurfaceEvent)).filter(message => message !== null)
}
