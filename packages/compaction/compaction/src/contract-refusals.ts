/**
 * Refusals: what stops a compaction before anything is written.
 */
import { openTurn, type Seq, type Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect } from 'vitest'
import { snapshotOf } from './contract-judge.ts'
import { agentFor, coded, ENTRIES, never, thrown, type Play } from './contract-play.ts'
import { converse, LONG, middle, newSession, type ContractAgent } from './contract-stage.ts'
import { ManualCompactionError } from './engine.ts'
import { liveCompaction } from './lock.ts'

export function refusalLaws(play: Play): void {
  const { law, everyEntry, run } = play

  describe('refusals come before any write', () => {
    const refused = async (agent: ContractAgent, work: () => Promise<unknown>): Promise<unknown> => {
      const before = snapshotOf(agent.session)
      const error = await thrown(Promise.resolve().then(work))
      expect(snapshotOf(agent.session)).toBe(before)
      expect(play.summarizer.questions).toBe(0)
      return error
    }

    everyEntry('under a live lock it is busy with a compaction, whatever else would stand in its way', ENTRIES, async entry => {
      const locked = (text: string): ContractAgent => {
        const agent = agentFor(entry, { text })
        agent.session.append('compaction/start', { turn: openTurn(agent.session), trigger: 'manual' })
        return agent
      }
      const busy = coded('busy', 'compaction')
      const agent = locked(LONG)
      expect(await refused(agent, () => run(entry, agent))).toEqual(busy)
      agent.status = 'running'
      expect(await refused(agent, () => run(entry, agent)), 'of a working agent').toEqual(busy)
      const tiny = locked('u')
      const hopeless = () => (entry.trigger === 'region' ? play.engine.compactRegion(9_999, 0, tiny) : run(entry, tiny))
      expect(await refused(tiny, hopeless), 'with nothing to compact').toEqual(busy)
    })

    everyEntry('a second one beside the first is busy with it', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const letGo = play.summarizer.hold()
      const first = run(entry, agent)
      await play.summarizer.asked
      const before = snapshotOf(agent.session)
      for (const second of ENTRIES) expect(await thrown(Promise.resolve().then(() => run(second, agent)))).toEqual(coded('busy', 'compaction'))
      expect(snapshotOf(agent.session)).toBe(before)
      letGo()
      expect(await first).not.toBeNull()
    })

    law('a manual compaction of a working agent is busy with the agent', async () => {
      const agent = agentFor({ inTurn: true })
      expect(await refused(agent, () => play.engine.compactNow(agent, never()))).toEqual(coded('busy', 'agent'))
    })

    everyEntry('a signal that was aborted before is thrown with its exact reason', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const reason = { not: 'even an error' }
      expect(await refused(agent, () => run(entry, agent, AbortSignal.abort(reason)))).toBe(reason)
    })

    const badSpans: readonly [title: string, span: (session: Session) => readonly [start: Seq, end: Seq]][] = [
      ['ends at an unknown seq', ({ surface }) => [surface.entries[0]!, 9_999]],
      ['starts at an event that no model sees', ({ surface }) => [0, surface.entries[5]!]],
      ['starts at no number', ({ surface }) => [Number.NaN, surface.entries[5]!]],
      ['stands the wrong way round', ({ surface }) => [surface.entries[5]!, surface.entries[0]!]],
      ['starts between a call and its result', ({ surface }) => [surface.entries[2]!, surface.entries[9]!]],
      ['starts between two results', ({ surface }) => [surface.entries[3]!, surface.entries[9]!]],
      ['ends between a call and its result', ({ surface }) => [surface.entries[0]!, surface.entries[6]!]],
      ['ends between two results', ({ surface }) => [surface.entries[0]!, surface.entries[7]!]],
    ]
    for (const [title, span] of badSpans) {
      law(`a region that ${title} is an error`, async () => {
        for (const inTurn of [false, true]) {
          const agent = agentFor({ inTurn })
          const error = await refused(agent, () => play.engine.compactRegion(...span(agent.session), agent))
          expect(error).toBeInstanceOf(Error)
          expect(error).not.toBeInstanceOf(ManualCompactionError)
        }
      })
    }

    law('a region that names a shadowed entry is an error', async () => {
      const agent = agentFor({ inTurn: false })
      const { start, end } = middle(agent.session)
      await play.engine.compactRegion(start, end, agent)
      const before = snapshotOf(agent.session)
      const error = await thrown(Promise.resolve().then(() => play.engine.compactRegion(start, end, agent)))
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(ManualCompactionError)
      expect(snapshotOf(agent.session)).toBe(before)
    })

    law('a region inside an open step is an error', async () => {
      const agent = agentFor({ inTurn: true }, { text: `${LONG} u cab ra` })
      const { start, end } = middle(agent.session)
      const error = await refused(agent, () => play.engine.compactRegion(start, end, agent))
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(ManualCompactionError)
    })
  })

  describe('a lock of an earlier lifecycle', () => {
    everyEntry('blocks nobody', ENTRIES, async entry => {
      const earlier = newSession()
      converse(earlier, 'u a )')
      earlier.append('compaction/start', { turn: null, trigger: 'manual' })
      const agent = agentFor(entry, { session: newSession({ seed: earlier.log.from(0) }) })
      expect(await run(entry, agent)).not.toBeNull()
      expect(liveCompaction(agent.session)).toBeNull()
      expectReplays(agent.session)
    })
  })
}
