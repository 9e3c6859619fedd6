/**
 * On demand: an idle agent's largest safe head, and an explicit region.
 */
import { isCompactCheckpointSource, ManualCompactionError } from '@deepseek-ai/dsh-compaction'
import { textOf } from '@deepseek-ai/dsh-llm'
import { openTurn } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, converse, expectSound, FailingSink, gate, harness, never, rejection, SUMMARY, surfaceOf, until, type Harness, type HarnessInit } from './harness.ts'

async function conversation(text: string, init: HarnessInit = {}): Promise<Harness> {
  const all = await harness(init)
  converse(all.session, text)
  return all
}

describe('compactNow', () => {
  it.each([
    ['takes the largest safe head, far below any threshold', 'u500 a400 u300 a200', 'S a200'],
    ['keeps the newest unit whole', 'u1000 a10 cab10 ra500 rb500', 'S cab10 ra500 rb500'],
    ['merges the checkpoint before it', 's600 u500 a400 u300', 'S u300'],
    ['stops before a step that is open', 'u1000 a400 cab10 ra500', 'S cab10 ra500'],
  ])('%s', async (_title, text, expected) => {
    const all = await conversation(text)
    const result = await all.engine.compactNow(all.agent, never)
    expect(result).toMatchObject({ converged: true })
    expect(surfaceOf(all.session)).toBe(expected)
    expectSound(all.session)
  })

  it('needs no routed request, only a model to ask', async () => {
    const all = await conversation('u1000 x900 x10')
    expect(await all.engine.compactNow(all.agent, never)).not.toBe(null)
    expect(bracketsOf(all.session)).toBe('start(manual) summary(transcript) checkpoint end')
  })

  it('compacts a lone checkpoint again only where it is larger than a summary may be', async () => {
    const small = await conversation('s1200 u9000')
    expect(await small.engine.compactNow(small.agent, never)).toBe(null)
    const large = await conversation('s3000 u2000', { config: { maxTokens: 500 } })
    expect(await large.engine.compactNow(large.agent, never)).not.toBe(null)
    expectSound(large.session)
  })

  it('belongs to no turn on an idle agent, and stores what it did', async () => {
    const sink = new FailingSink()
    const all = await conversation('u500 a400 u300 a200 )', { sink })
    const result = await all.engine.compactNow(all.agent, never)
    expect(all.session.log.at(result!.startSeq).data).toEqual({ turn: null, trigger: 'manual' })
    expect(all.session.log.at(result!.endSeq).data).toEqual({ startSeq: result!.startSeq, turn: null })
    expect(sink.flushes).toBe(1)
    expectSound(all.session)
  })

  it('holds input back until it is done', async () => {
    const summary = gate<string>()
    const all = await harness({ replies: ['first', 'second'], summary: () => summary.passed })
    all.agent.send('One. '.repeat(500))
    await all.agent.whenIdle()
    const compacting = all.engine.compactNow(all.agent, never)
    await until(() => all.summaryRequests().length === 1)
    expect(all.agent.status).toBe('running')
    all.agent.send('Two.')
    await new Promise(resolve => setImmediate(resolve))
    expect(openTurn(all.session)).toBe(null)
    summary.open(SUMMARY)
    await compacting
    await all.agent.whenIdle()
    expect(surfaceOf(all.session)).toBe('S first Two. second')
    expect(all.summaryRequests()[0]!.signal!.aborted).toBe(false)
    expectSound(all.session)
  })
})

