/**
 * Success: what a compaction leaves, and when there is none.
 */
import { describe, expect } from 'vitest'
import { openCallsAt } from './pairing.ts'
import { expectCommitted, expectSound, snapshotOf } from './contract-judge.ts'
import { agentFor, ENTRIES, never, type Entry, type Play } from './contract-play.ts'
import { converse, ContractAgent, logged, LONG, middle, newSession, SHORT, WINDOW_TOKENS } from './contract-stage.ts'

export function successLaws(play: Play): void {
  const { law, everyEntry, run } = play

  describe('a compaction that succeeds', () => {
    everyEntry('leaves one whole bracket and one checkpoint in place of the span', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const { session } = agent
      const before = [...session.surface.entries]
      const messages = session.deriveMessages().slice()
      const result = await run(entry, agent)
      if (result === null) return expect.unreachable('nothing was compacted')
      expectCommitted(session, before, entry.trigger, result)

      const from = before.indexOf(result.shadowedSeqs[0]!)
      const { length } = result.shadowedSeqs
      expect(session.surface.entries).toEqual(before.toSpliced(from, length, result.replacementSeq))
      expect(session.deriveMessages().toSpliced(from, 1)).toEqual(messages.toSpliced(from, length))
      expect(logged(session).filter(({ type }) => type === 'compaction/start')).toHaveLength(1)
      expect(result.converged).toBe(true)
      expectSound(session)
    })

    everyEntry('shadows whole units and keeps the newest', ENTRIES, async entry => {
      const agent = agentFor(entry, { text: `${LONG} u cab rb ra` })
      const { entries } = agent.session.surface
      const before = [...entries]
      const safe = new Set(Array.from({ length: before.length + 1 }, (_, cut) => cut).filter(cut => openCallsAt(agent.session, cut) === 0))
      const { shadowedSeqs } = (await run(entry, agent))!
      const from = before.indexOf(shadowedSeqs[0]!)
      expect([safe.has(from), safe.has(from + shadowedSeqs.length)]).toEqual([true, true])
      expect(agent.session.surface.entries.slice(-3)).toEqual(before.slice(-3))
    })

    everyEntry('takes its turn from the log', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const { startSeq } = (await run(entry, agent))!
      expect(agent.session.log.at(startSeq).data).toEqual({ turn: entry.inTurn ? 10 : null, trigger: entry.trigger })
    })

    everyEntry('begins at once, and waits for its summary with the surface as it is', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const letGo = play.summarizer.hold()
      const untouched = JSON.stringify(agent.session.surface.entries)
      const running = run(entry, agent)
      expect(logged(agent.session).at(-1)?.type, 'with nothing awaited before').toBe('compaction/start')
      await play.summarizer.asked
      expect(JSON.stringify(agent.session.surface.entries)).toBe(untouched)
      letGo()
      expect(await running).not.toBeNull()
    })

    everyEntry('minds no log-only fact that lands meanwhile', ENTRIES, async entry => {
      const agent = agentFor(entry)
      const letGo = play.summarizer.hold()
      const running = run(entry, agent)
      await play.summarizer.asked
      const item = { inputId: 'later', kind: 'send', content: [{ type: 'text', text: 'later' }], source: { kind: 'user' } } as const
      agent.session.append('inbox/spliced', { inserted: [item] })
      letGo()
      expect(await running).not.toBeNull()
      expectSound(agent.session)
    })

    law('a region is exactly the span that was asked for', async () => {
      const agent = agentFor({ inTurn: false })
      const { from, to, start, end } = middle(agent.session)
      const asked = agent.session.surface.entries.slice(from, to)
      expect((await play.engine.compactRegion(start, end, agent)).shadowedSeqs).toEqual(asked)
    })

    law('a later compaction reads order from the surface, where a checkpoint has a larger number than what follows it', async () => {
      const agent = agentFor({ inTurn: false })
      const { session } = agent
      const { start, end } = middle(session)
      const first = await play.engine.compactRegion(start, end, agent)
      const before = [...session.surface.entries]
      const second = (await play.engine.compactNow(agent, never()))!
      expectCommitted(session, before, 'manual', second)
      expect(second.shadowedSeqs).toContain(first.replacementSeq)
      expectSound(session)
    })

    law('a manual compaction and a region of an idle agent are its maintenance', async () => {
      for (const entry of ENTRIES.filter(({ inTurn }) => !inTurn)) {
        const agent = agentFor(entry)
        const running = run(entry, agent)
        expect(agent.status).toBe('running')
        await running
        expect([agent.status, agent.tasks]).toEqual(['idle', 1])
      }
    })

    law('a manual compaction asks for no pressure, and with overflow and region for no header', async () => {
      for (const entry of ENTRIES.filter(({ trigger }) => trigger !== 'pressure')) {
        const agent = agentFor(entry, { text: SHORT, header: false })
        expect(await run(entry, agent), entry.name).not.toBeNull()
        expectSound(agent.session)
      }
    })

    law('a check of pressure that converged leaves nothing to do for the next one; one that must keep too much says so', async () => {
      for (const [keptShare, text] of [[0, LONG], [0.95, SHORT], [1.5, SHORT]] as const) {
        const agent = agentFor({ inTurn: true }, { text })
        if (keptShare > 0) converse(agent.session, 'u', { chars: Math.floor(WINDOW_TOKENS * 6 * keptShare) })
        const converged = (await play.engine.compactIfNeeded(agent, 'pressure', never()))?.converged ?? false
        if (keptShare !== 0.95) expect(converged).toBe(keptShare === 0)
        const after = snapshotOf(agent.session)
        if (converged) expect(await play.engine.compactIfNeeded(agent, 'pressure', never())).toBeNull()
        if (converged) expect(snapshotOf(agent.session)).toBe(after)
        expectSound(agent.session)
      }
    })
  })

  describe('nothing useful to do is null, and nothing is written', () => {
    const nothing = async (agent: ContractAgent, entry: Entry): Promise<void> => {
      const before = snapshotOf(agent.session)
      expect(await run(entry, agent), entry.name).toBeNull()
      expect(snapshotOf(agent.session)).toBe(before)
      expect(play.summarizer.questions).toBe(0)
    }
    const whole = ENTRIES.filter(({ trigger }) => trigger !== 'region')

    everyEntry('in an empty session', whole, entry => nothing(new ContractAgent(newSession()), entry))
    everyEntry('with one message', whole, entry => nothing(agentFor(entry, { text: 'u' }), entry))
    law('pressure: in a conversation far below any threshold', () => nothing(agentFor(ENTRIES[0]!, { text: SHORT }), ENTRIES[0]!))
  })
}
