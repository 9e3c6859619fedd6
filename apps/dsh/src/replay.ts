/**
 * Replay: the real loop over a recorded conversation, with the recorded answers and tool results.
 *
 *     recording   input · ANSWER(calls) · input · ANSWER · input · ANSWER …
 *     agent       send            └── steer ──┘       └── send
 *
 * The driver opens a passage and waits until the agent rests; inside a turn each answer puts what comes next to the agent.
 * Everything else (loop, engine, store) is as in any session and knows nothing of it.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, PreStepEvent } from '@deepseek-ai/dsh-agent'
import { recordCompaction } from '@deepseek-ai/dsh-compaction'
import type {} from '@deepseek-ai/dsh-compaction-basic'
import { pause, type LlmRequest, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { RecordedAdapter, type RecordedAnswer, type RecordedInit } from '@deepseek-ai/dsh-llm-recorded'
import { isSurfaceEvent, messageOfEvent, PERSON_SOURCE, type MessageSource, type Seq, type Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import type { AnswerItem, CompactionItem, InputItem, Transcript } from '@deepseek-ai/dsh-transcript'
import { CompactionRows } from './compaction-rows.ts'
import { isCompaction, isInput, leadsOn, openingOf, passagesOf, type Lead, type Placed } from './passages.ts'
import { requestPricer } from './pricer.ts'
import { recordedTools } from './recorded-tools.ts'
import type { CompactionRow } from './replay-report.ts'
import { RequestRecord } from './request-record.ts'
import { Stage } from './stage.ts'
import { Stopwatch } from './stopwatch.ts'

/** What a composition must provide. */
const REPLAY_SERVICES = ['sessions', 'sessionPersistence', 'llm', 'tokenMeter', 'systemPrompt', 'tools', 'agents', 'compaction'] as const

export interface ReplayProgress {
  readonly answers: number
  /** Answers in the recording. */
  readonly of: number
  /** Of the newest request. */
  readonly tokens: number
  readonly compactions: number
}

export interface ReplayOptions {
  readonly transcript: Transcript
  readonly windowTokens: number
  readonly maxTokens?: number | undefined
  readonly ignoreCompactions: boolean
  /** What a model answers to whoever asks it for a summary; without them it has none to give. */
  readonly summaries?: RecordedInit['summaries'] | undefined
  /** Where every request is written to. */
  readonly requestsPath?: string | undefined
  readonly onProgress: (progress: ReplayProgress) => void
  /**
   * Who watches from the first answer on: the replay goes at a pace that a person can follow, leaves aside what they type, and
   * ends early when they leave. The session is closed once they have left.
   */
  readonly audience?: ((agent: Agent) => Promise<unknown>) | undefined
  /** What is done at the end of the recording, with everything still in place. */
  readonly epilogue?: ((agent: Agent) => Promise<void>) | undefined
}

export interface Replayed {
  /** Closed; its log is complete and durable. */
  readonly session: Session
  readonly requests: RequestRecord
  readonly compactions: readonly CompactionRow[]
  /** Answers nobody asked for, by the line of the first; the replay asked for them. */
  readonly prompted: { readonly count: number; readonly line: number }
  /** Why the conversation could not go on; null when it came to its end. */
  readonly stopped: string | null
  readonly wallMs: number
  readonly ownMs: number
}

/** What wakes the agent for an answer that nothing in the recording asks for. */
const GO_ON = 'Continue.'
const REPLAY_SOURCE: MessageSource = { kind: 'replay' }
const CONTEXT_SOURCE: MessageSource = { kind: 'context' }

/** Before each answer, where somebody watches; and after a command of theirs, whose answer they want to read. */
const PACE_MS = 150
const READING_MS = 6_000
const AUDIENCE_LEFT = 'the audience left'

/** @throws Error naming the services that the composition lacks. */
export async function replay(ctx: Context, options: ReplayOptions): Promise<Replayed> {
  const missing = REPLAY_SERVICES.filter(name => ctx.get(name) === undefined)
  if (missing.length > 0) throw new Error(`a replay needs ${missing.join(', ')}, which nothing loaded provides`)
  const { promise, resolve, reject } = Promise.withResolvers<Replayed>()
  const fiber = ctx.inject([...REPLAY_SERVICES], inner => {
    Replay.start(inner, options).then(run => run.play()).then(resolve, reject)
  })
  try {
    return await promise
  } finally {
    await fiber.dispose()
  }
}

class Replay {
  private readonly ctx: Context
  private readonly options: ReplayOptions
  private readonly session: Session
  private readonly agent: Agent
  private readonly stage: Stage
  private readonly requests: RequestRecord
  private readonly compactions: CompactionRows
  private readonly clock = new Stopwatch()
  private readonly prompted = { count: 0, line: 0 }
  /** Ordinal of the newest step, over all turns. */
  private step = 0
  private isDeserted = false
  /** When the next answer is due, on the clock of `performance`. */
  private dueAtMs = 0

