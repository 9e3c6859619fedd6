/**
 * Failures: what goes wrong once a compaction has begun, and what is left of it.
 */
import type { Seq, Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { expectCommitted, expectSound, snapshotOf } from './contract-judge.ts'
import { agentFor, coded, ENTRIES, rewrite, say, thrown, WITHOUT_FALLBACK, type Entry, type Play } from './contract-play.ts'
import { converse, ContractAgent, FaultySink, logged, middle, newSession, words } from './contract-stage.ts'
import { liveCompaction } from './lock.ts'

export function failureLaws(play: Play): void {
  const { law, everyEntry, run } = play

  describe('a compaction that fails', () => {
    /** Runs it to its failure and tells what the caller sees; the surface is as it was but for `added`, the bracket is closed. */
    const failed = async (entry: Entry, agent: ContractAgent, code: unknown, work: () => Promise<unknown>): Promise<unknown> => {
      const { session } = agent
      const { length } = session.log
      const untouched = JSON.stringify([session.surface.replaceGeneration, session.surface.entries])
      const error = await thrown(work())
      expect(JSON.stringify([session.surface.replaceGeneration, session.surface.entries])).toBe(untouched)
      const written = logged(session, length).filter(({ type }) => type.startsWith('compaction/'))
      expect(written.map(({ type }) => type)).toEqual(['compaction/start', 'compaction/end'])
      const turn = entry.inTurn ? 10 : null
      expect(written[1]!.data).toEqual({ startSeq: written[0]!.seq, turn, error: expect.any(String), code })
      expectSound(session)
      return error
    }
    const recovers = async (entry: Entry, agent: ContractAgent): Promise<void> => {
      play.summarizer.answer = async () => null
      expect(await run(entry, agent), 'the next attempt').not.toBeNull()
      expectSound(agent.session)
    }

    everyEntry('because its summarizer throws says why, and the next one may succeed', WITHOUT_FALLBACK, async entry => {
      const agent = agentFor(entry)
      play.summarizer.answer = async () => {
        throw new Error('out of words')
      }
      const error = await failed(entry, agent, 'summary', () => run(entry, agent))
      expect(error).toEqual(entry.automatic ? expect.any(Error) : coded('summary'))
      expect((error as Error).message).toContain('out of words')
      await recovers(entry, agent)
    })

    everyEntry('because its summary is empty', WITHOUT_FALLBACK, async entry => {
      const agent = agentFor(entry)
      play.summarizer.answer = async () => ' \n '
      const error = await failed(entry, agent, 'summary', () => run(entry, agent))
      expect(error).toEqual(entry.automatic ? expect.any(Error) : coded('summary'))
    })

    everyEntry('because its summary is larger than what it would stand for', WITHOUT_FALLBACK, async entry => {
      const agent = agentFor(entry)
      play.summarizer.answer = async () => words('## Current Work', 100_000)
      const error = await failed(entry, agent, expect.stringMatching(/^(not-smaller|summary)$/), () => run(entry, agent))
      expect(error).toEqual(entry.automatic ? expect.any(Error) : coded('summary'))
    })

    everyEntry('because it was aborted throws the exact reason, whatever the summarizer does later', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const letGo = play.summarizer.hold()
      const controller = new AbortController()
      const reason = { not: 'even an error' }
      const error = await failed(entry, agent, 'aborted', async () => {
        const running = run(entry, agent, controller.signal)
        await play.summarizer.asked
        controller.abort(reason)
        return running
      })
      expect(error).toBe(reason)
      const after = snapshotOf(agent.session)
      letGo()
      await new Promise(resolve => setImmediate(resolve))
      expect(snapshotOf(agent.session)).toBe(after)
      await recovers(entry, agent)
    })

    law('because its agent was cancelled is "cancelled"', async () => {
      for (const entry of ENTRIES.filter(({ inTurn }) => !inTurn)) {
        const agent = agentFor(entry)
        play.summarizer.answer = async () => {
          agent.cancel()
          return null
        }
        expect(await failed(entry, agent, 'aborted', () => run(entry, agent))).toEqual(coded('cancelled'))
        expect(agent.status).toBe('idle')
      }
    })

    everyEntry('because its engine was unloaded: unloading aborts it and waits for its end', ENTRIES, async entry => {
      const agent = agentFor(entry)
      play.summarizer.hold()
      const error = await failed(entry, agent, 'aborted', async () => {
        const running = run(entry, agent)
        running.catch(() => {})
        await play.summarizer.asked
        await play.stage.unload()
        expect(liveCompaction(agent.session)).toBeNull()
        return running
      })
      expect(error).toEqual(expect.any(Error))
    })

    everyEntry('because its session was closed writes nothing more', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const letGo = play.summarizer.hold()
      const running = run(entry, agent)
      await play.summarizer.asked
      agent.session.close()
      const before = snapshotOf(agent.session)
      letGo()
      expect(await thrown(running)).toEqual(expect.any(Error))
      expect(snapshotOf(agent.session)).toBe(before)
    })
  })

  describe('what changes meanwhile', () => {
    const meanwhile = async (entry: Entry, agent: ContractAgent, change: (session: Session) => void): Promise<unknown> => {
      const letGo = play.summarizer.hold()
      const running = run(entry, agent)
      await play.summarizer.asked
      change(agent.session)
      letGo()
      return running
    }
    const expectChanged = (session: Session): void => {
      expect(logged(session).at(-1)).toMatchObject({ type: 'compaction/end', data: { code: 'changed', error: expect.any(String) } })
      expect(logged(session).filter(({ type }) => type === 'compaction/summary')).toEqual([])
      expectSound(session)
    }

    everyEntry('anywhere on the surface fails it', ENTRIES.filter(({ automatic }) => automatic), async entry => {
      for (const change of [say, (session: Session) => rewrite(session, 0), (session: Session) => rewrite(session, session.surface.entries.length - 1)]) {
        const agent = agentFor(entry)
        expect(await thrown(meanwhile(entry, agent, change))).toEqual(expect.any(Error))
        expectChanged(agent.session)
      }
    })

    everyEntry('behind its span stays, and does not disturb it', ENTRIES.filter(({ automatic }) => !automatic), async entry => {
      const agent = agentFor(entry)
      let added = -1
      expect(await meanwhile(entry, agent, session => void (added = say(session)))).not.toBeNull()
      expect(agent.session.surface.entries.at(-1)).toBe(added)
      expectSound(agent.session)
    })

    everyEntry('inside its span fails it as "changed"', ENTRIES.filter(({ automatic }) => !automatic), async entry => {
      const agent = agentFor(entry)
      const inside = entry.trigger === 'region' ? middle(agent.session).from + 4 : 0
      expect(await thrown(meanwhile(entry, agent, session => void rewrite(session, inside)))).toEqual(coded('changed'))
      expectChanged(agent.session)
    })
  })

  describe('a log that takes no more', () => {
    const stored = (entry: Entry): { readonly agent: ContractAgent; readonly sink: FaultySink } => {
      const sink = new FaultySink()
      return { agent: agentFor(entry, { session: newSession({ sink }) }), sink }
    }
    const written = (session: Session, from: Seq): string[] => logged(session, from).map(({ type }) => type)

    everyEntry('of its summary or checkpoint fails it as "commit", and its end is still written', ENTRIES, async entry => {
      for (const [type, expected] of [
        ['compaction/summary', ['compaction/start', 'compaction/end']],
        ['user/message', ['compaction/start', 'compaction/summary', 'compaction/end']],
      ] as const) {
        const { agent, sink } = stored(entry)
        const { length } = agent.session.log
        const untouched = JSON.stringify(agent.session.surface.entries)
        sink.refuses = type
        const error = await thrown(run(entry, agent))
        expect(error).toEqual(entry.automatic ? sink.fault : coded('commit'))
        expect(written(agent.session, length)).toEqual(expected)
        expect(logged(agent.session).at(-1)!.data).toMatchObject({ code: 'commit', error: sink.fault.message })
        expect(JSON.stringify(agent.session.surface.entries)).toBe(untouched)
        expectSound(agent.session)
      }
    })

    everyEntry('of its end is tried once, and the lock stays until a new lifecycle', ENTRIES, async entry => {
      const { agent, sink } = stored(entry)
      sink.refuses = 'compaction/end'
      const error = await thrown(run(entry, agent))
      expect(error).toEqual(entry.automatic ? sink.fault : coded('commit'))
      expect(sink.offered.filter(type => type === 'compaction/end')).toHaveLength(1)
      sink.refuses = null
      const before = snapshotOf(agent.session)
      expect(await thrown(Promise.resolve().then(() => run(entry, agent)))).toEqual(coded('busy', 'compaction'))
      expect(snapshotOf(agent.session)).toBe(before)
      expect(liveCompaction(newSession({ seed: agent.session.log.from(0) }))).toBeNull()
      expectReplays(agent.session)
    })

    everyEntry('of its start writes nothing', ENTRIES, async entry => {
      const { agent, sink } = stored(entry)
      const before = snapshotOf(agent.session)
      sink.refuses = 'compaction/start'
      expect(await thrown(run(entry, agent))).toEqual(expect.any(Error))
      expect(snapshotOf(agent.session)).toBe(before)
      expect(play.summarizer.questions).toBe(0)
    })

    everyEntry('cannot be made durable: the compaction stands, and that is "persistence"', ENTRIES.filter(({ automatic }) => !automatic), async entry => {
      const { agent, sink } = stored(entry)
      const { length } = agent.session.log
      sink.flushes = false
      const error = await thrown(run(entry, agent))
      expect(error).toEqual(coded('persistence'))
      expect(written(agent.session, length)).toEqual(['compaction/start', 'compaction/summary', 'user/message', 'compaction/end'])
      expectSound(agent.session)
    })
  })

  law('whatever is asked for in whatever order, and whatever goes wrong, the log is sound and what was committed is smaller', async () => {
    const unit = fc.constantFrom('u', 'a', 'ca ra', 'cab rb ra', 'cab ra rb', 'caa ra ra', 'cabcd rd rb rc ra')
    const mishap = fc.constantFrom('none', 'none', 'throw', 'empty', 'bloat', 'abort', 'cancel', 'say', 'rewrite')
    const act = fc.record({ units: fc.array(unit, { minLength: 3, maxLength: 12 }), entry: fc.constantFrom(...ENTRIES), mishap })
    const seen = { committed: 0, failed: 0, nothing: 0 }
    await fc.assert(fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 6 }), async acts => {
      const agent = new ContractAgent(newSession())
      const { session } = agent
      for (const { units, entry, mishap: what } of acts) {
        converse(session, ['u', ...units].join(' '))
        if (!entry.inTurn) converse(session, ')')
        agent.status = entry.inTurn ? 'running' : 'idle'
        const controller = new AbortController()
        play.summarizer.answer = async () => {
          if (what === 'throw') throw new Error('out of words')
          if (what === 'abort') controller.abort(new Error('aborted'))
          if (what === 'cancel') agent.cancel()
          if (what === 'say') say(session)
          if (what === 'rewrite') rewrite(session, 0)
          return what === 'empty' ? '' : what === 'bloat' ? words('## Current Work', 100_000) : null
        }
        const before = [...session.surface.entries]
        const result = await run(entry, agent, controller.signal).catch(() => 'failed' as const)
        if (result === 'failed') seen.failed += 1
        else if (result === null) seen.nothing += 1
        else seen.committed += 1
        if (result !== null && result !== 'failed' && entry.trigger !== 'pressure') expectCommitted(session, before, entry.trigger, result)
        expect(liveCompaction(session)).toBeNull()
        expectSound(session)
      }
    }), { seed: 7, numRuns: 150 })
    for (const [outcome, count] of Object.entries(seen)) expect(count, outcome).toBeGreaterThan(10)
  })
}
