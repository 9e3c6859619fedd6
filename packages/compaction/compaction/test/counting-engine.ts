/**
 * An engine unlike the others: its summary is a count, it keeps the last unit and nothing else, and it measures characters.
 */
import { isSurfaceEvent, latestContext, messageOfEvent, openStep, openTurn, type Position, type Seq, type Session } from '@deepseek-ai/dsh-session'
import {
  COMPACT_CHECKPOINT_SOURCE,
  CompactionEngine,
  liveCompaction,
  ManualCompactionError,
  openCallsAt,
  toolPairingBalancedAfter,
  toolPairingBalancedBefore,
  type CompactionAgent,
  type CompactionFailureCode,
  type CompactionResult,
  type CompactionTrigger,
} from '../src/index.ts'

const CHARS_PER_TOKEN = 4

interface Plan {
  readonly session: Session
  readonly trigger: CompactionTrigger
  /** Entries [from, to). */
  readonly from: Position
  readonly to: Position
  readonly signal: AbortSignal
}

/** The bracket was closed with this code; `cause` is what was thrown. */
class Ended extends Error {
  readonly code: CompactionFailureCode

  constructor(code: CompactionFailureCode, cause: unknown) {
    super(cause instanceof Error ? cause.message : 'aborted', { cause })
    this.code = code
  }
}

/** Words for a summary, or null for a count. */
export type Words = () => Promise<string | null>

export class CountingEngine extends CompactionEngine {
  private readonly words: Words
  private readonly unloading = new AbortController()
  private readonly running = new Set<Promise<unknown>>()

  constructor(ctx: ConstructorParameters<typeof CompactionEngine>[0], config: { readonly words: Words }) {
    super(ctx)
    this.words = config.words
    ctx.effect(() => async () => {
      this.unloading.abort(new Error('unloaded'))
      await Promise.allSettled(this.running)
    })
  }

  async compactIfNeeded({ session }: CompactionAgent, trigger: 'pressure' | 'context-overflow', signal: AbortSignal): Promise<CompactionResult | null> {
    admit(session, signal)
    const window = latestContext(session)?.data.contextWindow
    const isOver = (): boolean => window !== undefined && tokensOf(session, 0, session.surface.entries.length) >= window
    const to = lastCut(session)
    if (to === null || (trigger === 'pressure' && !isOver())) return null
    try {
      const result = await this.compact({ session, trigger, from: 0, to, signal })
      return { ...result, converged: trigger !== 'pressure' || !isOver() }
    } catch (error) {
      throw error instanceof Ended ? error.cause : error
    }
  }

  async compactNow(agent: CompactionAgent, signal: AbortSignal): Promise<CompactionResult | null> {
    const { session } = agent
    admit(session, signal)
    return whileIdle(agent, signal, async abort => {
      const to = lastCut(session)
      return to === null ? null : this.compact({ session, trigger: 'manual', from: 0, to, signal: abort })
    })
  }

  async compactRegion(start: Seq, end: Seq, agent: CompactionAgent, signal = new AbortController().signal): Promise<CompactionResult> {
    const { session } = agent
    admit(session, signal)
    const step = openStep(session)
    if (step !== null) throw new Error(`step ${step.step} is open`)
    const safe = toolPairingBalancedBefore(session, start) && toolPairingBalancedAfter(session, end)
    const [from, last] = [session.surface.positionOf(start)!, session.surface.positionOf(end)!]
    if (!safe || from > last) throw new Error(`${start}–${end} is no span of whole units`)
    const compact = (abort: AbortSignal) => this.compact({ session, trigger: 'region', from, to: last + 1, signal: abort })
    return agent.status === 'idle' ? whileIdle(agent, signal, compact) : asked(session, signal, compact(signal))
  }

  private async compact(plan: Plan): Promise<CompactionResult> {
    const running = this.attempt({ ...plan, signal: AbortSignal.any([plan.signal, this.unloading.signal]) })
    this.running.add(running)
    return running.finally(() => this.running.delete(running))
  }

