/**
 * Compactor: decides when to compact and where to cut, and maps what comes of it to what callers were promised. The engine's
 * whole policy, without its registration.
 */
import type { PreStepEvent, RequestErrorEvent, RequestEvent } from '@deepseek-ai/dsh-agent'
import {
  isCompactCheckpointSource,
  liveCompaction,
  ManualCompactionError,
  openCallsAt,
  type CompactionAgent,
  type CompactionResult,
  type CompactionTrigger,
} from '@deepseek-ai/dsh-compaction'
import { messageOf, textOf, type ContentBlock, type LlmFailure, type LlmService, type Message } from '@deepseek-ai/dsh-llm'
import { latestHeader, type CallConfig, type FoldReader, type Position, type Seq, type Session } from '@deepseek-ai/dsh-session'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { breaker, isUseful, type Breaker } from './breaker.ts'
import { frame } from './checkpoint.ts'
import type { CompactionPolicy, ResolvedCompactionConfig } from './config.ts'
import { spanEntries } from './entries.ts'
import { answerFold, isOverflow, learnedFold, routeKey, SMALLEST_LEARNED_TOKENS } from './history.ts'
import { checkRetention, limitsOf, summaryTokens, type Limits } from './limits.ts'
import { pinFold, pinnedMessages } from './pins.ts'
import { regionSpan } from './region.ts'
import { fitRequest, fitTail, halveTail, isSafe, pruneRead, type Pruned, type Pruner } from './relief.ts'
import { retentionCut, unreadCut, type PricedSurface } from './retention.ts'
import { SUMMARY_OVERRUN, UnusableSummaryError, type CallBudget, type Route, type Summary, type SummaryInput } from './summarize.ts'
import { CompactionFailure, compactSpan, type Attempt, type Span } from './transaction.ts'

/** What a compactor works with. */
export interface CompactorHost {
  readonly llm: Pick<LlmService, 'stream' | 'resolveModelInfo'>
  readonly meter: TokenMeter
  readonly config: ResolvedCompactionConfig
  /** Where one is loaded. */
  readonly pruner: () => Pruner | undefined
  /** Makes one summary of the span; what it throws fails the attempt. */
  readonly summarize: (input: SummaryInput, agent: CompactionAgent, signal: AbortSignal) => Promise<Summary>
  readonly warn: (message: string) => void
}

export class Compactor {
  private readonly host: CompactorHost
  private readonly meter: TokenMeter
  private readonly breaker: Breaker
  /** Aborts every running attempt when the engine is unloaded. */
  private readonly unloading = new AbortController()
  private readonly attempts = new Set<Promise<unknown>>()
  /** Routes whose capacity nobody knows, told once each. */
  private readonly unknownRoutes = new Set<string>()
  /** Sessions whose breaker has held since the last useful attempt, told once. */
  private readonly held = new WeakSet<Session>()

  constructor(host: CompactorHost) {
    this.host = host
    this.meter = host.meter
    this.breaker = breaker(host.meter.estimateMessage)
  }

  /** Aborts what is running and waits until it has closed its bracket. */
  async unload(): Promise<void> {
    this.unloading.abort(new Error('the compaction engine was unloaded'))
    await Promise.allSettled(this.attempts)
  }

  /** Reads every fold that a decision will ask for, so that they see a stored log in the one pass that loads it. */
  follow(log: FoldReader): void {
    for (const fold of [answerFold, learnedFold, pinFold, this.breaker.fold]) log.read<unknown>(fold)
  }

  async compactIfNeeded(agent: CompactionAgent, trigger: 'pressure' | 'context-overflow', signal: AbortSignal): Promise<CompactionResult | null> {
    signal.throwIfAborted()
    refuseLiveLock(agent.session)
    return trigger === 'pressure' ? this.underPressure(agent, [], signal) : this.afterOverflow(agent, signal)
  }

