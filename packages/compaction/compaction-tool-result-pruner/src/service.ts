/**
 * `ctx.toolResultPruner`: makes room without a model, by showing the beginning and the end of what is too long.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import { openCallsAt } from '@deepseek-ai/dsh-compaction'
import { messageOf, type Message } from '@deepseek-ai/dsh-llm'
import { messageOfEvent, teller, type Position, type Session, type Tell } from '@deepseek-ai/dsh-session'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { configSchema, type PrunerConfig } from './config.ts'
import { applyRewrites, planPrune, planShortening, previewShortened, type Price, type PricedEntry, type PruneLimits, type RewriteOutcome } from './prune.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    toolResultPruner: ToolResultPruner
  }
}

export interface PruneOptions {
  /** Only entries before this cut; those from it on the model has not seen answered. */
  readonly before: Position
  /** Stop once this much is saved, in estimated tokens. */
  readonly enoughTokens?: number
}

export interface ShortenOptions {
  /** The tail from this cut on … */
  readonly from: Position
  /** … is to take at most this, in estimated tokens. */
  readonly targetTokens: number
}

export class ToolResultPruner extends Service {
  static readonly inject = ['tokenMeter']
  static readonly Config = configSchema

  private readonly meter: TokenMeter
  private readonly limits: PruneLimits
  private readonly price: Price
  private readonly tell: Tell
  private readonly warn: (message: string) => void

  constructor(ctx: Context, config?: PrunerConfig) {
    super(ctx, 'toolResultPruner')
    const { meter } = ctx.tokenMeter
    this.meter = meter
    this.limits = configSchema.parse(config)
    this.price = (event, content) => meter.estimateMessage(messageOfEvent({ ...event, data: { ...event.data, content } } as typeof event) ?? EMPTY)
    this.tell = teller(ctx, 'tool-result-pruner')
    this.warn = message => ctx.logger('tool-result-pruner').warn(message)
  }

  /**
   * Rewrites oversized results, oldest first, one replace each. A result whose step is open is left alone. Again right after
   * it went through, it finds nothing to do.
   */
  prune(session: Session, { before, enoughTokens }: PruneOptions): RewriteOutcome {
    const to = closedEnd(session, before)
    return this.apply(session, planPrune(session.log, this.entries(session, 0, to), this.limits, this.price, enoughTokens))
  }

  /**
   * The last resort, for a tail that no request could hold: its largest results, where they are not enough its messages, and
   * where those are not enough the texts and arguments of its answers, are shown by beginning and end until it fits. A call that
   * rewrote something says so once, by `compaction/notice`. Where even that would not make it fit, nothing is rewritten.
   */
  shorten(session: Session, { from, targetTokens }: ShortenOptions): RewriteOutcome {
    const to = closedEnd(session, session.surface.entries.length)
    let roomTokens = targetTokens
    for (const { tokens } of this.entries(session, to, session.surface.entries.length)) roomTokens -= tokens
    const plan = planShortening(session.log, this.entries(session, from, to), this.limits, this.price, roomTokens)
    const outcome = this.apply(session, plan ?? [])
    if (outcome.rewritten.length > 0) this.tell('compaction/notice', session, noticeOf(outcome))
    return outcome
  }

  /** Messages that are about to be appended, as `shorten` would leave them: to judge by, not to send. */
  preview(messages: readonly Message[], targetTokens: number): readonly Message[] {
    return previewShortened(messages, this.limits, this.meter.estimateMessage, targetTokens)
  }

  private *entries(session: Session, from: Position, to: Position): Generator<PricedEntry> {
    const { entries } = session.surface
    const tokens = this.meter.entryTokens(session)
    for (let position = from; position < to; position++) yield { seq: entries[position]!, tokens: tokens[position]! }
  }

  private apply(session: Session, plan: Parameters<typeof applyRewrites>[1]): RewriteOutcome {
    const outcome = applyRewrites(session, plan)
    if (outcome.refusal !== undefined) this.warn(`session ${session.id}: shortening stopped, the log refused a rewrite: ${messageOf(outcome.refusal)}`)
    return outcome
  }
}

/** The last cut, not behind `before`, that no call crosses. */
function closedEnd(session: Session, before: Position): Position {
  let cut = Math.min(before, session.surface.entries.length)
  while (cut > 0 && openCallsAt(session, cut) > 0) cut -= 1
  return cut
}

/** What an answer without content derives. */
const EMPTY: Message = { role: 'assistant', content: [] }

function noticeOf({ rewritten }: RewriteOutcome): string {
  const savedTokens = rewritten.reduce((sum, entry) => sum + entry.savedTokens, 0)
  const seqs = rewritten.map(({ originalSeq }) => originalSeq)
  const [which, are] = seqs.length === 1 ? [`event ${seqs[0]}`, 'is'] : [`events ${seqs.slice(0, -1).join(', ')} and ${seqs.at(-1)}`, 'are']
  return `${which} ${are} too large for the model's window and ${are} shown to it by beginning and end; about ${savedTokens} tokens are left out, and the log keeps the whole`
}
