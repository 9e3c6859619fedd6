/**
 * Measuring: what the next request of a session would cost, as one line per session and route.
 *
 *     total = u + s · (E − E₀)
 *
 * Pure. E is the estimate of envelope + surface + pending; (E₀, u) are E as sent and the prompt side of the usage of the
 * route's last believed answer; s is what a token of estimate really costs there. Envelope changes, replacements and prunes
 * need no special case: they move E. A route that has not answered yet is measured by E alone.
 *
 * All of it is one fold, so a question costs the events since the last one; after that it is O(1).
 */
import { isSilentOverflow, promptTokens, type FinishReason, type Message, type TokenUsage, type ToolSchema } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, messageOfEvent, type Fold, type FoldReader, type Position, type SessionEvent, type SurfaceChange } from '@deepseek-ai/dsh-session'
import { estimator, type EstimatorOptions } from './estimate.ts'

/** What a request is sent with beside its messages; the data of a `request/header` will do. */
export interface RequestEnvelope {
  readonly config: { readonly provider: string; readonly model: string }
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
}

export interface MeasureOptions {
  /** In place of the latest logged header, for its route and its price; costs its length. */
  readonly header?: RequestEnvelope
  /** Messages about to be appended; costs their length. */
  readonly pending?: readonly Message[]
}

export interface Measurement {
  /** What the next request would cost; an integer. */
  readonly totalTokens: number
  /** Unscaled estimates, integers: their sum is E, and `totalTokens` itself unless the basis is usage. */
  readonly envelopeTokens: number
  readonly surfaceTokens: number
  readonly pendingTokens: number
  /** `none`: nothing to measure. `estimate`: E. `usage`: the route's line. */
  readonly basis: 'none' | 'estimate' | 'usage'
  /** Real tokens for each estimated one, 0.5–3; 1 until the route has taught otherwise. Whoever weighs entries multiplies by it. */
  readonly slope: number
}

export interface TokenMeter {
  measure(session: FoldReader, options?: MeasureOptions): Measurement
  /**
   * The unscaled price of one surface entry; an integer.
   *
   * @throws RangeError when the surface has no such position.
   */
  tokensAt(session: FoldReader, position: Position): number
  /** The unscaled price of every entry, by position. A view that changes with the surface: whoever keeps it copies it. */
  entryTokens(session: FoldReader): readonly number[]
  estimateMessage(message: Message): number
  estimateEnvelope(system?: string, tools?: readonly ToolSchema[]): number
}

/** A meter of its own fold. @throws what {@link estimator} throws. */
export function tokenMeter(options: EstimatorOptions = {}): TokenMeter {
  const estimate = estimator(options)
  const fold = meterFold(estimate)
  return {
    measure(session, { header, pending = [] } = {}) {
      const state = session.read(fold)
      const envelopeTokens = header === undefined ? state.envelopeTokens : estimate.envelope(header.system, header.tools)
      const { surfaceTokens } = state
      const pendingTokens = pending.reduce((sum, message) => sum + estimate.message(message), 0)
      const parts = { envelopeTokens, surfaceTokens, pendingTokens }
      const estimateTokens = envelopeTokens + surfaceTokens + pendingTokens
      const route = header === undefined ? state.route : routeOf(header.config)
      const line = route === null ? undefined : lineOf(state, route)
      if (line !== undefined) return { totalTokens: onLine(line, estimateTokens), ...parts, basis: 'usage', slope: slopeOf(line) }
      const isEmpty = route === null && state.entryTokens.length === 0 && pending.length === 0
      return { totalTokens: estimateTokens, ...parts, basis: isEmpty ? 'none' : 'estimate', slope: 1 }
    },
    tokensAt(session, position) {
      const { entryTokens } = session.read(fold)
      const tokens = entryTokens[position]
      if (tokens === undefined) throw new RangeError(`no entry at position ${position}: the surface has ${entryTokens.length} entries`)
      return tokens
    },
    entryTokens: session => session.read(fold).entryTokens,
    estimateMessage: estimate.message,
    estimateEnvelope: estimate.envelope,
  }
}

/** Differences of estimate and usage between two answers of one route; integers, `estimateTokens` at least 1,000 either way. */
interface Sample {
  readonly estimateTokens: number
  readonly usageTokens: number
}

/** What one route has taught. */
interface Line {
  /** E₀ and u: the last believed answer. */
  anchor: Sample
  /** The answer from which the next sample is measured: small steps add up until they say something. */
  mark: Sample
  /** The newest, oldest first. */
  readonly samples: Sample[]
  /** The weighted median of `samples`, chosen when they change; null before the first. */
  median: Sample | null
}

interface MeterState {
  /** By position. */
  readonly entryTokens: number[]
  surfaceTokens: number
  /** Of the latest header, 0 before it. */
  envelopeTokens: number
  /** Of the latest header. */
  route: string | null
  /** Requested route → the route that served it last, where a request was rerouted on its way. */
  readonly served: Map<string, string>
  /** Route → its capacity in tokens, where stated. */
  readonly windows: Map<string, number>
  readonly lines: Map<string, Line>
}

/**
 * Below this a difference is mostly noise: rounding, and structure that no estimate knows. Tokens.
 */
const MIN_SAMPLE_TOKENS = 1_000
/**
 * Over the recorded sessions that it was chosen on (471 differences of `bench/meter.ts`) the weighted median of the last 32 samples predicts a
 * difference within 7.4 % (median), the last 16 within 7.8 %, the last one alone within 9 %; unlike a sum it shrugs off the
 * odd answer whose request held what no log shows.
 */