  async compactNow(agent: CompactionAgent, signal: AbortSignal): Promise<CompactionResult | null> {
    signal.throwIfAborted()
    refuseLiveLock(agent.session)
    return this.maintain(agent, signal, async abort => {
      const cut = retentionCut(this.pricedSurface(agent.session), 0)
      const attempt = cut === null ? null : this.prepare(agent, { from: 0, to: cut }, this.manualCheck(agent, 'manual', abort))
      return attempt === null ? null : this.run(attempt)
    })
  }

  async compactRegion(start: Seq, end: Seq, agent: CompactionAgent, signal?: AbortSignal): Promise<CompactionResult> {
    signal?.throwIfAborted()
    const { session } = agent
    refuseLiveLock(session)
    const span = regionSpan(session, start, end)
    const task = async (abort: AbortSignal): Promise<CompactionResult> => {
      const attempt = this.prepare(agent, span, this.manualCheck(agent, 'region', abort))
      if (attempt === null) throw new Error(`nothing is gained by compacting ${start}–${end}: it is hardly larger than the frame of a checkpoint`)
      return this.run(attempt)
    }
    const caller = signal ?? new AbortController().signal
    return agent.status === 'idle' ? this.maintain(agent, caller, task) : this.asManual(session, caller, caller, task)
  }

  /** The price of a text by itself, in tokens. */
  readonly estimateText = (text: string): number => this.meter.estimateMessage({ role: 'user', content: [{ type: 'text', text }] })

  /** Of the latest route, or of the one the agent will begin with; null where its window is not known. */
  thresholdTokens(agent: CompactionAgent): number | null {
    const route = this.routeOf(agent)
    if (route === null) return null
    const config = latestHeader(agent.session)?.data.config ?? { ...route, ...(agent.options.maxTokens === undefined ? {} : { maxTokens: agent.options.maxTokens }) }
    return this.limits(agent.session, this.policyOf(agent), config)?.thresholdTokens ?? null
  }

  // ── by itself ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Before a step: compacts under pressure; whatever goes wrong, the run goes on. */
  async relieve({ agent, messages, signal }: PreStepEvent): Promise<void> {
    const { session } = agent
    try {
      signal.throwIfAborted()
      refuseLiveLock(session)
      const pending = messages.map((message): Message => ({ role: 'user', content: message.content }))
      await this.underPressure(agent, pending, signal, limits => this.isHeld(session, limits))
    } catch (error) {
      if (!signal.aborted) this.warn(session, `compaction failed, the run goes on with what it has: ${messageOf(error)}`)
    }
  }

  /**
   * Before a request is made, its input entered: shortens what no request of this route could hold. Whatever goes wrong, the
   * request is made, and its provider has the last word.
   */
  fit({ agent: { session }, envelope }: Pick<RequestEvent, 'agent' | 'envelope'>, config: CallConfig): void {
    const pruner = this.host.pruner()
    if (pruner === undefined) return
    try {
      const limits = this.limits(session, this.host.config.policyFor(config.provider, config.model), config)
      if (limits === null || liveCompaction(session) !== null) return
      // The first request's envelope is not logged yet.
      const aroundTokens = latestHeader(session) === null ? this.meter.estimateEnvelope(envelope.system, envelope.tools) : 0
      if (isSafe(limits, this.meter.measure(session).totalTokens + aroundTokens)) return
      let entered = session.surface.entries.length
      while (entered > 0 && this.isInput(session, entered - 1)) entered -= 1
      fitRequest(pruner, this.meter, session, Math.min(entered, this.unreadTail(session, null)), limits, aroundTokens)
    } catch (error) {
      this.warn(session, `what is too large was not shortened: ${messageOf(error)}`)
    }
  }

  /** After a refused request: whether the surface really became smaller, so that the request is worth another try. */
  async recover({ agent, failure, signal }: RequestErrorEvent): Promise<boolean> {
    const { session } = agent
    if (!isOverflow(failure) || session.read(answerFold).overflowRetries >= this.policyOf(agent).maxOverflowRetries) return false
    const generation = session.surface.replaceGeneration
    try {
      signal.throwIfAborted()
      this.learnLimit(session, failure)
      refuseLiveLock(session)
      await this.afterOverflow(agent, signal)
    } catch (error) {
      if (!signal.aborted) this.warn(session, `compaction after an overflow failed: ${messageOf(error)}`)
    }
    return session.surface.replaceGeneration > generation && !signal.aborted && !this.unloading.signal.aborted
  }

