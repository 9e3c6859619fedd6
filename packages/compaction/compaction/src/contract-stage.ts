/**
 * Stage: what the contract suite plays with. Conversations of real turns and steps, an agent reduced to what an engine may ask
 * of one, and a summarizer that does as it is told.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { lastTurn, openTurn, Session, type EventSink, type Seq, type SessionEvent, type SessionEventType } from '@deepseek-ai/dsh-session'
import type { CompactionAgent, CompactionEngine } from './engine.ts'
import { openCallsAt } from './pairing.ts'

export interface StageInit {
  /** The route that conversations are logged with; the stage makes its capacity known to the engine. */
  readonly provider: string
  readonly model: string
  readonly windowTokens: number
  /**
   * To be asked, and awaited, for every summary the engine makes. It throws to fail it; null leaves the words to the engine.
   */
  readonly summarize: () => Promise<string | null>
}

export interface CompactionStage {
  readonly engine: CompactionEngine
  /** Unloads the engine alone; resolves once it has let go of everything. */
  unload(): Promise<void>
  /** Lets go of all the rest. */
  dispose(): Promise<void>
}

export type MakeStage = (init: StageInit) => Promise<CompactionStage>

export const ROUTE = { provider: 'contract', model: 'small' } as const
export const WINDOW_TOKENS = 8_000

// ── conversations ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Ten turns of five entries, together well above the window. */
export const LONG = 'u cab rb ra a '.repeat(10).trim()
/** Enough to be worth a checkpoint, and far below any threshold. */
export const SHORT = 'u cab ra rb a u cb rb a u a'

const SENTENCE = 'The quick brown fox jumps over the lazy dog while nobody is looking at it. '
/** One entry: about 200 tokens, whoever counts. */
const ENTRY_CHARS = 900

export function words(label: string, chars: number = ENTRY_CHARS): string {
  return `${label}: ${SENTENCE.repeat(Math.ceil(chars / SENTENCE.length))}`.slice(0, chars)
}

export interface Script {
  /** Without it neither route nor capacity is logged, as before the first request. */
  readonly header?: boolean
  /** Characters of every entry. */
  readonly chars?: number
}

/**
 * Goes on with a conversation as a loop would: `u` what a person says, which opens a turn; `a` an answer; `cab` an answer that
 * calls a and b; `ra` the result for a; `)` the end of the turn. A step ends with the last result it waits for.
 */
export function converse(session: Session, text: string, { header = true, chars }: Script = {}): void {
  let step = 0
  let waiting: string[] = []
  for (const word of text.split(' ')) {
    const kind = word[0]
    const content: ContentBlock[] = [{ type: 'text', text: words(`${word} at ${session.log.length}`, chars) }]
    const at = () => ({ turn: lastTurn(session), step })
    if (kind === 'u' || kind === ')') {
      if (openTurn(session) !== null) session.append('turn/end', { turn: lastTurn(session), reason: 'completed' })
      if (kind === ')') continue
      session.append('turn/start', { turn: lastTurn(session) + 1 })
      session.append('user/message', { content, source: { kind: 'user' } }, { surfaceOp: 'append' })
      step = 0
    } else if (kind === 'r') {
      const callId = word.slice(1)
      waiting.splice(waiting.indexOf(callId), 1)
      session.append('tool/call', { ...at(), callId })
      session.append('tool/result', { ...at(), callId, content }, { surfaceOp: 'append' })
      if (waiting.length === 0) session.append('step/end', at())
    } else {
      step += 1
      session.append('step/start', at())
      if (header && !logged(session).some(({ type }) => type === 'request/header')) {
        session.append('request/header', { config: ROUTE, reason: 'initial' })
        session.append('request/context', { ...ROUTE, contextWindow: WINDOW_TOKENS })
      }
      waiting = Array.from(word.slice(1))
      for (const id of waiting) content.push({ type: 'tool-call', id, name: 'look', arguments: '{"at":"it"}' })
      const finish = waiting.length > 0 ? 'tool-calls' : 'stop'
      session.append('assistant/message', { ...at(), content, ...ROUTE, finish }, { surfaceOp: 'append' })
      if (waiting.length === 0) session.append('step/end', at())
    }
  }
}

export function logged(session: Session, from: Seq = 0): SessionEvent[] {
  return [...session.log.from(from)]
}

/** Two safe cuts around a stretch of some entries in the middle of the surface. */
export function middle(session: Session): { readonly from: number; readonly to: number; readonly start: Seq; readonly end: Seq } {
  const { entries } = session.surface
  const safe = entries.flatMap((_, cut) => (openCallsAt(session, cut) === 0 ? [cut] : []))
  const from = safe.find(cut => cut > 0)!
  const to = safe.find(cut => cut >= from + 5)!
  return { from, to, start: entries[from]!, end: entries[to - 1]! }
}

// ── an agent ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

export class ContractAgent implements CompactionAgent {
  readonly id = 'contract'
  readonly options = ROUTE
  readonly session: Session
  status: 'idle' | 'running' = 'idle'
  /** Maintenance tasks so far. */
  tasks = 0
  private controller = new AbortController()

  constructor(session: Session) {
    this.session = session
  }

  /** Aborts the maintenance task, as a person's cancel does. */
  cancel(): void {
    this.controller.abort(new Error('the agent was cancelled'))
  }

  runMaintenance<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.status !== 'idle') throw new Error('the agent is not idle')
    this.status = 'running'
    this.tasks += 1
    this.controller = new AbortController()
    return task(this.controller.signal).finally(() => {
      this.status = 'idle'
    })
  }
}

// ── a summarizer ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What every summary of the engine waits for. */
export class Summarizer {
  /** The answer to every question from now on; null: the engine's own words. */
  answer: () => Promise<string | null> = async () => null
  questions = 0
  private readonly first = Promise.withResolvers<void>()

  /** Resolves once a summary was asked for. */
  get asked(): Promise<void> {
    return this.first.promise
  }

  readonly summarize = (): Promise<string | null> => {
    this.questions += 1
    this.first.resolve()
    return this.answer()
  }

  /** Makes every answer wait; the returned hand lets them go. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<null>()
    this.answer = () => promise
    return () => resolve(null)
  }
}

// ── a store ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Refuses events of one type, or to flush, while it is told to. */
export class FaultySink implements EventSink {
  readonly fault = new Error('the disk is full')
  refuses: SessionEventType | null = null
  flushes = true
  /** How often an event of each type was offered. */
  readonly offered: SessionEventType[] = []

  append({ type }: SessionEvent): void {
    this.offered.push(type)
    if (type === this.refuses) throw this.fault
  }

  async flush(): Promise<void> {
    if (!this.flushes) throw this.fault
  }
}

export function newSession(init: { readonly sink?: EventSink; readonly seed?: Iterable<SessionEvent> } = {}): Session {
  return new Session({ header: { id: 'contract', createdAt: 0 }, ...init })
}