  private async attempt({ session, trigger, from, to, signal }: Plan): Promise<CompactionResult> {
    const shadowedSeqs = session.surface.entries.slice(from, to)
    const shadowedRange = { start: shadowedSeqs[0]!, end: shadowedSeqs.at(-1)! }
    const shadowedTokens = tokensOf(session, from, to)
    const seen = [...session.surface.entries]
    const turn = openTurn(session)
    const startSeq = session.append('compaction/start', { turn, trigger }).seq
    const end = (failure?: Ended): Seq => {
      try {
        return session.append('compaction/end', { startSeq, turn, ...(failure && { error: failure.message, code: failure.code }) }).seq
      } catch (error) {
        throw new Ended('commit', error)
      }
    }
    try {
      const text = (await this.ask(shadowedSeqs.length, signal)).trim()
      const checkpoint = [{ type: 'text', text }] as const
      const checkpointTokens = Math.ceil(JSON.stringify(checkpoint).length / CHARS_PER_TOKEN)
      if (text === '') throw new Ended('summary', new Error('the summary is empty'))
      const { entries } = session.surface
      const same = shadowedSeqs.every((seq, index) => entries[from + index] === seq)
      const whole = entries.length === seen.length && entries.every((seq, index) => seq === seen[index])
      if (trigger === 'manual' || trigger === 'region' ? !same : !whole) throw new Ended('changed', new Error('the conversation changed'))
      if (checkpointTokens >= shadowedTokens) throw new Ended('not-smaller', new Error('the checkpoint is not smaller'))
      const [summary, replacement] = commit(() => {
        const record = { startSeq, summary: checkpoint, shadowedRange, shadowedSeqs, shadowedTokens, strategy: 'custom' } as const
        const { seq } = session.append('compaction/summary', record)
        const placement = { surfaceOp: { op: 'replace', ...shadowedRange }, sourceEventSeqs: [startSeq, seq, ...shadowedSeqs] } as const
        return [seq, session.append('user/message', { content: checkpoint, source: COMPACT_CHECKPOINT_SOURCE }, placement).seq] as const
      })
      const closed = { startSeq, summarySeq: summary, replacementSeq: replacement, endSeq: end() }
      return { ...closed, summary: checkpoint, shadowedRange, shadowedSeqs, shadowedTokens, checkpointTokens, converged: true }
    } catch (error) {
      // The end itself failed: that was the one attempt at it.
      if (error instanceof Ended && liveCompaction(session)?.summarized === true && session.surface.entries[from] !== shadowedSeqs[0]) throw error
      const failure = error instanceof Ended ? error : new Ended(signal.aborted ? 'aborted' : 'summary', error)
      end(failure)
      throw failure
    }
  }

  /** Rejects with the signal's reason as soon as it aborts. */
  private async ask(count: number, signal: AbortSignal): Promise<string> {
    const { promise, reject } = Promise.withResolvers<never>()
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      const words = await Promise.race([this.words(), promise])
      signal.throwIfAborted()
      return words ?? `${count} entries stood here.`
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }
}

function admit(session: Session, signal: AbortSignal): void {
  signal.throwIfAborted()
  if (liveCompaction(session) !== null) throw new ManualCompactionError('busy', 'another compaction is running', { reason: 'compaction' })
}

async function whileIdle<T>(agent: CompactionAgent, signal: AbortSignal, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (agent.status !== 'idle') throw new ManualCompactionError('busy', 'the agent is working', { reason: 'agent' })
  return agent.runMaintenance(abort => asked(agent.session, signal, task(AbortSignal.any([signal, abort]))))
}

/** What somebody asked for, in the codes that were promised to them, and durable. */
async function asked<T>(session: Session, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const result = await work.catch((error: unknown) => {
    if (!(error instanceof Ended)) throw error
    if (error.code === 'aborted') throw signal.aborted ? signal.reason : new ManualCompactionError('cancelled', 'cancelled', { cause: error.cause })
    throw new ManualCompactionError(error.code === 'not-smaller' ? 'summary' : error.code, error.message, { cause: error.cause })
  })
  if (result === null) return result
  await session.flush().catch((cause: unknown) => {
    throw new ManualCompactionError('persistence', 'the compaction is not durable', { cause })
  })
  return result
}

function commit<T>(write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw new Ended('commit', error)
  }
}

/** The cut before the last unit; null where nothing stands before it, or an open call reaches across. */
function lastCut(session: Session): Position | null {
  for (let cut = session.surface.entries.length - 1; cut > 0; cut--) if (openCallsAt(session, cut) === 0) return cut
  return null
}

function tokensOf(session: Session, from: Position, to: Position): number {
  const events = session.surface.entries.slice(from, to).map(seq => session.log.at(seq)).filter(isSurfaceEvent)
  return Math.ceil(events.map(event => JSON.stringify(messageOfEvent(event)).length).reduce((sum, each) => sum + each, 0) / CHARS_PER_TOKEN)
}