  /** A limit that the provider named is the session's from now on, unless it cannot be one. */
  private learnLimit(session: Session, { limitTokens, requestedTokens }: LlmFailure): void {
    const config = latestHeader(session)?.data.config
    if (config === undefined || limitTokens === undefined || limitTokens < SMALLEST_LEARNED_TOKENS) return
    const sentTokens = requestedTokens ?? this.meter.measure(session).totalTokens
    if (limitTokens > sentTokens || session.read(learnedFold).get(routeKey(config)) === limitTokens) return
    const { provider, model } = config
    if (this.host.llm.resolveModelInfo(provider, model)?.contextWindow === limitTokens) return
    session.append('request/context', { provider, model, contextWindow: limitTokens, learned: true })
  }

  /**
   * What pruning can do, then rounds of compaction until the next request is under the threshold. Each round after the first
   * halves what is kept, and one that fails or saves next to nothing is the last.
   */
  private async underPressure(
    agent: CompactionAgent,
    claimed: readonly Message[],
    signal: AbortSignal,
    isHeld: (limits: Limits) => boolean = () => false,
  ): Promise<CompactionResult | null> {
    const { session } = agent
    const policy = this.policyOf(agent)
    const limits = this.limits(session, policy)
    if (limits === null) return null
    checkRetention(policy, limits)
    let pending = claimed
    const isOver = (limitTokens: number): boolean => this.meter.measure(session, { pending }).totalTokens >= limitTokens
    if (!isOver(limits.thresholdTokens)) return null
    const pruner = this.host.pruner()
    let pruned: readonly Pruned[] = []
    if (pruner !== undefined) {
      pruned = pruneRead(pruner, this.meter, session, this.unreadTail(session, limits), limits, pending)
      pending = fitTail(pruner, this.meter, session, this.unreadTail(session, limits), limits, pending)
    }
    if (!isOver(limits.thresholdTokens) || isHeld(limits)) return null

    const check: Check = { trigger: 'pressure', stable: 'surface', signal, pending, pruned, calls: callBudget(policy) }
    let result: CompactionResult | null = null
    let { retainTokens } = limits
    for (let round = 0; round <= policy.compactionRetries && check.calls.left > 0; round++) {
      const cut = this.pressureCut(session, limits, retainTokens, pending)
      const attempt = cut === null ? null : this.prepare(agent, { from: 0, to: cut }, check)
      if (attempt === null) break
      try {
        result = await this.run(attempt)
      } catch (error) {
        const cause = error instanceof CompactionFailure ? error.cause : error
        if (result === null || signal.aborted) throw cause
        this.warn(session, `a deeper compaction failed, what was won is kept: ${messageOf(cause)}`)
        break
      }
      if (!isOver(limits.thresholdTokens)) return result
      if (!isUseful(result.shadowedTokens, result.checkpointTokens)) break
      retainTokens = isOver(limits.requestTokens) ? 0 : Math.floor(retainTokens / 2)
    }
    return result === null ? null : { ...result, converged: false }
  }

