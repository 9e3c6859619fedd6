/**
 * Summarize: one request to a model, and whether its reply may stand as a checkpoint.
 *
 * Strategy `replay`: the routed request's own system prompt and tools, the span's messages verbatim, the directive as one
 * trailing user message. That is an exact prefix of the last request plus the directive, so the provider's warm prefix cache
 * pays for it.
 */
import { collect, textOf, type Collected, type ContentBlock, type GenerateOptions, type LlmService, type Message, type TokenUsage, type ToolSchema } from '@deepseek-ai/dsh-llm'
import type { SummaryStrategy } from '@deepseek-ai/dsh-compaction'
import { summaryDirective } from './directive.ts'
import type { DigestEntry } from './digest.ts'

/** What a summary is to be made of. */
export interface SummaryInput {
  /** The routed request's own, as it was last sent. */
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  /** The span, verbatim. */
  readonly messages: readonly Message[]
  /** The same span entry by entry, with seqs and origins. */
  readonly entries: readonly DigestEntry[]
  /** Estimated tokens of the span. */
  readonly spanTokens: number
  /** The most the summary may take. */
  readonly maxTokens: number
  readonly route: { readonly provider: string; readonly model: string }
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

/** A reply that cannot stand as a checkpoint. */
export class UnusableSummaryError extends Error {
  override readonly name = 'UnusableSummaryError'
}

/** A reply this much longer than it was asked to be is refused. */
export const SUMMARY_OVERRUN = 1.5
/** Less than this, without a heading, says nothing about a span of more than {@link LONG_SPAN_TOKENS}. */
const SHORTEST_SUMMARY_TOKENS = 24
const LONG_SPAN_TOKENS = 1_000

/** @throws LlmError, UnusableSummaryError, or the signal's reason. */
export async function summarizeByReplay(
  llm: LlmService,
  input: SummaryInput,
  request: { readonly sessionId: string; readonly signal: AbortSignal },
  estimate: (text: string) => number,
): Promise<Summary> {
  const { system, tools, messages, maxTokens, route } = input
  const directive: Message = { role: 'user', content: [{ type: 'text', text: summaryDirective(maxTokens) }] }
  const options: GenerateOptions = {
    ...route,
    messages: [...messages, directive],
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools, toolChoice: 'none' }),
    maxTokens,
    ...request,
    purpose: 'compaction',
  }
  const reply = await collect(llm.stream(options), { signal: request.signal })
  const text = acceptedText(reply, input.spanTokens, estimate)
  return {
    summary: [{ type: 'text', text }],
    provider: reply.provider,
    model: reply.model,
    maxTokens,
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    rawOutput: reply.content,
    llmStreamCall: true,
    strategy: 'replay',
  }
}

/**
 * The text of a model's reply, where it may stand as a checkpoint: finished by itself, of text (reasoning and stray calls
 * are dropped), without images, and not next to nothing for a long span.
 *
 * @throws UnusableSummaryError saying why not.
 */
export function acceptedText(reply: Pick<Collected, 'content' | 'finish'>, spanTokens: number, estimate: (text: string) => number): string {
  const { content, finish } = reply
  if (finish !== 'stop' && finish !== 'tool-calls') throw new UnusableSummaryError(`the summary did not finish: the model stopped for ${finish}`)
  if (content.some(block => block.type === 'image')) throw new UnusableSummaryError('the summary holds an image')
  const text = textOf(content).trim()
  if (text === '') {
    const kinds = [...new Set(content.map(block => block.type))].join(' and ')
    throw new UnusableSummaryError(`the summary is empty${kinds === '' ? '' : `: the model answered with ${kinds} only`}`)
  }
  if (spanTokens > LONG_SPAN_TOKENS && !/^#/m.test(text) && estimate(text) < SHORTEST_SUMMARY_TOKENS) {
    throw new UnusableSummaryError(`"${text}" is no summary of ${spanTokens} tokens`)
  }
  return text
}
