/**
 * Request record: every request as it was sent, judged, measured and, where asked for, written down.
 */
import type { GenerateOptions, Message } from '@deepseek-ai/dsh-llm'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { ChartPoint } from './chart.ts'
import { openAiMessage, openAiTools, type OpenAiMessage } from './openai-shape.ts'
import type { Pricer } from './pricer.ts'
import { pairingFaults } from './request-check.ts'

export interface RequestTotals {
  readonly requests: number
  readonly overWindowRequests: number
  readonly peakRequestTokens: number
  readonly finalRequestTokens: number
  readonly orphanResults: number
  readonly unansweredCalls: number
}

/** A message in its wire shape, with the JSON of that: both are made once. */
interface Shaped {
  readonly message: OpenAiMessage
  readonly json: string
}

export class RequestRecord {
  /** The size of every ordinary request. */
  readonly points: ChartPoint[] = []
  private readonly priceOf: Pricer
  private readonly windowOf: (request: GenerateOptions) => number
  private readonly file: number | null
  private readonly shapes = new WeakMap<Message, Shaped | null>()
  private readonly counts = { requests: 0, overWindowRequests: 0, peakRequestTokens: 0, orphanResults: 0, unansweredCalls: 0 }

  /**
   * @param init.windowOf the tokens that the model of a request accepts.
   * @throws the file system's error when `path` cannot be written.
   */
  constructor(init: { readonly priceOf: Pricer; readonly windowOf: (request: GenerateOptions) => number; readonly path?: string | undefined }) {
    this.priceOf = init.priceOf
    this.windowOf = init.windowOf
    this.file = init.path === undefined ? null : openSync(init.path, 'w')
  }

  /** `step` is the ordinal of the step that the request belongs to, or makes room for. */
  take(request: GenerateOptions, step: number): void {
    const shaped = request.messages.map(message => this.shapeOf(message)).filter(shape => shape !== null)
    const faults = pairingFaults(shaped.map(({ message }) => message))
    const tokens = this.priceOf(request)
    const { counts } = this
    counts.requests += 1
    counts.orphanResults += faults.orphanResults
    counts.unansweredCalls += faults.unansweredCalls
    counts.peakRequestTokens = Math.max(counts.peakRequestTokens, tokens)
    if (tokens > this.windowOf(request)) counts.overWindowRequests += 1
    if (request.purpose === undefined) this.points.push({ step, tokens })
    if (this.file !== null) writeSync(this.file, `${lineOf(request, step, shaped)}\n`)
  }

  totals(): RequestTotals {
    return { ...this.counts, finalRequestTokens: this.points.at(-1)?.tokens ?? 0 }
  }

  close(): void {
    if (this.file !== null) closeSync(this.file)
  }

  private shapeOf(message: Message): Shaped | null {
    const known = this.shapes.get(message)
    if (known !== undefined) return known
    const shape = openAiMessage(message)
    const shaped = shape === null ? null : { message: shape, json: JSON.stringify(shape) }
    this.shapes.set(message, shaped)
    return shaped
  }
}

function lineOf({ purpose, tools, system }: GenerateOptions, step: number, shaped: readonly Shaped[]): string {
  const fields = [`"step":${step}`]
  if (purpose !== undefined) fields.push(`"purpose":${JSON.stringify(purpose)}`)
  if (tools !== undefined && tools.length > 0) fields.push(`"tools":${JSON.stringify(openAiTools(tools))}`)
  const first = system === undefined || system === '' ? [] : [JSON.stringify({ role: 'system', content: system })]
  fields.push(`"messages":[${[...first, ...shaped.map(({ json }) => json)].join(',')}]`)
  return `{${fields.join(',')}}`
}
