/**
 * The request: config chosen, header and context logged, everything durable, one stream, one `assistant/message`.
 */
import type { RequestEvent } from '@deepseek-ai/dsh-agent'
import { BlockAssembler, collect, failureOf, LlmError, NOT_SENT, type Collected, type GenerateOptions, type LlmFailure } from '@deepseek-ai/dsh-llm'
import { latestContext, latestHeader, type CallConfig } from '@deepseek-ai/dsh-session'
import { clampOutput, contextChange, headerChange, plainlyExceeds, reserveTokens, type Envelope } from './envelope.ts'
import { middleware, type At, type Run } from './run.ts'

/** `cause` is what was thrown; the failure alone may be logged. */
export interface FailedRequest {
  readonly failure: LlmFailure
  readonly cause: unknown
}

/**
 * One model request in the open step. A cancelled one keeps in the log what it had said and throws the signal's reason; a
 * failed one keeps nothing and is a value. Throws what a listener of `agent/request`, or the log, throws.
 */
export async function request(run: Run, at: At, envelope: Envelope): Promise<Collected | FailedRequest> {
  const { events, session, agent, signal } = run
  const event: RequestEvent = { agent, ...at, config: firstConfig(run), envelope, signal }
  const config = await middleware<CallConfig>(run, 'agent/request', () =>
    events.waterfall('agent/request', event, async () => event.config))
  if (config.provider === '' || config.model === '') return refused('NO_ADAPTER', NO_ROUTE)

  const header = headerChange(session, config, envelope)
  if (header !== null) session.append('request/header', header)
  const capacity = fit(run, config)
  if ('failure' in capacity) return capacity
  const messages = session.deriveMessages()
  await session.flush()
  signal.throwIfAborted()

  const { system, tools } = envelope
  return answer(run, at, {
    ...config,
    ...capacity,
    messages,
    ...(system === undefined ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools }),
    signal,
    sessionId: session.id,
  })
}

/** What the agent's options leave open is as in the last request. */
function firstConfig({ agent: { options }, session }: Run): CallConfig {
  const last = latestHeader(session)?.data.config
  const { provider = last?.provider ?? '', model = last?.model ?? '', maxTokens } = options
  return { provider, model, ...(maxTokens === undefined ? {} : { maxTokens }) }
}

/** What a token meter is asked here, where one is loaded. */
interface Meter {
  measure(session: Run['session']): { readonly totalTokens: number }
}

/** Logs route and capacity if they changed; the output limit that the window leaves, or the refusal of what plainly cannot fit. */
function fit(run: Run, config: CallConfig): { readonly maxTokens?: number } | FailedRequest {
  const { ctx, session, llm } = run
  const { provider, model, maxTokens } = config
  const info = llm.resolveModelInfo(provider, model)
  const change = contextChange(session, config, info)
  if (change !== null) session.append('request/context', change)

  const contextWindow = latestContext(session)?.data.contextWindow
  if (contextWindow === undefined) return {}
  const inWindow = info?.outputInWindow ?? true
  // Where no limit is set, some wires name the model's own, and some providers refuse what would exceed the window with it.
  const outputTokens = maxTokens ?? info?.maxOutputTokens
  const clamps = outputTokens !== undefined && inWindow
  // A capacity that was logged before this step is the pre-step's to keep to.
  const judges = change !== null && !run.refusedUnsent
  if (!clamps && !judges) return {}
  const meter = ctx.get('tokenMeter') as Meter | undefined
  if (meter === undefined) return {}
  const requestTokens = Math.ceil(meter.measure(session).totalTokens)
  if (judges && plainlyExceeds(requestTokens, contextWindow, reserveTokens(contextWindow, maxTokens, inWindow))) {
    run.refusedUnsent = true
    const window = `${provider}/${model} has a window of ${contextWindow}`
    return refused('CONTEXT_WINDOW_EXCEEDED', `${NOT_SENT}the request is about ${requestTokens} tokens, and ${window}`)
  }
  if (!clamps) return {}
  const clamped = clampOutput(outputTokens, contextWindow, requestTokens)
  return clamped < outputTokens ? { maxTokens: clamped } : {}
}

async function answer(run: Run, at: At, options: GenerateOptions): Promise<Collected | FailedRequest> {
  const { llm, tell, agent, session, signal } = run
  const assembler = new BlockAssembler()
  let collected: Collected
  try {
    collected = await collect(llm.stream(options), { signal, assembler, onChunk: chunk => tell('agent/delta', agent, chunk) })
  } catch (cause) {
    if (!signal.aborted) return { failure: failureOf(cause), cause }
    const content = assembler.interrupted()
    if (content.length > 0) {
      const { provider, model } = options
      const cut = { finish: 'other', interrupted: true, ...(assembler.usage && { usage: assembler.usage }) } as const
      session.append('assistant/message', { ...at, content, provider, model, ...cut }, { surfaceOp: 'append' })
    }
    throw signal.reason
  }
  session.append('assistant/message', { ...at, ...collected }, { surfaceOp: 'append' })
  return collected
}

const NO_ROUTE = 'no model is chosen: the agent has no provider and model, and no listener of agent/request named them'

function refused(code: LlmFailure['code'], message: string): FailedRequest {
  const failure = { code, message }
  return { failure, cause: new LlmError(failure) }
}
