/**
 * Play: the ways to ask for a compaction, and what the laws of the suite have in common.
 */
import type { Seq, Session } from '@deepseek-ai/dsh-session'
import { expect } from 'vitest'
import { converse, ContractAgent, LONG, middle, newSession, type CompactionStage, type Summarizer } from './contract-stage.ts'
import type { CompactionEngine, CompactionResult } from './engine.ts'
import type { CompactionTrigger } from './events.ts'

/** The suite as its laws see it; stage, engine and summarizer are new for each law. */
export interface Play {
  readonly stage: CompactionStage
  readonly engine: CompactionEngine
  readonly summarizer: Summarizer
  law(title: string, body: () => Promise<void>): void
  /** The same law for each of these ways to ask. */
  everyEntry(title: string, entries: readonly Entry[], body: (entry: Entry) => Promise<void>): void
  run(entry: Entry, agent: ContractAgent, signal?: AbortSignal): Promise<CompactionResult | null>
}

/** One way to ask for a compaction, in the place where it is asked for. */
export interface Entry {
  readonly name: string
  readonly trigger: CompactionTrigger
  /** It is asked for inside a turn, between two steps. */
  readonly inTurn: boolean
  readonly automatic: boolean
  run(engine: CompactionEngine, agent: ContractAgent, signal: AbortSignal): Promise<CompactionResult | null>
}

const region: Entry['run'] = (engine, agent, signal) => {
  const { start, end } = middle(agent.session)
  return engine.compactRegion(start, end, agent, signal)
}
export const ENTRIES: readonly Entry[] = [
  { name: 'pressure', trigger: 'pressure', inTurn: true, automatic: true, run: (engine, agent, signal) => engine.compactIfNeeded(agent, 'pressure', signal) },
  { name: 'overflow', trigger: 'context-overflow', inTurn: true, automatic: true, run: (engine, agent, signal) => engine.compactIfNeeded(agent, 'context-overflow', signal) },
  { name: 'manual', trigger: 'manual', inTurn: false, automatic: false, run: (engine, agent, signal) => engine.compactNow(agent, signal) },
  { name: 'region of an idle agent', trigger: 'region', inTurn: false, automatic: false, run: region },
  { name: 'region between steps', trigger: 'region', inTurn: true, automatic: false, run: region },
]
/** An overflow may have another way out when its summary fails. */
export const WITHOUT_FALLBACK = ENTRIES.filter(({ trigger }) => trigger !== 'context-overflow')

export const never = (): AbortSignal => new AbortController().signal
export const coded = (code: string, reason?: string): unknown => expect.objectContaining({ name: 'ManualCompactionError', code, ...(reason && { reason }) })
export const thrown = (work: Promise<unknown>): Promise<unknown> => work.then(result => expect.unreachable(`resolved: ${JSON.stringify(result)}`), (error: unknown) => error)

/** An agent where the entry is asked for: idle after its last turn, or working between two steps of it. */
export function agentFor({ inTurn }: Pick<Entry, 'inTurn'>, { text = LONG, header = true, session = newSession() } = {}): ContractAgent {
  const agent = new ContractAgent(session)
  converse(session, text, { header })
  if (inTurn) agent.status = 'running'
  else converse(session, ')')
  return agent
}

/** Context that a program adds at the end. */
export function say(session: Session): Seq {
  return session.append('user/message', { content: [{ type: 'text', text: 'meanwhile' }], source: { kind: 'context' } }, { surfaceOp: 'append' }).seq
}

/** One entry gives way to another. */
export function rewrite(session: Session, position: number): Seq {
  const seq = session.surface.entries[position]!
  const placement = { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] } as const
  return session.append('user/message', { content: [{ type: 'text', text: 'rewritten' }], source: { kind: 'context' } }, placement).seq
}
