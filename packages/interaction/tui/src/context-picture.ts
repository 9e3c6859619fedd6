/**
 * The context picture: what fills the window, as a bar and a table.
 *
 *     SSTTTCCCCUUAAAARRRRRRRRRRRRRRRRRR·············┃··········
 *
 * Pure. Letters and not colours, so that it says the same in a log, in a pipe and on any screen.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { isPersonSource, latestHeader, type Session } from '@deepseek-ai/dsh-session'
import type { TokenMeter } from '@deepseek-ai/dsh-token-meter'
import type { Meter } from './status.ts'

const KINDS = {
  system: ['S', 'system prompt'],
  tools: ['T', 'tool schemas'],
  checkpoint: ['C', 'checkpoint'],
  user: ['U', 'your messages'],
  context: ['X', 'added context'],
  assistant: ['A', 'answers'],
  reasoning: ['Y', 'reasoning'],
  calls: ['K', 'tool calls'],
  results: ['R', 'tool results'],
} as const
type Kind = keyof typeof KINDS

export interface ContextShare {
  readonly kind: Kind
  readonly tokens: number
}

/** What the next request holds, by kind; the sum is the meter's own total, kinds without a token are left out. */
export function contextShares(session: Session, meter: Pick<TokenMeter, 'measure' | 'entryTokens' | 'estimateEnvelope' | 'estimateMessage'>): ContextShare[] {
  const sums = new Map<Kind, number>()
  const add = (kind: Kind, tokens: number): void => void sums.set(kind, (sums.get(kind) ?? 0) + tokens)
  const header = latestHeader(session)?.data
  const systemTokens = header?.system === undefined ? 0 : meter.estimateEnvelope(header.system, [])
  const { totalTokens, envelopeTokens } = meter.measure(session)
  add('system', Math.min(systemTokens, envelopeTokens))
  add('tools', envelopeTokens - Math.min(systemTokens, envelopeTokens))
  const prices = meter.entryTokens(session)
  for (const [position, seq] of session.surface.entries.entries()) {
    const event = session.log.at(seq)
    const price = prices[position]!
    if (event.type === 'tool/result') add('results', price)
    else if (event.type === 'user/message') add(kindOfInput(event.data.source), price)
    else if (event.type === 'assistant/message') for (const { kind, tokens } of answerShares(event.data.content, price, meter)) add(kind, tokens)
  }
  return scaled([...sums].map(([kind, tokens]) => ({ kind, tokens })), totalTokens)
}

function kindOfInput(source: Parameters<typeof isPersonSource>[0]): Kind {
  return isCompactCheckpointSource(source) ? 'checkpoint' : isPersonSource(source) ? 'user' : 'context'
}

/** An answer's price by the kinds of its blocks. */
function answerShares(content: readonly ContentBlock[], price: number, meter: Pick<TokenMeter, 'estimateMessage'>): ContextShare[] {
  const of = (kind: Kind, type: ContentBlock['type']): ContextShare => {
    const blocks = content.filter(block => block.type === type)
    return { kind, tokens: blocks.length === 0 ? 0 : meter.estimateMessage({ role: 'assistant', content: blocks }) }
  }
  const shares = [of('reasoning', 'reasoning'), of('calls', 'tool-call'), of('assistant', 'text')]
  return scaled(shares.some(({ tokens }) => tokens > 0) ? shares : [{ kind: 'assistant', tokens: 1 }], price)
}

/** The same shares of another total, in whole tokens: rounded down, what is left goes to those that lost most. */
function scaled(shares: readonly ContextShare[], total: number): ContextShare[] {
  const sum = shares.reduce((all, { tokens }) => all + tokens, 0)
  if (sum === 0) return []
  const exact = shares.map(({ kind, tokens }) => ({ kind, exact: (tokens / sum) * total }))
  const floors = exact.map(share => ({ ...share, tokens: Math.floor(share.exact) }))
  let left = total - floors.reduce((all, { tokens }) => all + tokens, 0)
  for (const share of floors.toSorted((a, b) => b.exact - b.tokens - (a.exact - a.tokens))) if (left-- > 0) share.tokens += 1
  return floors.filter(({ tokens }) => tokens > 0).map(({ kind, tokens }) => ({ kind, tokens }))
}

const BAR_COLUMNS = 60
const FREE = '·'

export function contextPicture(shares: readonly ContextShare[], { totalTokens, isMeasured, windowTokens, thresholdTokens }: Meter, route: string): string {
  const ordered = Object.keys(KINDS).flatMap(kind => shares.filter(share => share.kind === kind))
  const whole = windowTokens === null ? totalTokens : Math.max(windowTokens, totalTokens)
  const basis = isMeasured ? 'by the last answer’s own count' : 'estimated'
  const head = windowTokens === null
    ? `${count(totalTokens)} tokens (${basis}); the window of ${route} is not known`
    : `${count(totalTokens)} of ${count(windowTokens)} tokens (${percent(totalTokens / windowTokens)}), ${basis}`
  const rows = ordered.map(({ kind, tokens }) => row(KINDS[kind][0], KINDS[kind][1], tokens, whole))
  const free = windowTokens === null ? [] : [row(FREE, 'free', Math.max(0, windowTokens - totalTokens), whole)]
  const mark = thresholdTokens === null ? [] : [row('┃', 'compaction begins at', thresholdTokens, whole)]
  return [head, '', cells(ordered, whole, thresholdTokens), '', ...rows, ...free, ...mark].join('\n')
}

/** Each kind gets the cells between its ends, so the bar is as long as the whole; none that is there goes unseen. */
function cells(shares: readonly ContextShare[], whole: number, thresholdTokens: number | null): string {
  const line = Array.from({ length: BAR_COLUMNS }, (): string => FREE)
  const column = (tokens: number): number => (whole === 0 ? 0 : Math.round((tokens / whole) * BAR_COLUMNS))
  let start = 0
  let next = 0
  for (const { kind, tokens } of shares) {
    start += tokens
    const end = Math.min(BAR_COLUMNS, Math.max(column(start), next + 1))
    line.fill(KINDS[kind][0], next, end)
    next = end
  }
  if (thresholdTokens !== null && thresholdTokens <= whole) line[Math.min(BAR_COLUMNS - 1, column(thresholdTokens))] = '┃'
  return line.join('')
}

function row(letter: string, name: string, tokens: number, whole: number): string {
  return `${letter}  ${name.padEnd(22)}${count(tokens).padStart(11)}${percent(whole === 0 ? 0 : tokens / whole).padStart(8)}`
}

function count(tokens: number): string {
  return tokens.toLocaleString('en-US')
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`
}
