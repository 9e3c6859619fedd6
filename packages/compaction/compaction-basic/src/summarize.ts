/**
 * Summarize: the ladder of ways to have a model write a checkpoint.
 *
 * 1. `replay`: the routed request's own system prompt and tools, the span's messages verbatim, the directive as one trailing
 *    user message. An exact prefix of the last request plus the directive, so the provider's warm prefix cache pays for it.
 * 2. `transcript`: the span flattened to text, in chunks where it does not fit, each request being the summary so far and
 *    the next chunk.
 * 3. `digest`: no model; only after an overflow, where failing would end the run.
 *
 * Every rung takes one call of the budget; all requests of one transcript count as one, and so does a request that is sent
 * again because it failed for a passing reason. A request whose answer falls silent is given up.
 */
import type { SummaryStrategy } from '@deepseek-ai/dsh-compaction'
import { collect, LlmError, messageOf, pause, retryWait, textOf, type Collected, type ContentBlock, type GenerateOptions, type LlmService, type Message, type RetryPolicy, type TokenUsage, type ToolSchema } from '@deepseek-ai/dsh-llm'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import { digest, type DigestEntry } from './digest.ts'
import { summaryDirective } from './directive.ts'
import { transcriptChunks, transcriptParts } from './transcript.ts'

/** What a summary is to be made of. */
export interface SummaryInput {
  /** The routed request's own, as it was last sent. */
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  readonly reasoningEffort?: string
  /** The span, verbatim, as it was last sent: a result that has just been pruned stands here whole. */
  readonly messages: readonly Message[]
  /** The same span entry by entry, with seqs and origins. */
  readonly entries: readonly DigestEntry[]
  /** Estimated tokens of the span as it stands on the surface. */
  readonly spanTokens: number
  /** Estimated tokens of `messages`. */
  readonly messageTokens: number
  /** The most the summary may take. */
  readonly maxTokens: number
  /** Who is to write it; unset where neither config, log nor agent names a model. */
  readonly route?: Route
  /** The summarizer's window in estimated tokens, or the conversation's where that is not known. */
  readonly windowTokens?: number
  /** Whether the span is the head of what the same route was last sent, so that `replay` is an exact prefix. */
  readonly isPrefix: boolean
  /** Model calls that this check may still make; a rung takes one. */
  readonly calls: CallBudget
  /** Whether a digest may stand in for a failed summary. */
  readonly isLastResort: boolean
}

export interface Route {
  readonly provider: string
  readonly model: string
}

export interface CallBudget {
  left: number
}

/** A summary and the call that made it; `llmStreamCall` only if exactly one `ctx.llm.stream()` call did. */
export interface Summary {
  readonly summary: readonly ContentBlock[]
  readonly provider?: string
  readonly model?: string
  readonly maxTokens?: number
  readonly usage?: TokenUsage
  readonly rawOutput?: readonly ContentBlock[]
  readonly llmStreamCall?: true
  /** `custom` where it is not said. */
  readonly strategy?: SummaryStrategy
}

/** A reply that cannot stand as a checkpoint. `isSilent`: it held no text at all, so another form of asking may do better. */
export class UnusableSummaryError extends Error {
  override readonly name = 'UnusableSummaryError'
  readonly isSilent: boolean

  constructor(message: string, isSilent = false) {
    super(message)
    this.isSilent = isSilent
  }
}

/** A reply this much longer than it was asked to be is refused. */
export const SUMMARY_OVERRUN = 1.5
/** Less than this, without a heading, says nothing about a span of more than {@link LONG_SPAN_TOKENS}. */
const SHORTEST_SUMMARY_TOKENS = 24
const LONG_SPAN_TOKENS = 1_000
/** Requests of one transcript; what is older than they reach is digested. */
const MAX_CHUNK_REQUESTS = 8
/** Where the window was guessed wrong, chunks are halved this often. */
const MAX_HALVINGS = 3

