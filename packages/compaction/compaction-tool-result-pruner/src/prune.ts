/**
 * Pruning: which entries give way to a view, and what that saves. Planned first, then applied.
 *
 * Pure. Two plans:
 *
 *     prune     closed results over a threshold, oldest first, each to its standard size
 *     shorten   a tail that must fit: its largest entries down to one level, and no further than needed
 *
 *     tokens   ┌──┐
 *              │  │     ┌──┐                    ┬ cut away
 *     level ┄┄┄┼┄┄┼┄┄┄┄┄┼┄┄┼┄┄┄┄┄┄┄┄┄           ┴
 *              │  │ ┌──┐│  │ ┌──┐
 *              result   result
 *
 * Law: a plan that was applied whole leaves nothing for the same plan to do.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, type LogView, type Seq, type Session, type SurfaceEvent, type SurfaceEventType } from '@deepseek-ai/dsh-session'
import { answerViewOf, isAnswerViewOf, longestText } from './answer-view.ts'
import { originalOf, textChars, viewOf, type ViewSize } from './view.ts'

/** When a result is oversized, and what is kept of it. Code points. */
export interface PruneLimits extends ViewSize {
  readonly thresholdChars: number
}

/** A view to put in an entry's place. */
export interface Rewrite {
  /** The entry that gives way. */
  readonly replacedSeq: Seq
  /** The event that holds the whole text, as the view says. */
  readonly originalSeq: Seq
  readonly content: readonly ContentBlock[]
  /** Estimated; more than 0. */
  readonly savedTokens: number
}

export interface Rewritten extends Omit<Rewrite, 'content'> {
  /** The entry now. */
  readonly seq: Seq
}

export interface RewriteOutcome {
  readonly rewritten: readonly Rewritten[]
  /** Why the rest was left as it was: what the log threw at the next rewrite. */
  readonly refusal?: unknown
}

/** An entry of the surface and its price. */
export interface PricedEntry {
  readonly seq: Seq
  readonly tokens: number
}

/** What an entry would cost with another content; tokens. */
export type Price = (event: SurfaceEvent, content: readonly ContentBlock[]) => number

/**
 * Views for the oversized results among `entries`, in their order, until together they save `enoughTokens`. What would save
 * nothing stays.
 */
export function planPrune(log: LogView, entries: Iterable<PricedEntry>, limits: PruneLimits, price: Price, enoughTokens = Infinity): Rewrite[] {
  const plan: Rewrite[] = []
  let savedTokens = 0
  for (const { seq, tokens } of entries) {
    if (savedTokens >= enoughTokens) break
    const event = log.at(seq)
    if (event.type !== 'tool/result' || !isOversized(event.data.content, limits.thresholdChars)) continue
    const original = originalOf(log, event)
    const view = viewOf(original.data.content, limits, original.seq)
    const rewrite = view === null ? null : rewriteTo(view, { event, original, tokens }, price)
    if (rewrite === null) continue
    plan.push(rewrite)
    savedTokens += rewrite.savedTokens
  }
  return plan
}

/**
 * Views that bring `entries` down to `targetTokens` together: of results only where that is enough, else of messages as well,
 * else of answers too; of checkpoints never. Empty where they fit as they are; null where not even the smallest views would.
 */
export function planShortening(log: LogView, entries: Iterable<PricedEntry>, size: ViewSize, price: Price, targetTokens: number): Rewrite[] | null {
  const parts: (TailPart & Shortenable)[] = []
  let roomTokens = targetTokens
  for (const { seq, tokens } of entries) {
    const event = log.at(seq)
    if (!isSurfaceEvent(event) || (event.type === 'user/message' && isCompactCheckpointSource(event.data.source))) {
      roomTokens -= tokens
      continue
    }
    const original = originalOf(log, event, event.type === 'assistant/message' ? isAnswerViewOf : undefined)
    const smallest = smallestView(original, size)
    parts.push({ type: event.type, event, original, tokens, floorTokens: smallest === null ? tokens : Math.min(tokens, price(event, smallest)) })
  }
  const levels = levelsOf(parts, roomTokens)
  if (levels === null) return null
  return parts.flatMap(part => {
    const { event, original, tokens, floorTokens } = part
    const maxTokens = floorTokens + levels(event.type)
    if (tokens <= maxTokens) return []
    return rewriteTo(viewWithin(original, size, floorTokens, maxTokens, content => price(event, content)), part, price) ?? []
  })
}

/** Messages about to be appended, as {@link planShortening} would leave them: to judge by, not to send. */
export function previewShortened(messages: readonly Message[], size: ViewSize, price: (message: Message) => number, targetTokens: number): readonly Message[] {
  const parts = messages.map(({ content, ...rest }) => {
    const original = { type: 'user/message', seq: 0, data: { content } } as const
    const priceOf = (view: readonly ContentBlock[]): number => price({ ...rest, content: view })
    const tokens = priceOf(content)
    return { type: original.type, original, priceOf, tokens, floorTokens: Math.min(tokens, priceOf(smallestView(original, size) ?? content)) }
  })
  const level = levelsOf(parts, targetTokens)?.('user/message') ?? SMALLEST_VIEW_TOKENS
  return messages.map((message, index) => {
    const { original, priceOf, tokens, floorTokens } = parts[index]!
    if (tokens <= floorTokens + level) return message
    return { ...message, content: viewWithin(original, size, floorTokens, floorTokens + level, priceOf) }
  })
}

