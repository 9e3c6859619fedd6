/**
 * Relief: room that needs no model, where a pruner is loaded.
 *
 *     0            head             unread tail       claimed input
 *     ├────────────────────────────┼────────────────┼──────────────┤
 *      oversized results that were   what no request could hold,
 *      read give way to views        down to what is left for it
 */
import type { Message } from '@deepseek-ai/dsh-llm'
import type { Position, Seq, Session } from '@deepseek-ai/dsh-session'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import type { Limits } from './limits.ts'

/** What is asked here of `ctx.toolResultPruner`. */
export interface Pruner {
  prune(session: Session, options: { readonly before: Position; readonly enoughTokens?: number }): { readonly rewritten: readonly Pruned[] }
  shorten(session: Session, options: { readonly from: Position; readonly targetTokens: number }): { readonly rewritten: readonly Pruned[] }
  preview(messages: readonly Message[], targetTokens: number): readonly Message[]
}

/** An entry that has just given way to a view. */
export interface Pruned {
  /** The view. */
  readonly seq: Seq
  readonly replacedSeq: Seq
  /** Estimated. */
  readonly savedTokens: number
}

/** A surface about to be sent; real tokens. */
interface Load {
  /** With everything around it. */
  readonly totalTokens: number
  /** Before the unread tail. */
  readonly headTokens: number
  readonly tailTokens: number
}

/** What a checkpoint may grow to, as a share of the window: a summary of an eighth, half as much beyond its limit, and its frame. */
const CHECKPOINT_SHARE = 0.25

/** The least that a head can come down to. */
function shortestHead({ windowTokens }: Limits, headTokens: number): number {
  return Math.min(headTokens, Math.floor(windowTokens * CHECKPOINT_SHARE))
}

/** An estimate may be off by so much: what comes closer to the window than this is not said to fit. */
const MARGIN_SHARE = 0.1

/** Whether a request of so many tokens surely fits; under the threshold it does, whatever the estimate is worth. */
export function isSafe({ thresholdTokens, requestTokens }: Limits, totalTokens: number): boolean {
  return totalTokens < Math.max(thresholdTokens, Math.floor(requestTokens * (1 - MARGIN_SHARE)))
}

/** Whether not even the shortest head would make the request fit. */
function isBeyondSummaries(limits: Limits, { totalTokens, headTokens }: Load): boolean {
  return !isSafe(limits, totalTokens - headTokens + shortestHead(limits, headTokens))
}

/** What fits beside `restTokens`: under the threshold, or where little is left there, half of what the window leaves. */
function roomBeside({ thresholdTokens, requestTokens }: Limits, restTokens: number): number {
  return Math.max(thresholdTokens - restTokens, Math.floor((requestTokens - restTokens) / 2))
}

/** Results that were read, oldest first; with enough to spare that the next step does not prune again. */
export function pruneRead(pruner: Pruner, meter: TokenMeter, session: Session, unread: Position, limits: Limits, pending: readonly Message[]): readonly Pruned[] {
  const { totalTokens, slope } = meter.measure(session, { pending })
  const enoughTokens = Math.ceil((totalTokens - (limits.thresholdTokens - limits.retainTokens)) / slope)
  return pruner.prune(session, { before: unread, enoughTokens }).rewritten
}

/**
 * Before a step: shortens the unread tail where that and claimed input would fill the window whatever becomes of the head.
 * Returns the input as it will stand once {@link fitRequest} has seen it too: it cannot be shortened before it is appended.
 */
export function fitTail(pruner: Pruner, meter: TokenMeter, session: Session, unread: Position, limits: Limits, pending: readonly Message[]): readonly Message[] {
  const { slope, pendingTokens } = meter.measure(session, { pending })
  const inputTokens = pendingTokens * slope
  const load = loadOf(meter, session, unread, pending)
  if (!isBeyondSummaries(limits, load)) return pending
  const { totalTokens, headTokens, tailTokens } = load
  const aroundTokens = totalTokens - headTokens - tailTokens - inputTokens
  const roomTokens = roomBeside(limits, aroundTokens + shortestHead(limits, headTokens))
  const tailRoomTokens = Math.max(roomTokens - inputTokens, Math.floor(roomTokens / 2))
  if (tailTokens > tailRoomTokens) pruner.shorten(session, { from: unread, targetTokens: Math.floor(tailRoomTokens / slope) })
  const leftTokens = roomTokens - loadOf(meter, session, unread, pending).tailTokens
  return inputTokens > leftTokens ? pruner.preview(pending, Math.floor(leftTokens / slope)) : pending
}

/**
 * Before a request, everything on the surface: shortens the tail where no head could make it fit.
 *
 * @param unread the cut before the newest answer, and before every message at the end of the surface: what entered since
 * the last chance for a summary.
 * @param aroundTokens what the request holds beside what the meter knows of.
 */
export function fitRequest(pruner: Pruner, meter: TokenMeter, session: Session, unread: Position, limits: Limits, aroundTokens: number): void {
  const measured = loadOf(meter, session, unread, [])
  const load = { ...measured, totalTokens: measured.totalTokens + aroundTokens }
  if (!isBeyondSummaries(limits, load)) return
  const { slope } = meter.measure(session)
  const targetTokens = Math.floor(roomBeside(limits, load.totalTokens - load.tailTokens) / slope)
  pruner.shorten(session, { from: unread, targetTokens })
}

/** When a request was refused whose size nobody can judge, and nothing else was left to take away: half of the tail. */
export function halveTail(pruner: Pruner, meter: TokenMeter, session: Session, unread: Position): void {
  const { totalTokens, tailTokens } = loadOf(meter, session, unread, [])
  if (tailTokens < totalTokens * WORTHWHILE_SHARE) return
  pruner.shorten(session, { from: unread, targetTokens: Math.floor(tailTokens / meter.measure(session).slope / 2) })
}

/** Where the tail is less than this share of a request, it is not what made it too large. */
const WORTHWHILE_SHARE = 0.2

function loadOf(meter: TokenMeter, session: Session, unread: Position, pending: readonly Message[]): Load {
  const { totalTokens, surfaceTokens, slope } = meter.measure(session, { pending })
  const tokens = meter.entryTokens(session)
  let tailTokens = 0
  for (let position = unread; position < tokens.length; position++) tailTokens += tokens[position]!
  return { totalTokens, headTokens: (surfaceTokens - tailTokens) * slope, tailTokens: tailTokens * slope }
}