/** How one rung ended. */
export interface Rung {
  readonly strategy: 'replay' | 'transcript' | 'digest'
  /** {@link ANSWERED}, or why it did not. */
  readonly outcome: string
}

/** Its summary is the one that was returned; whether that becomes a checkpoint is not the ladder's to say. */
export const ANSWERED = 'answered'

/** What rungs work with. */
export interface Summarizer {
  readonly llm: LlmService
  readonly sessionId: string
  readonly signal?: AbortSignal
  readonly meter: Pick<TokenMeter, 'estimateMessage' | 'estimateEnvelope'>
  readonly estimateText: (text: string) => number
  /** A request is given up as `TIMEOUT` when nothing comes from its stream for so long. */
  readonly idleMs: number
  /** When a request that failed for a passing reason is sent again; its time counts from when it was first sent. */
  readonly retry: RetryPolicy
  /** Told of each rung as it ends, in order, those that were passed over too; not of what an abort cut short. Must not throw. */
  readonly onRung: (rung: Rung) => void
}

/** @throws LlmError, UnusableSummaryError, Error when no model is named, or the signal's reason. */
export async function climbLadder(by: Summarizer, input: SummaryInput): Promise<Summary> {
  try {
    return await askModel(by, input)
  } catch (error) {
    if (!input.isLastResort || by.signal?.aborted) throw error
    const summary = summarizeByDigest(input, by.estimateText)
    by.onRung({ strategy: 'digest', outcome: ANSWERED })
    return summary
  }
}

/** A digest takes at most this share of what it stands for: beyond it, keeping more words beats having more room no longer. */
const LARGEST_DIGEST_SHARE = 0.25

/** The summary that needs no model. Never throws; empty where the span says nothing. */
export function summarizeByDigest({ entries, spanTokens, maxTokens }: SummaryInput, estimateText: (text: string) => number): Summary {
  const budgetTokens = Math.min(maxTokens, Math.floor(spanTokens * LARGEST_DIGEST_SHARE))
  return { summary: [{ type: 'text', text: digest(entries, budgetTokens, estimateText) }], strategy: 'digest' }
}

/** A climb under way, and how many requests it has sent. */
interface Climb extends Summarizer {
  requests: number
}

/** Only what a single request made can be told from the record. */
async function askModel(by: Summarizer, input: SummaryInput): Promise<Summary> {
  const climb: Climb = { ...by, requests: 0 }
  const summary = await climbToModel(climb, input)
  return climb.requests === 1 ? { ...summary, llmStreamCall: true } : summary
}

const NOBODY_TO_ASK = "no model can summarize: no request was routed yet, and neither summarizationProvider and summarizationModel nor the agent's own provider and model are set"

/** An input with somebody to ask. */
type RoutedInput = SummaryInput & { readonly route: Route }

async function climbToModel(by: Climb, { route, ...rest }: SummaryInput): Promise<Summary> {
  if (route === undefined) return told(by, 'transcript', Promise.reject(new Error(NOBODY_TO_ASK)))
  const input: RoutedInput = { ...rest, route }
  const obstacle = obstacleToReplay(by, input)
  if (obstacle !== null) {
    by.onRung({ strategy: 'replay', outcome: obstacle })
    return told(by, 'transcript', summarizeByTranscript(by, input))
  }
  try {
    return await told(by, 'replay', summarizeByReplay(by, input))
  } catch (error) {
    if (by.signal?.aborted || !isWorthAnotherForm(error)) throw error
    if (input.calls.left === 0) {
      by.onRung({ strategy: 'transcript', outcome: 'no model call is left' })
      throw error
    }
  }
  return told(by, 'transcript', summarizeByTranscript(by, input))
}

/** The outcome of `making`, which the rung's observer hears first. */
async function told(by: Summarizer, strategy: Rung['strategy'], making: Promise<Summary>): Promise<Summary> {
  try {
    const summary = await making
    by.onRung({ strategy, outcome: ANSWERED })
    return summary
  } catch (error) {
    if (!by.signal?.aborted) by.onRung({ strategy, outcome: messageOf(error) })
    throw error
  }
}

