/**
 * Pins: the user's messages whose words survive every compaction.
 *
 * Pure. They come from the log, never from an old checkpoint: the first message of all, the one that opened the current (or
 * last) turn, and the newest.
 */
import { isPersonSource, type Fold, type LogView, type Seq } from '@deepseek-ai/dsh-session'
import { quote } from './checkpoint.ts'
import { clip, visibleText } from './text.ts'

export interface Pin {
  readonly seq: Seq
  /** The entry it stands on the surface with: itself, or what only shows its beginning and end. */
  entrySeq: Seq
  /** A final answer came after it. */
  answered: boolean
}

export interface PinState {
  first: Pin | null
  opener: Pin | null
  newest: Pin | null
  /** The next message of a person opens the turn. */
  openerDue: boolean
}

export const pinFold: Fold<PinState> = {
  init: () => ({ first: null, opener: null, newest: null, openerDue: false }),
  apply(state, event) {
    switch (event.type) {
      case 'turn/start':
        if (event.data.retry !== true) state.openerDue = true
        break
      case 'user/message': {
        if (!isPersonSource(event.data.source)) break
        if (event.surfaceOp !== 'append') {
          for (const pin of [state.first, state.opener, state.newest]) if (pin?.entrySeq === event.surfaceOp.start) pin.entrySeq = event.seq
          break
        }
        const pin: Pin = { seq: event.seq, entrySeq: event.seq, answered: false }
        state.first ??= pin
        if (state.openerDue) state.opener = pin
        state.openerDue = false
        state.newest = pin
        break
      }
      case 'assistant/message':
        if (event.surfaceOp !== 'append' || event.data.finish !== 'stop' || event.data.interrupted === true) break
        for (const pin of [state.first, state.opener, state.newest]) if (pin !== null) pin.answered = true
        break
    }
    return state
  },
}

/** A pinned message, clipped. */
export interface PinnedMessage {
  readonly seq: Seq
  readonly answered: boolean
  readonly text: string
}

/** The most one pinned message may take, label and quotation marks included. */
const PIN_TOKENS = 1_000
/** A pin that would get less than this says nothing and is dropped. */
const SMALLEST_PIN_TOKENS = 24

/**
 * The pins that a compaction shadows, oldest first, within `budgetTokens` together as they stand in the checkpoint: the newest
 * is served first, so older ones are clipped harder and then dropped.
 *
 * @param shadows whether an entry leaves the surface, or left it before.
 */
export function pinnedMessages(
  { first, opener, newest }: PinState,
  log: LogView,
  shadows: (seq: Seq) => boolean,
  budgetTokens: number,
  estimate: (text: string) => number,
): PinnedMessage[] {
  const pins = new Map<Seq, Pin>()
  for (const pin of [first, opener, newest]) if (pin !== null && shadows(pin.entrySeq)) pins.set(pin.seq, pin)
  const pinned: PinnedMessage[] = []
  let leftTokens = budgetTokens
  for (const { seq, answered } of [...pins.values()].sort((a, b) => b.seq - a.seq)) {
    const tokens = Math.min(PIN_TOKENS, leftTokens)
    if (tokens < SMALLEST_PIN_TOKENS) break
    const event = log.at(seq)
    if (event.type !== 'user/message') continue
    const price = (text: string): number => estimate(quote({ seq, answered, text }))
    const text = clipToTokens(visibleText(event.data.content), tokens, price)
    if (text === '') continue
    pinned.push({ seq, answered, text })
    leftTokens -= price(text)
  }
  return pinned.reverse()
}

/** Head and tail of `text` at a price of at most `maxTokens`; each round aims at the budget and takes at least a tenth off. */
function clipToTokens(text: string, maxTokens: number, price: (text: string) => number): string {
  let clipped = text
  let tokens = price(text)
  while (tokens > maxTokens && clipped !== '') {
    clipped = clip(text, Math.floor(clipped.length * Math.min(0.9, maxTokens / tokens)))
    tokens = price(clipped)
  }
  return clipped
}