describe('compactRegion', () => {
  it('compacts the span that is named, and nothing else', async () => {
    const all = await conversation('u500 a400 u300 cab10 ra500 rb500 a200')
    const entries = all.session.surface.entries.slice()
    const [start, end] = [entries[2]!, entries[5]!]
    const result = await all.engine.compactRegion(start, end, all.agent)
    expect(result).toMatchObject({ shadowedSeqs: entries.slice(2, 6), shadowedRange: { start, end } })
    expect(surfaceOf(all.session)).toBe('u500 a400 S a200')
    expect(bracketsOf(all.session)).toBe('start(region) summary(transcript) checkpoint end')
    expectSound(all.session)
  })

  it('goes by position, not by number: a checkpoint has a larger seq than what follows it', async () => {
    const all = await conversation('u500 a400 u300 a200 u500 a300')
    const entries = all.session.surface.entries.slice()
    await all.engine.compactRegion(entries[0]!, entries[1]!, all.agent)
    const [checkpoint, second] = all.session.surface.entries
    expect(checkpoint).toBeGreaterThan(second!)
    await all.engine.compactRegion(checkpoint!, second!, all.agent)
    expect(surfaceOf(all.session)).toBe('S a200 u500 a300')
    expectSound(all.session)
  })

  it('may leave several checkpoints, each with the words of the span it stands for', async () => {
    const all = await conversation('u500 a400 u300 a200 u500 a300')
    const entries = all.session.surface.entries.slice()
    const [a, b, c, d] = entries
    await all.engine.compactRegion(c!, d!, all.agent)
    await all.engine.compactRegion(a!, b!, all.agent)
    expect(surfaceOf(all.session)).toBe('S S u500 a300')
    const [first] = all.session.deriveMessages()
    expect(textOf(first!.content)).toContain('> u500 lorem')
    // The next compaction of the head merges both.
    converse(all.session, 'u300')
    await all.engine.compactNow(all.agent, never)
    expect(all.session.surface.entries.filter(seq => {
      const event = all.session.log.at(seq)
      return event.type === 'user/message' && isCompactCheckpointSource(event.data.source)
    })).toHaveLength(1)
    expectSound(all.session)
  })

  it('belongs to the open turn, between its steps, also while the agent works', async () => {
    const all = await conversation('u500 a400 u300 ca10 ra900')
    const entries = all.session.surface.entries.slice()
    const task = gate()
    const working = all.agent.runMaintenance(() => task.passed)
    const result = await all.engine.compactRegion(entries[0]!, entries[1]!, all.agent)
    expect(all.session.log.at(result.startSeq).data).toEqual({ turn: 2, trigger: 'region' })
    task.open()
    await working
    expectSound(all.session)
  })

  it.each<[string, (seqs: readonly number[]) => [number, number], string]>([
    ['an entry that is not there', () => [1_000, 1_001], 'seq 1000 is no current entry of the surface'],
    ['an end that is not there', ([a]) => [a!, 1_000], 'seq 1000 is no current entry of the surface'],
    ['an event that no model sees', ([a]) => [0, a!], 'seq 0 is no current entry of the surface'],
    ['a start behind its end', ([a, b]) => [b!, a!], 'behind its end'],
    ['a start inside a step', ([, , , , result, , last]) => [result!, last!], 'it would part a call from its result'],
    ['an end inside a step', ([a, , , , result]) => [a!, result!], 'it would part a call from its result'],
    ['a span hardly larger than the frame of a checkpoint', ([, , , , , , last]) => [last!, last!], 'nothing is gained by compacting'],
  ])('refuses %s with a plain error, and writes nothing', async (_title, region, message) => {
    const all = await conversation('u500 a400 u300 cab10 ra500 rb500 a20')
    const { length } = all.session.log
    const error = await rejection(all.engine.compactRegion(...region(all.session.surface.entries), all.agent))
    expect(error).not.toBeInstanceOf(ManualCompactionError)
    expect(error).toMatchObject({ message: expect.stringContaining(message) })
    expect(all.session.log.length).toBe(length)
    expect(all.agent.status).toBe('idle')
  })

  it('refuses an open step, whatever the span', async () => {
    const all = await conversation('u500 a400 u300 cab10 ra500')
    const [first, second] = all.session.surface.entries
    const { length } = all.session.log
    expect(await rejection(all.engine.compactRegion(first!, second!, all.agent))).toMatchObject({ message: expect.stringContaining('step 2.1 of session s is open') })
    expect(all.session.log.length).toBe(length)
  })

  it('fails like compactNow afterwards', async () => {
    const all = await conversation('u500 a400 u300 a200', { summary: { failure: { code: 'SERVER', message: 'bad gateway' } } })
    const [first, second] = all.session.surface.entries
    expect(await rejection(all.engine.compactRegion(first!, second!, all.agent))).toMatchObject({ name: 'ManualCompactionError', code: 'summary' })
    expect(bracketsOf(all.session)).toBe('start(region) end(summary)')
    expectSound(all.session)
  })
})