/** Why a replay would not be what a provider's cache holds, or not go in; null where nothing stands against it. */
function obstacleToReplay({ meter }: Summarizer, input: RoutedInput): string | null {
  if (!input.isPrefix) return 'the span is not the head of what this model was last sent'
  if (input.windowTokens === undefined) return null
  const requestTokens = meter.estimateEnvelope(input.system, input.tools) + input.messageTokens + meter.estimateMessage(directiveMessage(input.maxTokens))
  return requestTokens + input.maxTokens <= input.windowTokens ? null : `${requestTokens} tokens and an answer of ${input.maxTokens} exceed the window of ${input.windowTokens}`
}

function isWorthAnotherForm(error: unknown): boolean {
  return isOverflow(error) || (error instanceof UnusableSummaryError && error.isSilent) || (error instanceof LlmError && error.failure.code === 'EMPTY_RESPONSE')
}

function isOverflow(error: unknown): boolean {
  return error instanceof LlmError && (error.failure.code === 'CONTEXT_WINDOW_EXCEEDED' || error.failure.code === 'REQUEST_TOO_LARGE')
}

async function summarizeByReplay(by: Climb, input: RoutedInput): Promise<Summary> {
  const { system, tools, reasoningEffort, messages, maxTokens } = input
  input.calls.left -= 1
  const reply = await ask(by, input, {
    messages: [...messages, directiveMessage(maxTokens)],
    ...(system === undefined ? {} : { system }),
    // A provider that thinks differently reads its cache differently.
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...(tools === undefined ? {} : { tools, toolChoice: 'none' }),
  })
  return { ...written(by, input, reply), rawOutput: reply.content, strategy: 'replay' }
}

async function summarizeByTranscript(by: Climb, input: RoutedInput): Promise<Summary> {
  const { entries, maxTokens } = input
  const { estimateText } = by
  if (input.calls.left <= 0) throw new Error('no model call is left for a summary')
  input.calls.left -= 1
  const parts = transcriptParts(entries, estimateText)
  const wholeTokens = parts.reduce((sum, part) => sum + part.tokens, 0)
  let chunkTokens = Math.max(1, chunkRoom(input.windowTokens, wholeTokens, maxTokens, estimateText(summaryDirective(maxTokens))))
  let requestsLeft = MAX_CHUNK_REQUESTS
  for (let halvings = 0; ; halvings++) {
    const chunks = transcriptChunks(parts, chunkTokens, estimateText)
    const skipped = chunks.slice(0, Math.max(0, chunks.length - requestsLeft))
    let soFar = skipped.length === 0 ? '' : digest(skipped.flatMap(chunk => chunk.entries), maxTokens, estimateText)
    let requests = 0
    let reply: Collected | undefined
    try {
      for (const chunk of chunks.slice(skipped.length)) {
        requests += 1
        reply = await ask(by, input, { messages: [chunkMessage(soFar, chunk.text, maxTokens)] })
        soFar = acceptedText(reply, chunk.tokens, estimateText)
      }
    } catch (error) {
      requestsLeft -= requests
      if (by.signal?.aborted || !isOverflow(error) || halvings === MAX_HALVINGS || requestsLeft <= 0) throw error
      chunkTokens = Math.max(1, Math.floor(Math.min(chunkTokens, wholeTokens) / 2))
      continue
    }
    if (reply === undefined) throw new UnusableSummaryError('there is nothing to summarize')
    return { ...written(by, input, reply), rawOutput: reply.content, strategy: 'transcript' }
  }
}

/**
 * How much of a transcript one request may hold: all of it where that fits beside directive and answer, else what is left
 * beside the summary so far as well. A quarter of the window is the transcript's in any case: a summary of nothing helps nobody,
 * and a provider that refuses has its chunks halved.
 */