/** Carries out a plan, one entry after the other; the first that the log refuses ends it, and those before it stand. */
export function applyRewrites(session: Session, plan: readonly Rewrite[]): RewriteOutcome {
  const rewritten: Rewritten[] = []
  for (const { content, ...rest } of plan) {
    try {
      rewritten.push({ seq: replaceContent(session, rest.replacedSeq, content), ...rest })
    } catch (refusal) {
      return { rewritten, refusal }
    }
  }
  return { rewritten }
}

function replaceContent(session: Session, replacedSeq: Seq, content: readonly ContentBlock[]): Seq {
  const surface = { surfaceOp: { op: 'replace', start: replacedSeq, end: replacedSeq }, sourceEventSeqs: [replacedSeq] } as const
  const event = session.log.at(replacedSeq)
  if (event.type === 'tool/result') return session.append('tool/result', { ...event.data, content }, surface).seq
  if (event.type === 'user/message') return session.append('user/message', { ...event.data, content }, surface).seq
  if (event.type === 'assistant/message') return session.append('assistant/message', { ...event.data, content }, surface).seq
  throw new TypeError(`only an entry gives way to a view, and ${replacedSeq} is ${event.type}`)
}

/** An entry of a tail by its price, and what no view of it can go below. */
interface TailPart {
  readonly type: SurfaceEventType
  readonly tokens: number
  readonly floorTokens: number
}

const NO_TEXT: ViewSize = { headChars: 0, tailChars: 0 }
/** A view with less text than this tells nothing of what it stands for. */
const SMALLEST_VIEW_TOKENS = 64

/** What may give way, first the one, then the next as well. */
const ORDER: readonly SurfaceEventType[] = ['tool/result', 'user/message', 'assistant/message']

/** The most text each kind of entry may keep, in tokens an entry, so that all fit `roomTokens`; null where that is too little. */
function levelsOf(parts: readonly TailPart[], roomTokens: number): ((type: SurfaceEventType) => number) | null {
  for (const last of ORDER.keys()) {
    const gives = (type: SurfaceEventType): boolean => ORDER.indexOf(type) <= last
    const wholeTokens = parts.reduce((sum, { type, tokens }) => (gives(type) ? sum : sum + tokens), 0)
    const level = levelOf(parts.filter(({ type }) => gives(type)), roomTokens - wholeTokens)
    if (level >= SMALLEST_VIEW_TOKENS) return type => (gives(type) ? level : Infinity)
  }
  return null
}

/** The largest level such that entries cut down to it, above their floors, take `roomTokens` together; negative where none does. */
function levelOf(parts: readonly TailPart[], roomTokens: number): number {
  let leftTokens = roomTokens
  for (const { floorTokens } of parts) leftTokens -= floorTokens
  if (leftTokens < 0) return -1
  const texts = parts.map(({ tokens, floorTokens }) => tokens - floorTokens).sort((a, b) => a - b)
  for (const [index, tokens] of texts.entries()) {
    const share = Math.floor(leftTokens / (texts.length - index))
    if (tokens > share) return share
    leftTokens -= tokens
  }
  return Infinity
}

/** What a view is made of. */
type Whole = { readonly type: SurfaceEventType; readonly seq: Seq; readonly data: { readonly content: readonly ContentBlock[] } }

/** Null where nothing can be left out. */
function smallestView({ type, seq, data: { content } }: Whole, size: ViewSize): readonly ContentBlock[] | null {
  return type === 'assistant/message' ? answerViewOf(content, 0, size, seq) : viewOf(content, NO_TEXT, seq)
}

/**
 * The largest view, near enough, of at most `maxTokens`, head and tail in the proportion of `size`. Each round aims at the
 * budget and takes at least a tenth off; without any text a view is at its floor.
 */
function viewWithin(
  { type, seq, data: { content } }: Whole,
  size: ViewSize,
  floorTokens: number,
  maxTokens: number,
  price: (content: readonly ContentBlock[]) => number,
): readonly ContentBlock[] {
  const { headChars, tailChars } = size
  let chars = type === 'assistant/message' ? longestText(content) : textChars(content)
  let tokens = price(content)
  let view = content
  while (tokens > maxTokens && chars > 0) {
    chars = Math.floor(chars * Math.min(0.9, (maxTokens - floorTokens) / (tokens - floorTokens)))
    const tail = Math.floor((chars * tailChars) / (headChars + tailChars))
    view = type === 'assistant/message' ? answerViewOf(content, chars, size, seq) : (viewOf(content, { headChars: chars - tail, tailChars: tail }, seq) ?? content)
    tokens = price(view)
  }
  return view
}

/** An entry that may give way, with the event that holds its whole text. */
interface Shortenable {
  readonly event: SurfaceEvent
  readonly original: SurfaceEvent
  readonly tokens: number
}

function rewriteTo(content: readonly ContentBlock[], { event, original, tokens }: Shortenable, price: Price): Rewrite | null {
  const savedTokens = tokens - price(event, content)
  return savedTokens > 0 ? { replacedSeq: event.seq, originalSeq: original.seq, content, savedTokens } : null
}

function isOversized(content: readonly ContentBlock[], thresholdChars: number): boolean {
  let units = 0
  for (const block of content) if (block.type === 'text') units += block.text.length
  return units > thresholdChars && textChars(content) > thresholdChars
}
