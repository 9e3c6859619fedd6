/**
 * Blocks: what a conversation looks like to a person, derived from its log.
 *
 *     log      turn/start · user/message · step/start · assistant/message · tool/call · tool/result · … · turn/end
 *     blocks                person                      reasoning, answer, call … done                    (end)
 *
 * Pure. The log and not the surface: what was shadowed or shortened for the model stays as it was said, and a compaction is
 * one more block. Blocks hold no text, only where the log has it, so that a long session stays small.
 */
import { isCompactCheckpointSource, type CompactionTrigger, type SummaryStrategy } from '@deepseek-ai/dsh-compaction'
import { isTransient } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-permissions'
import { isPersonSource, type Fold, type FoldReader, type ReplaceOp, type Seq, type SessionEvent } from '@deepseek-ai/dsh-session'

interface BlockBase {
  /** The same for what streams in and for what the log then has of it, so that what a person opened stays open. */
  key: string
  /** Grows with every change. */
  version: number
}

/** A content block in the log, or words that are not there (yet). */
export type Words = { readonly seq: Seq; readonly index: number } | { text: string }

export interface SaidBlock extends BlockBase {
  readonly kind: 'person' | 'context'
  readonly seq: Seq
}
export interface WordsBlock extends BlockBase {
  readonly kind: 'reasoning' | 'answer'
  readonly words: Words
  readonly interrupted?: true
}
export interface CallBlock extends BlockBase {
  readonly kind: 'call'
  readonly callId: string
  readonly words: Words
  /** Known while the model still writes it; later the log has it. */
  readonly name?: string
  state: 'writing' | 'waiting' | 'running' | 'done' | 'failed'
  resultSeq: Seq | null
  /** When a person allowed it for good, where the log tells which call they were asked about. Milliseconds since the epoch, like every `…At`. */
  grantedAt: number | null
  /** Null where the log cannot tell how much of the time a person took to allow it. */
  ranMs: number | null
}
export interface CompactionBlock extends BlockBase {
  readonly kind: 'compaction'
  readonly startSeq: Seq
  readonly turn: number | null
  readonly trigger: CompactionTrigger
  readonly startedAt: number
  state: 'running' | 'done' | 'failed'
  endedAt: number | null
  strategy: SummaryStrategy | null
  summarySeq: Seq | null
  checkpointSeq: Seq | null
  endSeq: Seq | null
}
/** Entries of which the model sees the beginning and the end from here on. */
export interface ShortenedBlock extends BlockBase {
  readonly kind: 'shortened'
  /** What each stood as before, and the view that stands in its place. */
  readonly views: { readonly beforeSeq: Seq; seq: Seq }[]
}
export interface CommandBlock extends BlockBase {
  readonly kind: 'command'
  readonly seq: Seq
  doneSeq: Seq | null
  /** Its process ended first, or a fork began in between. */
  lost: boolean
}
/** A turn that did not simply end. */
export interface EndBlock extends BlockBase {
  readonly kind: 'end'
  readonly seq: Seq
  /** Tries in a row that failed in a way that another might have cured, this one with them. */
  readonly tries: number
  /** The next turn tries the same again. */
  retried: boolean
}
export interface ResumedBlock extends BlockBase {
  readonly kind: 'resumed'
  readonly seq: Seq
}
/** Told while the screen was open; no log has it. */
export interface NoticeBlock extends BlockBase {
  readonly kind: 'notice'
  readonly level: 'info' | 'warning'
  readonly text: string
}

export type Block = SaidBlock | WordsBlock | CallBlock | CompactionBlock | ShortenedBlock | CommandBlock | EndBlock | ResumedBlock | NoticeBlock

interface BlocksState {
  readonly blocks: Block[]
  /** Calls without a result, by id; ids are unique within a step. */
  readonly calls: Map<string, CallBlock>
  readonly commands: Map<string, CommandBlock>
  compaction: CompactionBlock | null
  lastEnd: EndBlock | null
  tries: number
}

const blocksFold: Fold<BlocksState> = {
  init: () => ({ blocks: [], calls: new Map(), commands: new Map(), compaction: null, lastEnd: null, tries: 0 }),
  apply(state, event) {
    add(state, event)
    return state
  },
}

/** Grows at its end; a block changes in place, with its version. */
export function blocksOf(session: FoldReader): readonly Block[] {
  return session.read(blocksFold).blocks
}

/** The key of the n-th block of a step's answer. */
export function answerKey(turn: number, step: number, ordinal: number): string {
  return `${turn}.${step}.${ordinal}`
}

