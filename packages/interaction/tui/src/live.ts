/**
 * Live: what is seen of a conversation before its log has it, or that no log will have.
 *
 *     agent/delta ─► the answer as it streams        until its assistant/message is logged
 *     tools/output ─► the last lines of each call     until its result is logged
 *     tools/permission ─► what a call waits for       the log does not say how long that was
 *     compaction/rung, waits for a retry              while they last
 */
import type { StreamChunk } from '@deepseek-ai/dsh-llm'
import type { Seq, SessionEvent } from '@deepseek-ai/dsh-session'
import { answerKey, type Block, type CallBlock, type WordsBlock } from './blocks.ts'

/** Of a call's live output, this much is kept, and at most twice as much held. UTF-16 units. */
const KEPT_OUTPUT_CHARS = 16_384

export interface LiveOutput {
  /** The end of what it said so far. */
  tail: string
  /** All of it. UTF-16 units. */
  chars: number
}

export interface LiveRun {
  readonly startedAt: number
  /** Since when its permission is asked for; null while it is not. */
  askedAt: number | null
  /** What that took before. */
  askedMs: number
  /** A call before it was asked about meanwhile: results are logged in order, so nobody knows when this one came. */
  isHeld: boolean
}

/** What a call took by itself, without the time that somebody needed to allow it; null where that is not known. */
export function runMs({ startedAt, askedAt, askedMs, isHeld }: LiveRun, now: number): number | null {
  return isHeld ? null : (askedAt ?? now) - startedAt - askedMs
}

/** Summaries are tried in turn; each rung that ended, and how. */
export interface LiveRung {
  readonly strategy: string
  readonly outcome: string
}

export interface RetryWait {
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

export class Live {
  readonly outputs = new Map<string, LiveOutput>()
  /** Calls that run, by id; those that ran before the screen opened are not among them. */
  readonly runs = new Map<string, LiveRun>()
  /** How long calls ran, where it is known, by the seq of the result. */
  readonly ranMs = new Map<Seq, number>()
  rungs: LiveRung[] = []
  retry: RetryWait | null = null
  /** Milliseconds since the epoch; null while no turn is open. */
  turnStartedAt: number | null = null
  private readonly drafts = new Map<number, WordsBlock | CallBlock>()
  private turn: number
  private step: number

  /** From the middle of a step on, where one is open. */
  constructor(open: { readonly turn: number; readonly step: number } | null = null, startedAt: number | null = null) {
    this.turn = open?.turn ?? 0
    this.step = open?.step ?? 0
    this.turnStartedAt = startedAt
  }

  /** In the order of the answer; those without a word yet are left out. */
  blocks(): Block[] {
    const drafts = [...this.drafts.keys()].sort((a, b) => a - b).map(index => this.drafts.get(index)!).filter(hasWords)
    for (const [ordinal, draft] of drafts.entries()) draft.key = answerKey(this.turn, this.step, ordinal)
    return drafts
  }

  chunk(chunk: StreamChunk): void {
    switch (chunk.type) {
      case 'block-start': {
        if (chunk.block.type === 'image') break
        const base = { key: '', version: 0, words: { text: '' } }
        if (chunk.block.type !== 'tool-call') this.drafts.set(chunk.index, { ...base, kind: chunk.block.type === 'text' ? 'answer' : 'reasoning' })
        else {
          const { id, name } = chunk.block
          this.drafts.set(chunk.index, { ...base, kind: 'call', callId: id, name, state: 'writing', resultSeq: null, grantedAt: null, ranMs: null })
        }
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
        this.grow(chunk.index, chunk.text)
        break
      case 'tool-call-delta':
        this.grow(chunk.index, chunk.arguments)
    }
  }

  output(callId: string, text: string): void {
    const output = this.outputs.get(callId) ?? { tail: '', chars: 0 }
    output.chars += text.length
    output.tail += text
    if (output.tail.length > 2 * KEPT_OUTPUT_CHARS) output.tail = output.tail.slice(-KEPT_OUTPUT_CHARS)
    this.outputs.set(callId, output)
  }

  asks(callId: string, now: number): void {
    const run = this.runs.get(callId)
    if (run === undefined) return
    run.askedAt = now
    run.isHeld = false // it waits for its own question as well
    const ids = [...this.runs.keys()]
    for (const id of ids.slice(ids.indexOf(callId) + 1)) {
      const later = this.runs.get(id)!
      if (later.askedAt === null) later.isHeld = true
    }
  }

  answered(callId: string, now: number): void {
    const run = this.runs.get(callId)
    if (run === undefined || run.askedAt === null) return
    run.askedMs += now - run.askedAt
    run.askedAt = null
  }

  /** What the log has now is live no more. */
  event(event: SessionEvent): void {
    switch (event.type) {
      case 'turn/start':
        this.turnStartedAt ??= event.time
        this.retry = null
        this.turn = event.data.turn
        this.step = 0
        break
      case 'step/start':
        this.step = event.data.step
        this.drafts.clear()
        break
      case 'assistant/message':
      case 'step/end':
        this.drafts.clear()
        break
      case 'turn/end':
        this.drafts.clear()
        this.outputs.clear()
        this.runs.clear()
        break
      case 'tool/call':
        this.runs.set(event.data.callId, { startedAt: event.time, askedAt: null, askedMs: 0, isHeld: false })
        break
      case 'tool/result': {
        if (event.surfaceOp !== 'append') break
        const { callId } = event.data
        const run = this.runs.get(callId)
        const ms = run === undefined ? null : runMs(run, event.time)
        if (ms !== null) this.ranMs.set(event.seq, ms)
        this.runs.delete(callId)
        this.outputs.delete(callId)
        break
      }
      case 'compaction/start':
      case 'compaction/end':
        this.rungs = []
    }
  }

  /** The agent rests. */
  rest(): void {
    this.turnStartedAt = null
    this.retry = null
  }

  private grow(index: number, text: string): void {
    const draft = this.drafts.get(index)
    if (draft === undefined || !('text' in draft.words)) return
    draft.words.text += text
    draft.version += 1
  }
}

function hasWords(draft: WordsBlock | CallBlock): boolean {
  return draft.kind === 'call' || ('text' in draft.words && draft.words.text.trim() !== '')
}