  /**
   * What pruning can do, and one maximal reduction that keeps the newest unit, or the whole unread tail where that is known
   * to fit.
   */
  private async afterOverflow(agent: CompactionAgent, signal: AbortSignal): Promise<CompactionResult | null> {
    const { session } = agent
    const policy = this.policyOf(agent)
    const limits = this.limits(session, policy)
    const pruner = this.host.pruner()
    const generation = session.surface.replaceGeneration
    const unread = this.unreadTail(session, limits)
    pruner?.prune(session, { before: unread })
    if (pruner !== undefined && limits !== null) fitTail(pruner, this.meter, session, unread, limits, [])
    const tailCut = limits === null ? null : this.pressureCut(session, limits, 0, [])
    const cut = tailCut ?? retentionCut(this.pricedSurface(session), 0)
    // Nothing sent is warm here, the request was refused: the summarizer gets the pruned form.
    const check: Check = { trigger: 'context-overflow', stable: 'surface', signal, pending: [], pruned: [], calls: callBudget(policy) }
    const attempt = cut === null ? null : this.prepare(agent, { from: 0, to: cut }, check)
    if (attempt === null) {
      if (pruner !== undefined && session.surface.replaceGeneration === generation) halveTail(pruner, this.meter, session, unread)
      return null
    }
    try {
      return await this.run(attempt)
    } catch (error) {
      throw error instanceof CompactionFailure ? error.cause : error
    }
  }

  /** The cut that pressure takes; null where none helps, because what must stay fills the window alone. */
  private pressureCut(session: Session, limits: Limits, retainTokens: number, pending: readonly Message[]): number | null {
    const { totalTokens, slope } = this.meter.measure(session, { pending })
    const surface = this.pricedSurface(session, slope)
    const unread = this.unreadTail(session, limits)
    const keptTokens = totalTokens - spanTokens(surface, { from: 0, to: unread })
    return keptTokens >= limits.requestTokens ? null : retentionCut(surface, retainTokens, unread)
  }

  /** The cut before what the model has not seen answered yet; all of it where no limits are given. */
  private unreadTail(session: Session, limits: Limits | null): Position {
    const surface = this.pricedSurface(session, this.meter.measure(session).slope)
    return unreadCut(surface, session.surface.positionOf(session.read(answerFold).answerSeq), limits?.retainTokens ?? Infinity)
  }

  private isInput(session: Session, position: Position): boolean {
    const event = session.log.at(session.surface.entries[position]!)
    return event.type === 'user/message' && !isCompactCheckpointSource(event.data.source)
  }

  private isHeld(session: Session, limits: Limits): boolean {
    const state = session.read(this.breaker.fold)
    const reason = this.breaker.holds(state, limits.retainTokens)
    if (reason === null) {
      if (state.fruitless === 0) this.held.delete(session)
      return false
    }
    if (!this.held.has(session)) this.warn(session, `compaction under pressure waits: ${reason}`)
    this.held.add(session)
    return true
  }

  // ── on demand ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Runs `task` while the idle agent holds still. */
  private async maintain<T>(agent: CompactionAgent, caller: AbortSignal, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (agent.status !== 'idle') throw new ManualCompactionError('busy', `agent ${agent.id} is working; compact once it is idle`, { reason: 'agent' })
    return agent.runMaintenance(agentSignal => this.asManual(agent.session, caller, AbortSignal.any([caller, agentSignal]), task))
  }

  /** Runs `task`, flushes, and gives every failure its manual code. */
  private async asManual<T>(session: Session, caller: AbortSignal, signal: AbortSignal, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const generation = session.surface.replaceGeneration
    let result: T
    try {
      result = await task(signal)
    } catch (error) {
      throw manualError(error, caller)
    }
    if (session.surface.replaceGeneration === generation) return result
    try {
      await session.flush()
    } catch (error) {
      throw new ManualCompactionError('persistence', `the conversation was compacted, but storing that failed: ${messageOf(error)}`, { cause: error })
    }
    return result
  }