function add(state: BlocksState, event: SessionEvent): void {
  const { blocks, calls, commands } = state
  switch (event.type) {
    case 'user/message':
      if (event.surfaceOp === 'append') {
        blocks.push({ kind: isPersonSource(event.data.source) ? 'person' : 'context', key: `m${event.seq}`, version: 0, seq: event.seq })
      } else if (!isCompactCheckpointSource(event.data.source)) {
        shortened(blocks, event.surfaceOp, event.seq)
      } else if (state.compaction !== null) {
        change(state.compaction, { checkpointSeq: event.seq })
      }
      break
    case 'assistant/message':
      if (event.surfaceOp === 'append') answer(state, event)
      else shortened(blocks, event.surfaceOp, event.seq)
      break
    case 'tool/call': {
      const call = calls.get(event.data.callId)
      if (call !== undefined) change(call, { state: 'running' })
      break
    }
    case 'permission/granted': {
      // A grant names no call: it is the answer to the only one that could be asked about, where there is only one.
      const [call, ...others] = [...calls.values()].filter(({ state }) => state === 'running')
      if (call !== undefined && others.length === 0) change(call, { grantedAt: event.time })
      break
    }
    case 'tool/result': {
      if (event.surfaceOp !== 'append') {
        shortened(blocks, event.surfaceOp, event.seq)
        break
      }
      const call = calls.get(event.data.callId)
      if (call === undefined) break
      calls.delete(event.data.callId)
      // One that a crash ended is answered by the resume, which may be days later.
      const isTimed = call.grantedAt !== null && event.data.error?.code !== 'TOOL_OUTCOME_UNKNOWN'
      change(call, { state: event.data.isError ? 'failed' : 'done', resultSeq: event.seq, ranMs: isTimed ? event.time - call.grantedAt! : null })
      break
    }
    case 'turn/start':
      calls.clear()
      if (!event.data.retry) state.tries = 0
      if (event.data.retry && state.lastEnd !== null) change(state.lastEnd, { retried: true })
      break
    case 'turn/end': {
      if (event.data.reason === 'completed') break
      const isPassing = event.data.reason === 'error' && isTransient(event.data.failure)
      state.lastEnd = { kind: 'end', key: `e${event.seq}`, version: 0, seq: event.seq, tries: isPassing ? ++state.tries : 0, retried: false }
      blocks.push(state.lastEnd)
      break
    }
    case 'compaction/start': {
      const { turn, trigger } = event.data
      state.compaction = {
        kind: 'compaction', key: `c${event.seq}`, version: 0, startSeq: event.seq, turn, trigger, startedAt: event.time,
        state: 'running', endedAt: null, strategy: null, summarySeq: null, checkpointSeq: null, endSeq: null,
      }
      blocks.push(state.compaction)
      break
    }
    case 'compaction/summary':
      if (state.compaction !== null) change(state.compaction, { summarySeq: event.seq, strategy: event.data.strategy })
      break
    case 'compaction/end':
      if (state.compaction === null) break
      change(state.compaction, { state: event.data.error === undefined ? 'done' : 'failed', endedAt: event.time, endSeq: event.seq })
      state.compaction = null
      break
    case 'command/run': {
      const command: CommandBlock = { kind: 'command', key: `/${event.seq}`, version: 0, seq: event.seq, doneSeq: null, lost: false }
      commands.set(event.data.commandId, command)
      blocks.push(command)
      break
    }
    case 'command/done': {
      const command = commands.get(event.data.commandId)
      commands.delete(event.data.commandId)
      if (command !== undefined) change(command, { doneSeq: event.seq })
      break
    }
    case 'session/end-seed':
      for (const command of commands.values()) change(command, { lost: true })
      commands.clear()
      if (state.compaction !== null) change(state.compaction, { state: 'failed', endedAt: event.time })
      state.compaction = null
      if (blocks.length > 0 && blocks.at(-1)!.kind !== 'resumed') blocks.push({ kind: 'resumed', key: `r${event.seq}`, version: 0, seq: event.seq })
      break
  }
}

function answer(state: BlocksState, { seq, data }: SessionEvent<'assistant/message'>): void {
  const { blocks, calls } = state
  const { turn, step, content } = data
  state.tries = 0
  let ordinal = 0
  for (const [index, block] of content.entries()) {
    const common = { key: answerKey(turn, step, ordinal), version: 0, words: { seq, index } }
    if (block.type === 'tool-call') {
      const call: CallBlock = { ...common, kind: 'call', callId: block.id, state: 'waiting', resultSeq: null, grantedAt: null, ranMs: null }
      calls.set(block.id, call)
      blocks.push(call)
    } else if ((block.type === 'text' || block.type === 'reasoning') && block.text.trim() !== '') {
      blocks.push({ ...common, kind: block.type === 'text' ? 'answer' : 'reasoning', ...(data.interrupted ? { interrupted: true } : {}) })
    } else {
      continue
    }
    ordinal += 1
  }
}

/** One entry that gave way to a view of it; joins those before, where nothing else was seen in between. */
function shortened(blocks: Block[], { start: beforeSeq, end }: ReplaceOp, seq: Seq): void {
  if (beforeSeq !== end) return
  const last = blocks.at(-1)
  if (last?.kind !== 'shortened') {
    blocks.push({ kind: 'shortened', key: `v${seq}`, version: 0, views: [{ beforeSeq, seq }] })
    return
  }
  const again = last.views.find(view => view.seq === beforeSeq)
  if (again === undefined) last.views.push({ beforeSeq, seq })
  else again.seq = seq
  last.version += 1
}

function change<B extends Block>(block: B, to: Partial<B>): void {
  Object.assign(block, to)
  block.version += 1
}
