/**
 * A provider to test against: a real HTTP server that speaks OpenAI chat completions and Anthropic messages, remembers what it
 * has read as a provider's cache does, enforces its window, and does whatever a script tells it to.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anthropic } from './anthropic-wire.ts'
import { Gates } from './gates.ts'
import { openai } from './openai-wire.ts'
import type { PrefixCache } from './prefix-cache.ts'
import { countTokens, pairingFault, tokensOf, type Json, type ProviderRequest, type ReadPrompt } from './prompt.ts'
import { isRefusal, refusal, type Act, type Answer, type Refusal, type Script } from './script.ts'
import type { Ending, Frames, PromptUse, Wire } from './wire.ts'

export interface ProviderOptions {
  readonly script: Script
  readonly window?: Window
  /** Any free one by default. */
  readonly port?: number
}

export interface Window {
  readonly tokens: number
  /** Whether the output a request asks for counts; it does by default. */
  readonly holdsOutput?: boolean
  /** How a request that does not fit is refused; in the words of its dialect by default. */
  readonly refuse?: (sizes: Sizes) => Answer
}

/** Tokens; `requestTokens` is what was held against the window. */
export interface Sizes {
  readonly request: ProviderRequest
  readonly windowTokens: number
  readonly requestTokens: number
}

/** One request and what became of it; the figures grow while it is answered. */
export interface Served extends PromptUse {
  readonly request: ProviderRequest
  outputTokens: number
  /** `gone`: the client closed the connection before the end. */
  outcome: 'open' | 'answered' | 'refused' | 'failed' | 'cut' | 'gone'
}

export interface Provider {
  /** `http://127.0.0.1:PORT`; clients of OpenAI expect `/v1` behind it. */
  readonly url: string
  /** In the order in which they came. */
  readonly served: readonly Served[]
  readonly gates: Gates
  close(): Promise<void>
}

const WIRES: { readonly [path: string]: Wire } = { '/v1/chat/completions': openai, '/v1/messages': anthropic }
/** A text is sent in pieces of so many tokens. */
const PIECE_TOKENS = 8

export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const { script, window } = options
  const served: Served[] = []
  const gates = new Gates()
  const caches = new Map<string, PrefixCache>()
  let requests = 0

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const wire = WIRES[incoming.url?.split('?', 1)[0] ?? '']
    if (incoming.method !== 'POST' || wire === undefined) return refuse(response, refusal('openai', 404, `no such endpoint: ${incoming.method} ${incoming.url}`))
    const index = requests++
    const { dialect } = wire
    let body: Json
    let read: ReadPrompt
    try {
      body = JSON.parse(await textOf(incoming)) as Json
      read = wire.read(body)
    } catch (error) {
      if (error instanceof SyntaxError) return refuse(response, refusal(dialect, 400, error.message))
      throw error
    }
    const { parts, ...prompt } = read
    const { headers } = incoming
    const request: ProviderRequest = { ...prompt, index, dialect, key: keyOf(headers), headers, body }
    const promptTokens = parts.reduce((sum, { tokens }) => sum + tokens.length, 0)
    const fault = pairingFault(request.messages)
    const reply = fault !== null ? refusal(dialect, 400, fault) : (overflow(request, promptTokens) ?? (await script(request)))
    if (isRefusal(reply)) {
      served.push({ request, promptTokens, read: 0, written: 0, outputTokens: 0, outcome: 'refused' })
      return refuse(response, reply)
    }
    const cacheKey = `${dialect} ${request.model} ${request.key}`
    if (!caches.has(cacheKey)) caches.set(cacheKey, wire.newCache())
    const use = { promptTokens, ...caches.get(cacheKey)!.use(parts) }
    const entry: Served = { request, ...use, outputTokens: 0, outcome: 'open' }
    served.push(entry)
    await new Stream(response, wire.frames(request.body, use), entry, gates).play(typeof reply === 'string' ? [{ text: reply }] : reply)
  }

  function overflow(request: ProviderRequest, promptTokens: number): Answer | null {
    if (window === undefined) return null
    const { tokens: windowTokens, holdsOutput = true, refuse: wording = refuseOverflow } = window
    const requestTokens = promptTokens + (holdsOutput ? (request.maxTokens ?? 0) : 0)
    return requestTokens <= windowTokens ? null : wording({ request, windowTokens, requestTokens })
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve)
  await listening
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    served,
    gates,
    async close() {
      const closed = new Promise(done => server.close(done))
      server.closeAllConnections()
      await closed
    },
  }
}

function keyOf(headers: IncomingHttpHeaders): string {
  return headers.authorization?.replace(/^Bearer /, '') ?? String(headers['x-api-key'] ?? '')
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  incoming.setEncoding('utf8')
  let text = ''
  for await (const piece of incoming) text += piece as string
  return text
}