  // ── one attempt ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What compacting `span` takes; null where nothing useful would come of it. Writes nothing. */
  private prepare(agent: CompactionAgent, span: Span, check: Check): Attempt | null {
    const { session } = agent
    const { trigger, stable, signal, pending, pruned, calls } = check
    const shadowedTokens = spanTokens(this.pricedSurface(session), span)
    const isInSpan = (seq: Seq): boolean => {
      const position = session.surface.positionOf(seq)
      return position !== undefined && position >= span.from && position < span.to
    }
    const leaves = (seq: Seq): boolean => session.surface.positionOf(seq) === undefined || isInSpan(seq)
    const pins = pinnedMessages(session.read(pinFold), session.log, leaves, Math.floor(shadowedTokens / 4), this.estimateText)
    const frameTokens = this.estimateText(frame('', pins))
    if (shadowedTokens < 2 * frameTokens) return null

    const policy = this.policyOf(agent)
    const route = policy.summarizer ?? this.routeOf(agent)
    const limits = this.limits(session, policy)
    const { totalTokens, slope } = this.meter.measure(session, { pending })
    const keptTokens = Math.ceil(totalTokens - (shadowedTokens - frameTokens) * slope)
    const roomTokens = limits === null ? null : limits.requestTokens - keptTokens
    const summarizer = route === null ? undefined : this.host.llm.resolveModelInfo(route.provider, route.model)
    const windowTokens = (route === null ? undefined : this.windowOf(session, route)) ?? limits?.windowTokens
    const maxTokens = summaryTokens(policy, { ...summarizer, ...(windowTokens === undefined ? {} : { contextWindow: windowTokens }) }, roomTokens)
    if (this.isLoneCheckpoint(session, span) && shadowedTokens <= maxTokens + frameTokens) return null

    const header = latestHeader(session)?.data
    const isRouted = route !== null && header?.config.provider === route.provider && header.config.model === route.model
    const entries = spanEntries(session, span, new Map(pruned.map(({ seq, replacedSeq }) => [seq, replacedSeq])))
    const prunedTokens = pruned.reduce((sum, { seq, savedTokens }) => (isInSpan(seq) ? sum + savedTokens : sum), 0)
    const input: SummaryInput = {
      ...(header?.system === undefined ? {} : { system: header.system }),
      ...(header?.tools === undefined ? {} : { tools: header.tools }),
      ...(header?.config.reasoningEffort === undefined ? {} : { reasoningEffort: header.config.reasoningEffort }),
      messages: entries.map(entry => entry.message),
      entries,
      spanTokens: shadowedTokens,
      messageTokens: shadowedTokens + prunedTokens,
      maxTokens,
      ...(route === null ? {} : { route }),
      ...(windowTokens === undefined ? {} : { windowTokens: Math.floor(windowTokens / slope) }),
      isPrefix: isRouted && span.from === 0 && entries.every(({ seq }) => !isUnsent(session, seq)),
      calls,
      isLastResort: trigger === 'context-overflow',
    }
    return {
      session,
      span,
      trigger,
      stable,
      shadowedTokens,
      signal: AbortSignal.any([signal, this.unloading.signal]),
      summarize: abort => this.host.summarize(input, agent, abort),
      compose: summary => this.compose(summary, pins, maxTokens),
    }
  }

  private manualCheck(agent: CompactionAgent, trigger: CompactionTrigger, signal: AbortSignal): Check {
    return { trigger, stable: 'span', signal, pending: [], pruned: [], calls: callBudget(this.policyOf(agent)) }
  }

  private compose(summary: readonly ContentBlock[], pins: Parameters<typeof frame>[1], maxTokens: number): ReturnType<Attempt['compose']> {
    const text = textOf(summary)
    const tokens = this.estimateText(text)
    if (tokens > maxTokens * SUMMARY_OVERRUN) throw new UnusableSummaryError(`the summary of ${tokens} tokens is far longer than the ${maxTokens} asked for`)
    const content: readonly ContentBlock[] = [{ type: 'text', text: frame(text, pins) }]
    return { content, tokens: this.meter.estimateMessage({ role: 'user', content }) }
  }

  private async run(attempt: Attempt): Promise<CompactionResult> {
    const running = compactSpan(attempt)
    this.attempts.add(running)
    try {
      return { ...(await running), converged: true }
    } finally {
      this.attempts.delete(running)
    }
  }

  // ── what holds here ──────────────────────────────────────────────────────────────────────────────────────────────────

  private routeOf({ session, options }: CompactionAgent): Route | null {
    const config = latestHeader(session)?.data.config
    if (config !== undefined) return { provider: config.provider, model: config.model }
    const { provider, model } = options
    return provider === undefined || model === undefined ? null : { provider, model }
  }

