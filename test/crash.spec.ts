/**
 * D17: a process that stops after any single event of a run with compactions, and the one that takes over its log. What a real
 * process leaves when it is killed, and a file cut at any byte, is told in `kill.spec.ts`.
 */
import type { ScriptedReply } from '@deepseek-ai/dsh-llm'
import { EventLog, admit, isSurfaceEvent, messageOfEvent, type SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, checkpoints, eventsOf, expectSound, house, OVERFLOW, play, say, sized, turnEnds, type House } from './house.ts'

const never = () => new AbortController().signal

/** Pressure, an overflow, one on demand, one that fails, shortened results, parallel calls. */
async function eventfulRun(): Promise<House> {
  const summary = 'SUM '.repeat(50)
  const summaries: ScriptedReply[] = [summary, { failure: { code: 'AUTH', message: 'no key' } }, summary, summary, summary, summary]
  const all = await house({ summary: () => summaries.shift()! })
  await play(all, 'u4000 cab10 ra2500 rb900 a500 u900 cc10 rc900 a300')
  await play(all, 'u3000 cd10 rd1900 a100 u1500 a100 u900 a100')
  all.replies.push(OVERFLOW)
  await say(all, 'Go on.')
  await play(all, 'u1000 ce10 re3000 a100')
  await all.ctx.get('compaction')!.compactNow(all.agent, never())
  await say(all, 'And now?')
  return all
}

/** What the model would be sent after these events, made entry by entry. */
function messagesAfter(events: readonly SessionEvent[]) {
  const log = new EventLog()
  for (const event of events) admit(log, event)
  return log.surface.entries.map(seq => log.at(seq)).filter(isSurfaceEvent).map(messageOfEvent).filter(message => message !== null)
}

describe('D17 CRASH-02 after every single event', () => {
  it('the conversation is what it was by then: full history, or checkpoint and tail; what is missing is said, and it goes on', async () => {
    const run = await eventfulRun()
    const log: SessionEvent[] = JSON.parse(JSON.stringify([...run.session.log.from(0)]))
    expect(eventsOf(run.session, 'compaction/start').map(({ data }) => data.trigger)).toEqual(expect.arrayContaining(['pressure', 'context-overflow', 'manual']))
    expect(bracketsOf(run.session)).toContain('end(summary)')
    expect(eventsOf(run.session, 'tool/result').some(({ surfaceOp }) => surfaceOp !== 'append')).toBe(true)

    for (let length = 0; length <= log.length; length++) {
      const what = `cut after ${length} events, the last of them ${log[length - 1]?.type}`
      const left = log.slice(0, length)
      const all = await house({ left })
      const { session } = all

      const expected = messagesAfter(left)
      expect(session.deriveMessages().slice(0, expected.length), what).toEqual(expected)
      const closers = [...session.log.from(length + 1)]
      expect(closers.every(({ type }) => type === 'tool/result' || type === 'step/end' || type === 'turn/end'), what).toBe(true)
      expect(checkpoints(session).length, what).toBeLessThanOrEqual(1)

      all.agent.wake()
      await all.agent.whenIdle()
      await say(all, 'Where were we?')
      expect(turnEnds(session).at(-1), what).toBe('completed')
      const { replaceGeneration } = session.surface
      await play(all, 'u1500 a500')
      await all.ctx.get('compaction')!.compactNow(all.agent, never())
      expect(session.surface.replaceGeneration, what).toBeGreaterThan(replaceGeneration)
      expect(checkpoints(session), what).toHaveLength(1)
      expectSound(all)
    }
  })

  it('a bracket that was open then is nobody’s lock, and its summary was committed or it was not', async () => {
    const run = await eventfulRun()
    const log = [...run.session.log.from(0)]
    for (const { seq } of eventsOf(run.session, 'compaction/start')) {
      const end = eventsOf(run.session, 'compaction/end', seq)[0]!.seq
      const checkpoint = eventsOf(run.session, 'user/message', seq).find(event => event.surfaceOp !== 'append' && event.seq < end)
      for (let length = seq + 1; length <= end; length++) {
        const all = await house({ left: log.slice(0, length) })
        const isCommitted = checkpoint !== undefined && length > checkpoint.seq
        const { entries } = all.session.surface
        expect(entries.includes(checkpoint?.seq ?? -1)).toBe(isCommitted)
        if (!isCommitted) expect(entries.filter(entry => entry < seq)).toEqual(surfaceBefore(log, seq))
        await say(all, 'go on')
        expect(turnEnds(all.session).at(-1)).toBe('completed')
        expectSound(all)
      }
    }
  })

  function surfaceBefore(log: readonly SessionEvent[], seq: number): number[] {
    const before = new EventLog()
    for (const event of log.slice(0, seq)) admit(before, event)
    return [...before.surface.entries]
  }
})

it('input that was accepted and had not entered is there after the crash, once', async () => {
  const run = await house()
  await play(run, 'u500 a100')
  run.agent.inject('I1', { kind: 'context' })
  run.agent.send('U1')
  const log = [...run.session.log.from(0)]
  const all = await house({ left: log })
  all.agent.wake()
  await all.agent.whenIdle()
  expect(all.requests()).toHaveLength(1)
  const texts = JSON.stringify(all.requests()[0]!.messages)
  for (const words of ['I1', 'U1']) expect(texts.split(words)).toHaveLength(2)
  expectSound(all)
  await run.agent.whenIdle()
})

it('what was not flushed when the process died is as if it had not been', async () => {
  const run = await house()
  await play(run, 'u4000 a900 u500 a400')
  const flushed = run.store.durable('s').length
  run.store.failsFlush = true
  await run.ctx.get('compaction')!.compactNow(run.agent, never()).catch(() => null)
  const all = await house({ left: [...run.session.log.from(0)].slice(0, flushed) })
  expect(bracketsOf(all.session)).toBe('')
  await say(all, sized('more', 100))
  expect(turnEnds(all.session).at(-1)).toBe('completed')
  expectSound(all)
  run.store.failsFlush = false
})
