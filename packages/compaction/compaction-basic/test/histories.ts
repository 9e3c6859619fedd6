/**
 * Random histories: what can happen to a conversation, and how a summarizer can answer, as values that fast-check draws and
 * shrinks.
 *
 * Pure.
 */
import fc from 'fast-check'

/** What a message is made of. */
export type Words = 'prose' | 'code' | 'chinese' | 'image' | 'tags' | 'reasoning' | 'nothing'

/** How the summarizing model answers every request of one check. */
export const SUMMARIZERS = [
  'good', 'empty', 'whitespace', 'reasoning only', 'cut off', 'filtered', 'tool call only', 'text and tool call', 'image', 'long', 'too long', 'next to nothing',
  'throws', 'breaks off', 'breaks off once', 'overflow once', 'overflow always', 'slow', 'message meanwhile', 'rewrite meanwhile',
] as const
export type Summarizer = (typeof SUMMARIZERS)[number]

export const ENTRIES = ['pre-step', 'request-error', 'pressure', 'overflow', 'now', 'region'] as const
export type Entry = (typeof ENTRIES)[number]

/** One call of the engine, and what befalls it. */
export interface Compact {
  readonly kind: 'compact'
  readonly entry: Entry
  readonly summarizer: Summarizer
  /** Of the summary. */
  readonly size: number
  /** A region's place and length, in entries, or in units where it is to be a lawful one. */
  readonly from: number
  readonly span: number
  readonly lawful: boolean
  /** Somebody cancels so many microtasks after the call, if it still runs; null for nobody. */
  readonly abort: { readonly by: 'caller' | 'agent'; readonly afterTicks: number } | null
  /** The store refuses the events numbered so from the call on; null for none. */
  readonly refused: { readonly from: number; readonly count: number } | null
  /** Tokens that a provider's refusal names as its limit; null where it names none. */
  readonly limitTokens: number | null
}

export type Operation =
  | { readonly kind: 'person' | 'context'; readonly what: Words; readonly size: number }
  | { readonly kind: 'answer'; readonly what: Words; readonly size: number; readonly usage: number }
  /** Calls, whose ids repeat and may be empty, with results in some order; some checks happen before the last of them is there. */
  | { readonly kind: 'step'; readonly calls: readonly number[]; readonly order: number; readonly what: Words; readonly size: number; readonly inside: Compact | null }
  /** A person cancels: while the model speaks, or with so many calls answered. */
  | { readonly kind: 'cancel'; readonly calls: readonly number[]; readonly answered: number; readonly what: Words }
  | { readonly kind: 'rewrite'; readonly at: number }
  | { readonly kind: 'route'; readonly model: number }
  /** The process dies so many events ago, also inside a step or a compaction, and another goes on with the log. */
  | { readonly kind: 'reload'; readonly short: number }
  /** A new session goes on from the end of an earlier turn. */
  | { readonly kind: 'fork'; readonly turnsBack: number }
  | Compact

const words = fc.oneof({ weight: 5, arbitrary: fc.constant<Words>('prose') }, fc.constantFrom<Words>('code', 'chinese', 'image', 'tags', 'reasoning', 'nothing'))
const size = fc.nat({ max: 7 })
const calls = fc.oneof(
  { weight: 12, arbitrary: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.array(fc.nat({ max: 3 }), { minLength: 30, maxLength: 30 }) },
)

const compact: fc.Arbitrary<Compact> = fc.record({
  kind: fc.constant('compact'),
  entry: fc.constantFrom(...ENTRIES),
  summarizer: fc.oneof({ weight: 2, arbitrary: fc.constant<Summarizer>('good') }, { weight: 3, arbitrary: fc.constantFrom(...SUMMARIZERS) }),
  size,
  from: fc.nat({ max: 20 }),
  span: fc.nat({ max: 8 }),
  lawful: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  abort: fc.option(fc.record({ by: fc.constantFrom('caller', 'agent'), afterTicks: fc.nat({ max: 120 }) }), { freq: 5 }),
  refused: fc.option(fc.record({ from: fc.nat({ max: 4 }), count: fc.constantFrom(1, 1_000) }), { freq: 8 }),
  limitTokens: fc.option(fc.constantFrom(10, 1_030, 1_500, 1_000_000), { freq: 2 }),
})

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('person' as const, 'context' as const), what: words, size }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('answer' as const), what: words, size, usage: fc.nat({ max: 4 }) }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('step' as const), calls, order: fc.nat({ max: 5 }), what: words, size, inside: fc.option(compact, { freq: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), calls, answered: fc.nat({ max: 4 }), what: words }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rewrite' as const), at: fc.nat({ max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('route' as const), model: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reload' as const), short: fc.nat({ max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fork' as const), turnsBack: fc.nat({ max: 2 }) }) },
  { weight: 6, arbitrary: compact },
)

/** A history is played by the engine of one of the stages, told by its number. */
export function histories(stages: number): fc.Arbitrary<{ readonly stage: number; readonly operations: readonly Operation[] }> {
  return fc.record({ stage: fc.nat({ max: stages - 1 }), operations: fc.array(operation, { minLength: 8, maxLength: 18 }) })
}