function chunkRoom(windowTokens: number | undefined, wholeTokens: number, maxTokens: number, directiveTokens: number): number {
  if (windowTokens === undefined || directiveTokens + wholeTokens + maxTokens <= windowTokens) return wholeTokens
  return Math.max(Math.floor(windowTokens / 4), windowTokens - directiveTokens - 2 * maxTokens)
}

type RequestBody = Pick<GenerateOptions, 'messages' | 'system' | 'tools' | 'toolChoice' | 'reasoningEffort'>

/** One answer of the summarizer, asked for again as its policy allows; an empty one is worth another form rather. */
async function ask(by: Climb, input: RoutedInput, body: RequestBody): Promise<Collected> {
  const startMs = performance.now()
  for (let attempt = 0; ; attempt++) {
    try {
      return await askOnce(by, input, body)
    } catch (error) {
      if (by.signal?.aborted || !(error instanceof LlmError) || isWorthAnotherForm(error)) throw error
      const wait = retryWait(error.failure, { attempt, elapsedMs: performance.now() - startMs, random: Math.random() }, by.retry)
      if (wait === null) throw error
      await pause(wait.waitMs, by.signal)
    }
  }
}

/** One request: a direct call, not a step. */
async function askOnce(by: Climb, { route, maxTokens }: RoutedInput, body: RequestBody): Promise<Collected> {
  const { llm, sessionId, signal, idleMs } = by
  by.requests += 1
  const silence = new AbortController()
  const idle = setTimeout(() => silence.abort(new LlmError({ code: 'TIMEOUT', message: `the summarizer said nothing for ${idleMs / 1_000} s` })), idleMs)
  const abort = { signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]) }
  try {
    return await collect(llm.stream({ ...route, ...body, maxTokens, ...abort, sessionId, purpose: 'compaction' }), { ...abort, onChunk: () => idle.refresh() })
  } finally {
    clearTimeout(idle)
  }
}

function written({ estimateText }: Summarizer, { spanTokens, maxTokens }: SummaryInput, reply: Collected): Summary {
  const { provider, model, usage } = reply
  const text = acceptedText(reply, spanTokens, estimateText)
  return { summary: [{ type: 'text', text }], provider, model, maxTokens, ...(usage === undefined ? {} : { usage }) }
}

function directiveMessage(maxTokens: number): Message {
  return { role: 'user', content: [{ type: 'text', text: summaryDirective(maxTokens) }] }
}

function chunkMessage(soFar: string, transcript: string, maxTokens: number): Message {
  const before = soFar === '' ? '' : `checkpoint:\n${soFar.replace(/^/gm, '  ')}\n`
  return { role: 'user', content: [{ type: 'text', text: `The conversation, as a transcript:\n\n${before}${transcript}\n\n${summaryDirective(maxTokens)}` }] }
}

/**
 * The text of a model's reply, where it may stand as a checkpoint: finished by itself, of text (reasoning and stray calls
 * are dropped), without images, and not next to nothing for a long span.
 *
 * @throws UnusableSummaryError saying why not.
 */
export function acceptedText(reply: Pick<Collected, 'content' | 'finish'>, spanTokens: number, estimateText: (text: string) => number): string {
  const { content, finish } = reply
  if (finish !== 'stop' && finish !== 'tool-calls') throw new UnusableSummaryError(`the summary did not finish: the model stopped for ${finish}`)
  if (content.some(block => block.type === 'image')) throw new UnusableSummaryError('the summary holds an image')
  const text = textOf(content).trim()
  if (text === '') {
    const kinds = [...new Set(content.map(block => block.type))].join(' and ')
    throw new UnusableSummaryError(`the summary is empty${kinds === '' ? '' : `: the model answered with ${kinds} only`}`, true)
  }
  if (spanTokens > LONG_SPAN_TOKENS && !/^#/m.test(text) && estimateText(text) < SHORTEST_SUMMARY_TOKENS) {
    throw new UnusableSummaryError(`"${text}" is no summary of ${spanTokens} tokens`)
  }
  return text
}