const MAX_SAMPLES = 32
/**
 * What one sample can weigh, in estimated tokens, so that a single compaction does not outvote a hundred steps: uncapped, one
 * of those sessions goes from 9 % to 21 %.
 */
const MAX_SAMPLE_WEIGHT = 8_000
const MIN_SLOPE = 0.5
const MAX_SLOPE = 3

function meterFold(estimate: ReturnType<typeof estimator>): Fold<MeterState> {
  return {
    init: () => ({ entryTokens: [], surfaceTokens: 0, envelopeTokens: 0, route: null, served: new Map(), windows: new Map(), lines: new Map() }),
    apply(state, event, change) {
      switch (event.type) {
        case 'request/header': {
          const { config, system, tools } = event.data
          state.envelopeTokens = estimate.envelope(system, tools)
          state.route = routeOf(config)
          break
        }
        case 'request/context':
          // A learned limit is a guess from a refusal; it must not discredit the usage that disproves it.
          if (event.data.learned === true) break
          if (event.data.contextWindow === undefined) state.windows.delete(routeOf(event.data))
          else state.windows.set(routeOf(event.data), event.data.contextWindow)
          break
        case 'assistant/message':
          // Before its own entry joins the surface: that is what was sent.
          learn(state, event)
          break
      }
      if (change !== null && isSurfaceEvent(event)) {
        const message = messageOfEvent(event)
        reprice(state, message === null ? 0 : estimate.message(message), change)
      }
      return state
    },
  }
}

function reprice(state: MeterState, tokens: number, { at, removed }: SurfaceChange): void {
  const { entryTokens } = state
  state.surfaceTokens += tokens
  for (let position = at; position < at + removed.length; position++) state.surfaceTokens -= entryTokens[position]!
  if (removed.length === 0) entryTokens.push(tokens)
  else if (removed.length === 1) entryTokens[at] = tokens
  else entryTokens.splice(at, removed.length, tokens)
}

function learn(state: MeterState, { data, surfaceOp }: SessionEvent<'assistant/message'>): void {
  const { usage, finish, interrupted } = data
  const route = routeOf(data)
  if (usage === undefined || interrupted === true || surfaceOp !== 'append') return
  const estimateTokens = state.envelopeTokens + state.surfaceTokens
  const line = state.lines.get(route)
  const sentTokens = line === undefined ? estimateTokens : onLine(line, estimateTokens)
  if (!isBelieved(usage, finish, state.windows.get(route), sentTokens)) return
  if (state.route !== null && state.route !== route) state.served.set(state.route, route)
  else if (state.route !== null) state.served.delete(state.route)
  const answer: Sample = { estimateTokens, usageTokens: promptTokens(usage) }
  if (line === undefined) {
    state.lines.set(route, { anchor: answer, mark: answer, samples: [], median: null })
    return
  }
  line.anchor = answer
  const sample: Sample = {
    estimateTokens: answer.estimateTokens - line.mark.estimateTokens,
    usageTokens: answer.usageTokens - line.mark.usageTokens,
  }
  if (Math.abs(sample.estimateTokens) < MIN_SAMPLE_TOKENS) return
  line.mark = answer
  line.samples.push(sample)
  if (line.samples.length > MAX_SAMPLES) line.samples.shift()
  line.median = weightedMedian(line.samples)
}

/**
 * Whether a usage can be that of the whole request: not zero, every part a non-negative integer, the reasoning a part of the
 * output, no more than the window holds, and no sign of a request that was silently cut to it. `sentTokens` is what the request
 * was thought to cost.
 */
function isBelieved(usage: TokenUsage, finish: FinishReason, windowTokens: number | undefined, sentTokens: number): boolean {
  const { inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, outputTokens, reasoningTokens = 0 } = usage
  const parts = [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens]
  if (!parts.every(part => Number.isSafeInteger(part) && part >= 0)) return false
  const tokens = promptTokens(usage)
  if (tokens === 0 || reasoningTokens > outputTokens) return false
  if (windowTokens === undefined) return true
  return tokens <= windowTokens && !isSilentOverflow({ usage, finish, contextWindow: windowTokens, estimateTokens: sentTokens })
}

/** The sample in the middle by slope, each weighing what it spans, up to a cap. `samples` is not empty. */
function weightedMedian(samples: readonly Sample[]): Sample {
  const weight = (sample: Sample) => Math.min(MAX_SAMPLE_WEIGHT, Math.abs(sample.estimateTokens))
  const bySlope = samples.toSorted((a, b) => a.usageTokens / a.estimateTokens - b.usageTokens / b.estimateTokens)
  const total = samples.reduce((sum, sample) => sum + weight(sample), 0)
  let below = 0
  for (const sample of bySlope) {
    below += weight(sample)
    if (2 * below >= total) return sample
  }
  return bySlope.at(-1)!
}

function slopeOf({ median }: Line): number {
  if (median === null) return 1
  return Math.max(MIN_SLOPE, Math.min(MAX_SLOPE, median.usageTokens / median.estimateTokens))
}

function onLine(line: Line, estimateTokens: number): number {
  return Math.max(0, Math.round(line.anchor.usageTokens + slopeOf(line) * (estimateTokens - line.anchor.estimateTokens)))
}

/** The line of the route that a request for `route` ends up on. */
function lineOf(state: MeterState, route: string): Line | undefined {
  return state.lines.get(state.served.get(route) ?? route)
}

/** A provider's name holds no line feed, so the two parts cannot run into each other. */
function routeOf({ provider, model }: { readonly provider: string; readonly model: string }): string {
  return `${provider}\n${model}`
}
