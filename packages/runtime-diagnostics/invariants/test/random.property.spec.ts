/**
 * Whatever is tried in whatever order, a judged log holds what its invariants say, and a veto leaves no trace.
 *
 * Method: 2,000 random histories from a fixed seed, of appends that are mostly wrong; after each of them log, surface, sink, observer
 * and every fold are compared with what they were, or the log is judged once more from its beginning.
 */
import { loopInvariant } from '@deepseek-ai/dsh-agent-loop'
import { COMPACT_CHECKPOINT_SOURCE, compactionInvariant } from '@deepseek-ai/dsh-compaction'
import { checkLog, Session, sessionInvariant, type Invariant } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { toolsInvariant } from '@deepseek-ai/dsh-tools'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { guardOf, InvariantViolationError } from '../src/index.ts'

const INVARIANTS: readonly Invariant<unknown>[] = [sessionInvariant, toolsInvariant, loopInvariant, compactionInvariant]

const small = fc.integer({ min: 1, max: 2 })
const at = fc.record({ turn: small, step: small })
const id = fc.constantFrom('a', 'b')
const text = [{ type: 'text', text: 'words' }] as const
const appended = { surfaceOp: 'append' } as const

/** One attempt; most of them fit nowhere. */
const attempt = fc.oneof(
  small.map(turn => (session: Session): unknown => session.append('turn/start', { turn })),
  small.map(turn => (session: Session): unknown => session.append('turn/end', { turn, reason: 'completed' })),
  at.map(where => (session: Session): unknown => session.append('step/start', where)),
  at.map(where => (session: Session): unknown => session.append('step/end', where)),
  fc.constant((session: Session): unknown => session.append('request/header', { config: { provider: 'p', model: 'm' }, reason: 'initial' })),
  fc.constant((session: Session): unknown => session.append('user/message', { content: text, source: { kind: 'user' } }, appended)),
  fc.record({ where: at, ids: fc.array(id, { maxLength: 2 }) }).map(({ where, ids }) => (session: Session): unknown => {
    const calls = ids.map(called => ({ type: 'tool-call', id: called, name: 'look', arguments: '{}' }) as const)
    return session.append('assistant/message', { ...where, content: [...text, ...calls], provider: 'p', model: 'm', finish: 'other' }, appended)
  }),
  fc.record({ where: at, callId: id }).map(({ where, callId }) => (session: Session): unknown => session.append('tool/call', { ...where, callId })),
  fc.record({ where: at, callId: id }).map(({ where, callId }) => (session: Session): unknown => session.append('tool/result', { ...where, callId, content: text }, appended)),
  fc.option(small, { nil: null }).map(turn => (session: Session): unknown => session.append('compaction/start', { turn, trigger: 'manual' })),
  fc.record({ startSeq: fc.nat(8), turn: fc.option(small, { nil: null }) }).map(data => (session: Session): unknown => session.append('compaction/end', data)),
  fc.constant((session: Session): unknown => {
    const [first = 0] = session.surface.entries
    return session.append('user/message', { content: text, source: COMPACT_CHECKPOINT_SOURCE }, { surfaceOp: { op: 'replace', start: first, end: first }, sourceEventSeqs: [first] })
  }),
)

it('holds through 2,000 histories of attempts', () => {
  const seen = { taken: 0, vetoed: 0, reported: 0 }
  fc.assert(fc.property(fc.array(attempt, { maxLength: 40, size: 'max' }), attempts => {
    const taken: number[] = []
    const told: number[] = []
    const reported: number[] = []
    const session = new Session({
      header: { id: 'random', createdAt: 0 },
      now: () => 0,
      guard: guardOf(INVARIANTS, ({ violations }) => void reported.push(...violations.map(({ seq }) => seq))),
      sink: { append: ({ seq }) => void taken.push(seq), flush: async () => {} },
      observer: { event: ({ seq }) => void told.push(seq), flushed() {} },
    })
    const everything = () => JSON.stringify([session.log.length, session.surface.entries, session.deriveMessages(), INVARIANTS.map(invariant => session.read(invariant)), taken, told])
    for (const act of attempts) {
      const before = everything()
      const reports = reported.length
      try {
        act(session)
        seen.taken += 1
        seen.reported += reported.length > reports ? 1 : 0
      } catch (error) {
        if (error instanceof InvariantViolationError) seen.vetoed += 1
        expect(everything()).toBe(before)
      }
    }
    const length = Array.from({ length: session.log.length }, (_, seq) => seq)
    expect([taken, told]).toEqual([length, length])
    const broken = checkLog(session.log.from(0), INVARIANTS)
    expect(broken.map(({ seq }) => seq)).toEqual(reported)
    for (const { seq } of broken) expect(session.log.at(seq).type).toMatch(/^(step|turn)\/end$/)
    expectReplays(session)
  }), { seed: 11, numRuns: 2_000 })
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(1_000)
})