  static async start(ctx: Context, options: ReplayOptions): Promise<Replay> {
    return new Replay(ctx, options, await ctx.sessions.create())
  }

  private constructor(ctx: Context, options: ReplayOptions, session: Session) {
    const { transcript, windowTokens, maxTokens, ignoreCompactions, requestsPath, summaries } = options
    const passages = passagesOf(transcript.items, { ignoreCompactions })
    const priceOf = requestPricer()
    const model = new RecordedAdapter({
      model: transcript.model ?? 'recorded',
      contextWindow: windowTokens,
      estimateTokens: priceOf,
      answers: passages.flatMap(({ answer }) => (answer === null ? [] : [recordedAnswer(answer.item)])),
      ...(summaries === undefined ? {} : { summaries }),
    })
    this.ctx = ctx
    this.options = options
    this.session = session
    this.stage = new Stage(passages, () => model.given)
    this.requests = new RequestRecord({ priceOf, windowOf: request => ctx.llm.resolveModelInfo(request.provider, request.model)?.contextWindow ?? Infinity, path: requestsPath })
    this.compactions = new CompactionRows(ctx.tokenMeter)
    ctx.llm.registerAdapter(model)
    if (transcript.system !== undefined) ctx.systemPrompt.registerSection({ name: 'recorded', text: transcript.system })
    for (const tool of recordedTools(transcript, callId => this.stage.resultOf(callId))) ctx.tools.registerTool(tool)
    this.agent = ctx.agents.create(session, { provider: model.provider, model: model.model, ...(maxTokens === undefined ? {} : { maxTokens }) })
    ctx.on('session/event', (from, event) => {
      if (from === session) this.clock.elsewhere(() => this.observe(event))
    })
    ctx.on('compaction/rung', (from, rung) => {
      if (from === session) this.compactions.rung(rung)
    })
    ctx.on('llm/stream', (request, next) => this.serve(request, next))
    // Prepended after the engine's: it judges the pressure that recorded compactions leave.
    ctx.on('agent/pre-step', (event, next) => {
      this.beforeStep(event)
      return next()
    }, { prepend: true })
  }

  async play(): Promise<Replayed> {
    const { ctx, session, requests, prompted, clock } = this
    const [stopped] = await Promise.all([this.toTheEnd().finally(() => requests.close()), this.watched()])
    if (stopped === null) await this.options.epilogue?.(this.agent)
    await ctx.sessions.close(session)
    return { session, requests, compactions: this.compactions.rows, prompted, stopped, wallMs: clock.wallMs, ownMs: clock.ownMs }
  }

  private async watched(): Promise<void> {
    const { audience } = this.options
    if (audience === undefined) return
    await audience(this.agent)
    this.isDeserted = true
    this.agent.cancel(AUDIENCE_LEFT)
  }

  /** Null at the end of the recording, otherwise why it was not reached. */
  private async toTheEnd(): Promise<string | null> {
    const { stage, agent } = this
    while (stage.current.answer !== null) {
      if (this.isDeserted || this.ctx.agents.get(agent.id) !== agent) return AUDIENCE_LEFT
      this.open(stage.current.lead, stage.current.answer.item)
      await agent.whenIdle()
      if (stage.given < stage.opened) return this.lastFailure()
    }
    this.settle(stage.current.lead)
    await this.session.flush()
    return null
  }

  /** Begins a turn with what precedes an answer. */
  private open(lead: readonly Lead[], answer: AnswerItem): void {
    const { stage, agent } = this
    const { settled, waking, compactions } = openingOf(lead)
    this.settle(settled)
    stage.cutShort = null
    stage.due = compactions
    stage.opened = stage.given + 1
    const last = waking.at(-1)
    for (const input of waking.slice(0, -1)) this.accept(input, 'inject')
    if (last !== undefined) {
      this.accept(last, 'send')
      return
    }
    if (this.prompted.count++ === 0) this.prompted.line = answer.line
    agent.send(GO_ON, REPLAY_SOURCE)
  }

  /** After an answer, inside its turn: what the recording puts to the model next, or the end of the turn. */
  private goOn(answer: AnswerItem): void {
    const { stage } = this
    if (answer.results.length === 0) return
    const { lead, answer: next } = stage.current
    if (!leadsOn(answer)) stage.cutShort = 'the recording has no result of a call'
    else if (next === null) stage.cutShort = 'the recording ends here'
    if (stage.cutShort !== null) return
    stage.opened = stage.given + 1
    stage.due = lead.filter(isCompaction)
    const inputs = lead.filter(isInput)
    for (const [place, input] of inputs.entries()) this.accept(input, place === inputs.length - 1 ? 'steer' : 'inject')
  }