  /** The policy of the latest route, or of the one the agent will begin with. */
  private policyOf(agent: CompactionAgent): CompactionPolicy {
    const route = this.routeOf(agent)
    return this.host.config.policyFor(route?.provider ?? '', route?.model ?? '')
  }

  /** The limits of the latest routed request; null before the first, and where its capacity is not known. */
  private limits(session: Session, policy: CompactionPolicy, config = latestHeader(session)?.data.config): Limits | null {
    if (config === undefined) return null
    const { provider, model } = config
    const route = `${provider}/${model}`
    const windowTokens = this.windowOf(session, config)
    if (windowTokens === undefined) {
      if (!this.unknownRoutes.has(route)) this.warn(session, `the context window of ${route} is not known, so pressure cannot be judged there`)
      this.unknownRoutes.add(route)
      return null
    }
    this.unknownRoutes.delete(route)
    return limitsOf(policy, windowTokens, this.host.llm.resolveModelInfo(provider, model) ?? {}, config.maxTokens)
  }

  /** What a route accepts, by its adapter or by a refusal that said so, whichever is less; undefined where neither is known. */
  private windowOf(session: Session, route: Route): number | undefined {
    const stated = this.host.llm.resolveModelInfo(route.provider, route.model)?.contextWindow
    const learned = session.read(learnedFold).get(routeKey(route))
    return stated === undefined || learned === undefined ? (stated ?? learned) : Math.min(stated, learned)
  }

  private pricedSurface(session: Session, slope = 1): PricedSurface {
    const tokens = this.meter.entryTokens(session)
    return {
      length: session.surface.entries.length,
      tokens: position => tokens[position]! * slope,
      openCalls: cut => openCallsAt(session, cut),
    }
  }

  private isLoneCheckpoint(session: Session, { from, to }: Span): boolean {
    if (to - from !== 1) return false
    const event = session.log.at(session.surface.entries[from]!)
    return event.type === 'user/message' && isCompactCheckpointSource(event.data.source)
  }

  private warn(session: Session, message: string): void {
    this.host.warn(`session ${session.id}: ${message}`)
  }
}

/** Whether an entry took another's place after the newest request: what was sent had the other there. */
function isUnsent(session: Session, seq: Seq): boolean {
  return seq > session.read(answerFold).stepEndSeq && session.log.at(seq).surfaceOp !== 'append'
}

/** What a span of a priced surface costs together. */
function spanTokens(surface: PricedSurface, { from, to }: Span): number {
  let tokens = 0
  for (let position = from; position < to; position++) tokens += surface.tokens(position)
  return tokens
}

/** What the attempts of one check have in common. */
interface Check extends Pick<Attempt, 'trigger' | 'stable' | 'signal'> {
  /** Claimed input that is about to be appended. */
  readonly pending: readonly Message[]
  /** What gave way to views in this check, and goes to the summarizer as it was last sent. */
  readonly pruned: readonly Pruned[]
  readonly calls: CallBudget
}

/** Model calls of one check, whatever its rounds and rungs. */
function callBudget({ compactionRetries }: CompactionPolicy): CallBudget {
  return { left: 1 + compactionRetries }
}

/** @throws ManualCompactionError `busy` where a compaction is running on the session. */
function refuseLiveLock(session: Session): void {
  const live = liveCompaction(session)
  if (live === null) return
  throw new ManualCompactionError('busy', `session ${session.id} is being compacted already (${live.trigger}, since seq ${live.startSeq})`, { reason: 'compaction' })
}

function manualError(error: unknown, caller: AbortSignal): unknown {
  if (!(error instanceof CompactionFailure)) return error
  const { code, cause } = error
  if (code === 'aborted') {
    return caller.aborted ? caller.reason : new ManualCompactionError('cancelled', 'the compaction was cancelled', { cause })
  }
  return new ManualCompactionError(code === 'not-smaller' ? 'summary' : code, error.message, { cause })
}