function refuse(response: ServerResponse, { status, headers, body }: Refusal): void {
  const type = typeof body === 'string' ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body))
}

function refuseOverflow({ request: { dialect }, windowTokens, requestTokens }: Sizes): Refusal {
  return dialect === 'openai'
    ? refusal(dialect, 400, `This model's maximum context length is ${windowTokens} tokens. However, you requested ${requestTokens} tokens. Please reduce the length of the messages.`, 'context_length_exceeded')
    : refusal(dialect, 400, `prompt is too long: ${requestTokens} tokens > ${windowTokens} maximum`)
}

/** Plays the acts of one answer, at most as many tokens as the request allows. */
class Stream {
  private readonly response: ServerResponse
  private readonly frames: Frames
  private readonly entry: Served
  private readonly gates: Gates
  private readonly gone = new AbortController()
  private isBegun = false
  private reasoningTokens = 0
  private calls = 0

  constructor(response: ServerResponse, frames: Frames, entry: Served, gates: Gates) {
    this.response = response
    this.frames = frames
    this.entry = entry
    this.gates = gates
    response.once('close', () => {
      if (entry.outcome === 'open') entry.outcome = 'gone'
      this.gone.abort()
    })
  }

  async play(acts: readonly Act[]): Promise<void> {
    try {
      for (const act of acts) {
        const ending = await this.act(act)
        if (this.entry.outcome !== 'open') return
        if (ending !== null) return this.end(ending)
      }
      this.end(this.calls > 0 ? 'calls' : 'stop')
    } catch (error) {
      if (!this.gone.signal.aborted) throw error
    }
  }

  /** How the answer ends with this act; null where it goes on, or where there is nothing more to send. */
  private async act(act: Act): Promise<Ending | null> {
    if ('finish' in act) return { word: act.finish }
    if ('call' in act) return this.call(act.call)
    if ('text' in act || 'reasoning' in act) return this.speak(act)
    if ('wait' in act) await this.gates.pass(act.wait, this.gone.signal)
    else if ('cut' in act) this.cut()
    else this.fail(act.error)
    return null
  }

  private cut(): void {
    this.entry.outcome = 'cut'
    this.response.destroy()
  }

  private fail(body: unknown): void {
    this.entry.outcome = 'failed'
    this.open()
    this.response.end(this.frames.error(body))
  }

  private async speak(act: { readonly text: string } | { readonly reasoning: string }): Promise<Ending | null> {
    const isText = 'text' in act
    const tokens = tokensOf(isText ? act.text : act.reasoning)
    const allowed = tokens.slice(0, this.roomTokens())
    await this.write('')
    for (let start = 0; start < allowed.length; start += PIECE_TOKENS) {
      const piece = allowed.slice(start, start + PIECE_TOKENS)
      this.spend(piece.length, !isText)
      await this.write(isText ? this.frames.text(piece.join('')) : this.frames.reasoning(piece.join('')))
    }
    return allowed.length < tokens.length ? 'limit' : null
  }

  private async call({ id, name, arguments: value }: { readonly id?: string; readonly name: string; readonly arguments: unknown }): Promise<Ending | null> {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const tokens = countTokens(name) + countTokens(text)
    if (tokens > this.roomTokens()) return 'limit'
    this.spend(tokens, false)
    this.calls += 1
    await this.write(this.frames.call({ id: id ?? `call_${this.entry.request.index}_${this.calls}`, name, arguments: text }))
    return null
  }

  private end(ending: Ending): void {
    this.open()
    const { outputTokens } = this.entry
    const begin = this.isBegun ? '' : this.frames.begin()
    this.entry.outcome = 'answered'
    this.response.end(begin + this.frames.end(ending, { outputTokens, reasoningTokens: this.reasoningTokens }))
  }

  private roomTokens(): number {
    return (this.entry.request.maxTokens ?? Infinity) - this.entry.outputTokens
  }

  private spend(tokens: number, isReasoning: boolean): void {
    this.entry.outputTokens += tokens
    if (isReasoning) this.reasoningTokens += tokens
  }

  private open(): void {
    if (!this.response.headersSent) this.response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  }

  /** Resolves when it has left; rejects when nobody is there to take it. */
  private async write(frames: string): Promise<void> {
    this.gone.signal.throwIfAborted()
    this.open()
    const begin = this.isBegun ? '' : this.frames.begin()
    this.isBegun = true
    if (begin + frames === '') return
    await new Promise<void>((resolve, reject) => this.response.write(begin + frames, error => (error ? reject(error) : resolve())))
  }
}