  private accept({ index, item }: Placed<InputItem>, how: 'send' | 'steer' | 'inject'): void {
    this.stage.await(this.agent[how](item.content, sourceOf(item)), index)
  }

  /** Puts items where they belong while the agent rests, without a request. */
  private settle(lead: readonly Lead[]): void {
    for (const placed of lead) {
      if (isCompaction(placed)) {
        this.compact(placed.item)
        continue
      }
      if (!isInput(placed)) continue
      const { index, item } = placed
      const event = this.session.append('user/message', { content: item.content, source: sourceOf(item) }, { surfaceOp: 'append' })
      this.stage.entered(index, event.seq)
    }
  }

  private beforeStep(event: PreStepEvent): void {
    const { stage } = this
    const { agent, signal } = event
    if (agent !== this.agent) return
    if (this.options.audience !== undefined) event.messages = event.messages.filter(({ source }) => source.kind === REPLAY_SOURCE.kind || stage.expects(source.inputId))
    if (stage.cutShort !== null) {
      agent.cancel(stage.cutShort)
      signal.throwIfAborted()
    }
    for (const { item } of stage.due) this.compact(item)
    stage.due = []
  }

  private compact({ content, keptFrom }: CompactionItem): void {
    const tokensOf = (seqs: readonly Seq[]): number => seqs.reduce((sum, seq) => sum + this.priceOf(this.session.log.at(seq)), 0)
    recordCompaction(this.session, { content, keptFromSeq: this.stage.firstEntryFrom(keptFrom), tokensOf })
  }

  private priceOf(event: SessionEvent): number {
    const message = isSurfaceEvent(event) ? messageOfEvent(event) : null
    return message === null ? 0 : this.ctx.tokenMeter.estimateMessage(message)
  }

  /** Around every model request: it is recorded as sent, and an ordinary one that is answered moves the conversation on. */
  private async *serve({ options }: LlmRequest, next: () => AsyncIterable<StreamChunk>): AsyncGenerator<StreamChunk, void, undefined> {
    const { stage, clock, agent } = this
    const ordinary = options.purpose === undefined
    clock.elsewhere(() => this.requests.take(options, ordinary ? this.step : this.step + 1))
    const answer = ordinary ? (stage.current.answer?.item ?? null) : null
    let blocksLeft = answer?.interrupted === true ? answer.content.length : Infinity
    if (answer !== null && this.options.audience !== undefined) {
      await clock.elsewhereUntil(pause(Math.max(PACE_MS, this.dueAtMs - performance.now()), options.signal))
    }
    const chunks = next()[Symbol.asyncIterator]()
    try {
      for (;;) {
        const coming = chunks.next()
        if (blocksLeft === 0) setImmediate(() => agent.cancel('the person, in the recording'))
        const { done, value: chunk } = await clock.elsewhereUntil(coming)
        if (done) return
        if (chunk.type === 'block-end') blocksLeft -= 1
        if (chunk.type === 'finish' && answer !== null) this.goOn(answer)
        yield chunk
      }
    } finally {
      await chunks.return?.()
    }
  }

  private observe(event: SessionEvent): void {
    if (event.type === 'step/start') this.step += 1
    if (event.type === 'command/done') this.dueAtMs = performance.now() + READING_MS
    this.stage.observe(event)
    this.compactions.observe(this.session, event, this.step + 1)
    if (event.type === 'step/start') this.tellProgress()
  }

  private tellProgress(): void {
    const { stage, requests, compactions, options } = this
    options.onProgress({
      answers: stage.given,
      of: stage.passages.length - 1,
      tokens: requests.points.at(-1)?.tokens ?? 0,
      compactions: compactions.rows.length,
    })
  }

  private lastFailure(): string {
    const { log } = this.session
    for (let seq = log.length - 1; seq >= 0; seq--) {
      const event = log.at(seq)
      if (event.type !== 'turn/end') continue
      const { data } = event
      const why = data.reason === 'error' ? `${data.failure.code}, ${data.failure.message}` : data.reason === 'aborted' ? `aborted by ${data.by}` : data.reason
      return `turn ${data.turn} ended at step ${this.step}: ${why}`
    }
    return 'nothing answered: no agent loop is loaded'
  }
}

/** Usage was reported for the requests of that time, so it is not replayed. */
function recordedAnswer({ content, results, finish, interrupted }: AnswerItem): RecordedAnswer {
  if (interrupted === true) return { content, interrupted }
  return { content, ...(results.length === 0 && finish === 'max-tokens' ? { finish } : {}) }
}

function sourceOf({ from }: InputItem): MessageSource {
  return from === 'person' ? PERSON_SOURCE : CONTEXT_SOURCE
}
