/**
 * The failure table, from the commit on: appends fail, storing fails, the process dies.
 */
import { liveCompaction, ManualCompactionError } from '@deepseek-ai/dsh-compaction'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { bracketsOf, conversation, converse, expectSameSurface, expectSound, FailingSink, harness, never, rejection, remember, surfaceOf, underPressure } from './harness.ts'

describe('an append of the commit fails: commit, as far as it got', () => {
  const refusing = (refuses: (event: SessionEvent) => boolean) => Object.assign(new FailingSink(), { refuses })
  const isCheckpoint = (event: SessionEvent) => event.type === 'user/message' && event.surfaceOp !== 'append'

  it.each<[string, (event: SessionEvent) => boolean, string, boolean]>([
    ['the summary', event => event.type === 'compaction/summary', 'start(manual) end(commit)', false],
    ['the replacement', isCheckpoint, 'start(manual) summary(replay) end(commit)', false],
    ['the end', event => event.type === 'compaction/end', 'start(manual) summary(replay) checkpoint', true],
    ['the summary, and then the end', event => event.type === 'compaction/summary' || event.type === 'compaction/end', 'start(manual)', true],
    ['the replacement, and then the end', event => isCheckpoint(event) || event.type === 'compaction/end', 'start(manual) summary(replay)', true],
  ])('%s', async (_title, refuses, brackets, blocks) => {
    const sink = refusing(refuses)
    const all = await conversation({ sink })
    const before = remember(all)
    const attempts = countAttempts(sink)
    const error = await rejection(all.engine.compactNow(all.agent, never))
    expect(error).toBeInstanceOf(ManualCompactionError)
    expect(error).toMatchObject({ code: 'commit', message: expect.stringContaining('the disk is full at') })
    expect(bracketsOf(all.session)).toBe(brackets)
    expect(attempts('compaction/end')).toBe(1)
    if (brackets.endsWith('checkpoint')) expect(surfaceOf(all.session)).toBe('S a200')
    else expectSameSurface(all, before)
    expect(sink.stored).toEqual([...all.session.log.from(0)])
    expectReplays(all.session)

    // What could not be closed blocks on purpose, whatever the disk does now, until somebody else takes over the log.
    sink.refuses = () => false
    const next = all.engine.compactNow(all.agent, never)
    if (blocks) expect(await rejection(next)).toMatchObject({ code: 'busy', reason: 'compaction' })
    else expect(await next).not.toBe(null)
  })

  it('automatic: warned, the run goes on', async () => {
    const all = await conversation({ sink: refusing(event => event.type === 'compaction/summary') })
    await underPressure(all)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(commit)')
    expect(all.warnings()).toEqual([expect.stringContaining('the disk is full at compaction/summary')])
  })

  it('a start that cannot be written leaves no trace', async () => {
    const all = await conversation({ sink: refusing(event => event.type === 'compaction/start') })
    const before = remember(all)
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ message: 'the disk is full at compaction/start' })
    expect(all.session.log.length).toBe(before.length)
    expect(all.summaryRequests()).toEqual([])
  })

  it('a failed attempt whose end cannot be written is a failed commit, and blocks', async () => {
    const all = await conversation({ summary: '', sink: refusing(event => event.type === 'compaction/end') })
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'commit' })
    expect(bracketsOf(all.session)).toBe('start(manual)')
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'busy', reason: 'compaction' })
  })
})

describe('storing fails after a closed bracket', () => {
  it('manual: persistence, the surface is replaced', async () => {
    const sink = new FailingSink()
    const all = await conversation({ sink })
    sink.failsFlush = true
    const error = await rejection(all.engine.compactNow(all.agent, never))
    expect(error).toBeInstanceOf(ManualCompactionError)
    expect(error).toMatchObject({ code: 'persistence', message: expect.stringContaining('the disk is gone') })
    expect(bracketsOf(all.session)).toBe('start(manual) summary(replay) checkpoint end')
    expect(surfaceOf(all.session)).toBe('S a200')
    expect(all.agent.status).toBe('idle')
    expectSound(all.session)
  })

  it('automatic: the loop flushes before its request, the engine does not', async () => {
    const sink = new FailingSink()
    const all = await conversation({ sink })
    sink.failsFlush = true
    await underPressure(all)
    expect(sink.flushes).toBe(0)
    expect(all.warnings()).toEqual([])
    expect(bracketsOf(all.session)).toBe('start(pressure) summary(replay) checkpoint end')
  })

  it('manual, nothing useful: nothing is stored', async () => {
    const sink = new FailingSink()
    const all = await conversation({ sink }, 'u100')
    sink.failsFlush = true
    expect(await all.engine.compactNow(all.agent, never)).toBe(null)
    expect(sink.flushes).toBe(0)
  })
})

describe('the process dies after each single append of a compaction', () => {
  it('on reload there is full history, or checkpoint and tail; a stale start blocks nobody', async () => {
    const all = await conversation()
    const before = remember(all)
    const full = all.session.deriveMessages().slice()
    await all.engine.compactNow(all.agent, never)
    const compacted = all.session.deriveMessages().slice()
    const events: SessionEvent[] = JSON.parse(JSON.stringify([...all.session.log.from(0)]))
    const outcomes: string[] = []
    for (let length = before.length; length <= events.length; length++) {
      const reloaded = await harness({ seed: events.slice(0, length) })
      const replaced = reloaded.session.surface.replaceGeneration > 0
      expect(reloaded.session.deriveMessages()).toEqual(replaced ? compacted : full)
      expect(liveCompaction(reloaded.session)).toBe(null)
      outcomes.push(`${events[length - 1]!.type}: ${replaced ? 'checkpoint' : 'full'}`)
      // The next run may compact: all of it again, or what has grown behind the checkpoint.
      converse(reloaded.session, 'u900 ca10 ra2000 u10')
      expect(await reloaded.engine.compactNow(reloaded.agent, never)).not.toBe(null)
      expectReplays(reloaded.session)
    }
    expect(outcomes).toEqual([
      'step/end: full',
      'compaction/start: full',
      'compaction/summary: full',
      'user/message: checkpoint',
      'compaction/end: checkpoint',
    ])
  })
})

function countAttempts(sink: FailingSink): (type: SessionEvent['type']) => number {
  const seen: SessionEvent['type'][] = []
  const { refuses } = sink
  sink.refuses = event => {
    seen.push(event.type)
    return refuses(event)
  }
  return type => seen.filter(other => other === type).length
}
