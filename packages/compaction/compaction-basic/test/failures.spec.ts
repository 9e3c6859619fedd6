/**
 * The failure table, until there is a summary: what the log holds, what the surface is, and what the caller sees.
 */
import { liveCompaction, ManualCompactionError } from '@deepseek-ai/dsh-compaction'
import { LlmError, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { BasicCompactionEngine, type Summary, type SummaryInput } from '../src/index.ts'
import { bracketsOf, COMPACTED, conversation, converse, endOf, expectSameSurface, expectSound, gate, harness, LONG, never, preStep, rejection, remember, sized, SUMMARY, surfaceOf, underPressure } from './harness.ts'

it('success, to compare with: a whole bracket, the span replaced, the rest as it was', async () => {
  const automatic = await conversation()
  await underPressure(automatic)
  expect(bracketsOf(automatic.session)).toBe('start(pressure) summary(replay) checkpoint end')
  expect(surfaceOf(automatic.session)).toBe(COMPACTED)
  expect(automatic.warnings()).toEqual([])
  expectSound(automatic.session)

  const manual = await conversation()
  const result = await manual.engine.compactNow(manual.agent, never)
  expect(bracketsOf(manual.session)).toBe('start(manual) summary(replay) checkpoint end')
  expect(surfaceOf(manual.session)).toBe('S a200')
  const { startSeq, summarySeq, replacementSeq, endSeq } = result!
  expect([startSeq, summarySeq, replacementSeq, endSeq].map(seq => manual.session.log.at(seq).type))
    .toEqual(['compaction/start', 'compaction/summary', 'user/message', 'compaction/end'])
  expect(result).toMatchObject({ summary: [{ type: 'text', text: SUMMARY.trim() }], converged: true })
  expect(result!.checkpointTokens).toBe(manual.ctx.tokenMeter.tokensAt(manual.session, 0))
  expect(manual.session.log.at(summarySeq).data).toMatchObject({ shadowedSeqs: result!.shadowedSeqs, shadowedRange: result!.shadowedRange, shadowedTokens: result!.shadowedTokens })
  expectSound(manual.session)
})

describe('nothing useful to compact: nothing is written, null', () => {
  it.each([
    ['an empty surface', ''],
    ['a lone message', 'u9000'],
    ['a lone checkpoint', 's500'],
    ['a checkpoint and the newest message', 's500 u9000'],
    ['one open step', 'cab9000 ra10'],
    ['a head hardly larger than the frame of a checkpoint', 'u100 a100 u9000'],
  ])('%s', async (_title, text) => {
    const all = await harness()
    if (text !== '') converse(all.session, text)
    const before = remember(all)
    expect(await all.engine.compactNow(all.agent, never)).toBe(null)
    expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).toBe(null)
    expect(await all.engine.compactIfNeeded(all.agent, 'context-overflow', never)).toBe(null)
    await underPressure(all)
    expect(all.session.log.length).toBe(before.length)
    expect(all.summaryRequests()).toEqual([])
    expect(all.warnings()).toEqual([])
  })

  it('no pressure, and so nothing under pressure', async () => {
    const all = await conversation({}, 'u3000 a200 u2000 a200')
    const before = remember(all)
    await underPressure(all)
    expect(await all.engine.compactIfNeeded(all.agent, 'pressure', never)).toBe(null)
    expect(all.session.log.length).toBe(before.length)
  })

  it('a request that was never routed has no window', async () => {
    const all = await conversation({}, 'u9000 x2000')
    const before = remember(all)
    await underPressure(all)
    expect(all.session.log.length).toBe(before.length)
  })
})

describe('a compaction is running: nothing is written, busy', () => {
  it('every entry point looks at the log first', async () => {
    const all = await conversation()
    const { engine, agent, session } = all
    session.append('compaction/start', { turn: 3, trigger: 'region' })
    const before = remember(all)
    const [first] = session.surface.entries
    for (const refused of [
      engine.compactNow(agent, never),
      engine.compactRegion(first!, first!, agent),
      engine.compactIfNeeded(agent, 'pressure', never),
      engine.compactIfNeeded(agent, 'context-overflow', never),
    ]) {
      expect(await rejection(refused)).toMatchObject({ name: 'ManualCompactionError', code: 'busy', reason: 'compaction' })
    }
    await underPressure(all)
    expect(all.warnings()).toEqual([expect.stringContaining('is being compacted already (region, since seq')])
    expect(all.session.log.length).toBe(before.length)
    expectSameSurface(all, before)
  })

  it('a second one is refused while the first waits for its summary, and the first goes on', async () => {
    const summary = gate<ScriptedReply>()
    const all = await conversation({ summary: () => summary.passed })
    const { engine, agent, session } = all
    const first = engine.compactNow(agent, never)
    expect(liveCompaction(session)).toMatchObject({ trigger: 'manual', turn: 3 })
    expect(await rejection(engine.compactNow(agent, never))).toMatchObject({ code: 'busy', reason: 'compaction' })
    expect(await rejection(engine.compactIfNeeded(agent, 'pressure', never))).toMatchObject({ code: 'busy', reason: 'compaction' })
    summary.open(SUMMARY)
    expect(await first).not.toBe(null)
    expect(bracketsOf(session)).toBe('start(manual) summary(replay) checkpoint end')
    expectSound(session)
  })
})

it('the agent is working: nothing is written, busy for that reason', async () => {
  const all = await conversation()
  const task = gate()
  const working = all.agent.runMaintenance(() => task.passed)
  const before = remember(all)
  const error = await rejection(all.engine.compactNow(all.agent, never))
  expect(error).toBeInstanceOf(ManualCompactionError)
  expect(error).toMatchObject({ code: 'busy', reason: 'agent' })
  expect(all.session.log.length).toBe(before.length)
  task.open()
  await working
  expect(await all.engine.compactNow(all.agent, never)).not.toBe(null)
})

describe('aborted before the start: nothing is written, its exact reason', () => {
  it('by the caller', async () => {
    const all = await conversation()
    const { engine, agent, session } = all
    const before = remember(all)
    const reason = { why: 'changed my mind' }
    const aborted = AbortSignal.abort(reason)
    const [first] = session.surface.entries
    for (const refused of [
      engine.compactNow(agent, aborted),
      engine.compactRegion(first!, first!, agent, aborted),
      engine.compactIfNeeded(agent, 'pressure', aborted),
      engine.compactIfNeeded(agent, 'context-overflow', aborted),
    ]) {
      expect(await rejection(refused)).toBe(reason)
    }
    expect(await preStep(all, aborted)).toBe(true)
    expect(all.warnings()).toEqual([])
    expect(session.log.length).toBe(before.length)
  })

  it('by the unloading of the engine', async () => {
    const all = await conversation()
    const before = remember(all)
    const { engine } = all
    await all.unload()
    await rejection(engine.compactNow(all.agent, never))
    await rejection(engine.compactIfNeeded(all.agent, 'pressure', never))
    expect(all.session.log.length).toBe(before.length)
  })
})

/** What a model may say in the place of a summary, and what is said about it. */
const USELESS: [title: string, reply: ScriptedReply, error: RegExp][] = [
  ['fails', { failure: { code: 'SERVER', message: 'bad gateway', status: 502 } }, /^bad gateway$/],
  ['throws', () => { throw new RangeError('a bug of the adapter') }, /^a bug of the adapter$/],
  ['times out', { failure: { code: 'TIMEOUT', message: 'no answer within 60 s' } }, /^no answer within 60 s$/],
  ['breaks off after some text', { failure: { code: 'TRANSPORT', message: 'socket hang up' }, after: [{ type: 'text', text: 'half of' }] }, /^socket hang up$/],
  ['says nothing at all', { content: [], finish: 'stop' }, /answered nothing/],
  ['answers with an empty text', '', /answered nothing/],
  ['answers with blanks', '  \n', /the summary is empty: the model answered with text only/],
  ['answers with reasoning only', { content: [{ type: 'reasoning', text: 'Let me think.' }] }, /the summary is empty: the model answered with reasoning only/],
  ['answers with a call only', { content: [{ type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }] }, /the summary is empty: the model answered with tool-call only/],
  ['answers with a call and an empty text', { content: [{ type: 'text', text: ' ' }, { type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }] }, /the summary is empty: the model answered with text and tool-call only/],
  ['is cut off by the output limit', { content: [{ type: 'text', text: SUMMARY }], finish: 'max-tokens' }, /did not finish: the model stopped for max-tokens/],
  ['is cut off by a filter', { content: [{ type: 'text', text: SUMMARY }], finish: 'content-filter' }, /did not finish: the model stopped for content-filter/],
  ['stops for a reason that nobody knows', { content: [{ type: 'text', text: SUMMARY }], finish: 'other' }, /did not finish: the model stopped for other/],
  ['answers with an image', { content: [{ type: 'text', text: SUMMARY }, { type: 'image', mediaType: 'image/png', data: 'AAAA' }] }, /the summary holds an image/],
  ['refuses in a few words', 'I cannot do that.', /"I cannot do that." is no summary of \d+ tokens/],
  ['goes on for far too long', sized('## Current Work\n', 4_000), /the summary of 4004 tokens is far longer than the 1250 asked for|the summary of \d+ tokens is far longer than/],
]

describe('the summarizer is of no use: start and failed end, same surface', () => {
  it.each(USELESS)('it %s', async (_title, summary, error) => {
    const automatic = await conversation({ summary })
    const before = remember(automatic)
    await underPressure(automatic)
    expect(bracketsOf(automatic.session)).toBe('start(pressure) end(summary)')
    expectSameSurface(automatic, before)
    expect(endOf(automatic.session)).toMatchObject({ startSeq: before.length, turn: 3, code: 'summary', error: expect.stringMatching(error) })
    expect(automatic.warnings()).toEqual([expect.stringContaining('compaction failed, the run goes on with what it has')])
    expect(automatic.summaryRequests().length).toBeLessThanOrEqual(2)
    expectSound(automatic.session)

    const manual = await conversation({ summary })
    const thrown = await rejection(manual.engine.compactNow(manual.agent, never))
    expect(thrown).toBeInstanceOf(ManualCompactionError)
    expect(thrown).toMatchObject({ code: 'summary', message: expect.stringMatching(error) })
    expect(bracketsOf(manual.session)).toBe('start(manual) end(summary)')
    expectSameSurface(manual, before)
    expect(manual.agent.status).toBe('idle')
    expectSound(manual.session)
  })

  it('compactIfNeeded rejects with the very cause', async () => {
    const cause = new Error('my own')
    class Broken extends BasicCompactionEngine {
      protected override async summarize(): Promise<Summary> {
        throw cause
      }
    }
    const all = await conversation({ engine: Broken })
    expect(await rejection(all.engine.compactIfNeeded(all.agent, 'pressure', never))).toBe(cause)
    expect(await rejection(all.engine.compactIfNeeded(all.agent, 'context-overflow', never))).toBe(cause)
    const manual = await rejection(all.engine.compactNow(all.agent, never))
    expect((manual as Error).cause).toBe(cause)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary) start(context-overflow) end(summary) start(manual) end(summary)')
  })

  it('also when an overriding engine throws before it could be awaited, or answers with nothing', async () => {
    class Rash extends BasicCompactionEngine {
      protected override summarize(): Promise<Summary> {
        throw new Error('rash')
      }
    }
    class Silent extends BasicCompactionEngine {
      protected override async summarize(): Promise<Summary> {
        return { summary: [{ type: 'text', text: ' \n' }] }
      }
    }
    for (const engine of [Rash, Silent]) {
      const all = await conversation({ engine })
      expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'summary' })
      expect(bracketsOf(all.session)).toBe('start(manual) end(summary)')
      expectSound(all.session)
    }
  })

  it('the next check may try again', async () => {
    const replies: ScriptedReply[] = [{ failure: { code: 'QUOTA', message: 'out of credit' } }, SUMMARY]
    const all = await conversation({ summary: () => replies.shift()! })
    await underPressure(all)
    await underPressure(all)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(summary) start(pressure) summary(replay) checkpoint end')
    expectSound(all.session)
  })

  it('no model is named: a failed attempt that says what to set', async () => {
    const all = await harness({ options: {} })
    converse(all.session, 'u3000 x2000')
    expect(await rejection(all.engine.compactNow(all.agent, never))).toMatchObject({ code: 'summary', message: expect.stringContaining('summarizationProvider') })
    expectSound(all.session)
  })
})

describe('the checkpoint is not smaller: start and failed end, same surface', () => {
  const config = { maxTokens: 8_000 }

  it('automatic: warned, the run goes on; manual: summary', async () => {
    const all = await conversation({ config, summary: sized('## Long\n', 7_400) })
    const before = remember(all)
    await underPressure(all)
    expect(await rejection(all.engine.compactNow(all.agent, never))).toBeInstanceOf(ManualCompactionError)
    expect(bracketsOf(all.session)).toBe('start(pressure) end(not-smaller) start(manual) end(not-smaller)')
    expect(endOf(all.session)).toMatchObject({ error: expect.stringMatching(/^the checkpoint of \d+ tokens is not smaller than the \d+ it would replace$/) })
    expectSameSurface(all, before)
    expect(all.warnings()).toHaveLength(1)
    expectSound(all.session)
  })

  it('equal in size is not smaller', async () => {
    let tokens = 0
    const all = await conversation({ config: { maxTokens: 8_000 }, summary: () => sized('## Equal\n', tokens) }, 'u100 a100 x900 x10 a10')
    tokens = 500
    const won = await all.engine.compactNow(all.agent, never)
    const overhead = won!.checkpointTokens - tokens
    const again = await conversation({ config: { maxTokens: 8_000 }, summary: () => sized('## Equal\n', tokens) }, 'u100 a100 x900 x10 a10')
    tokens = won!.shadowedTokens - overhead
    expect(await rejection(again.engine.compactNow(again.agent, never))).toMatchObject({ code: 'summary' })
    tokens -= 1
    expect(await again.engine.compactNow(again.agent, never)).toMatchObject({ checkpointTokens: won!.shadowedTokens - 1 })
  })
})

/** The input that a summarizer is given, for those who write their own. */
it('an overriding engine is given the span as it was sent, and what it says is recorded as its own', async () => {
  let given: SummaryInput | undefined
  class Own extends BasicCompactionEngine {
    protected override async summarize(input: SummaryInput): Promise<Summary> {
      given = input
      return { summary: [{ type: 'text', text: 'Mine.' }] }
    }
  }
  const all = await harness({ engine: Own })
  converse(all.session, LONG, { system: 'Be brief.', tools: [{ name: 'look', parameters: {} }] })
  const sent = all.session.deriveMessages().slice()
  await underPressure(all)
  expect(given).toMatchObject({ system: 'Be brief.', tools: [{ name: 'look' }], route: { provider: 'scripted', model: 'm' }, messages: sent.slice(0, 6) })
  expect(given!.entries.map(({ from }) => from)).toEqual(['person', 'assistant', 'person', 'assistant', 'tool', 'assistant'])
  expect(given!.entries.map(({ message }) => message)).toEqual(given!.messages)
  const { data } = [...all.session.log.from(0)].find(event => event.type === 'compaction/summary')!
  expect(data).toMatchObject({ strategy: 'custom', summary: [{ type: 'text', text: 'Mine.' }] })
  expect(Object.keys(data)).not.toContain('llmStreamCall')
  expectSound(all.session)
})

it('a failure of the model keeps its code for those who ask for the cause', async () => {
  const all = await conversation({ summary: { failure: { code: 'QUOTA', message: 'pay first' } } })
  const error = await rejection(all.engine.compactNow(all.agent, never))
  expect((error as Error).cause).toBeInstanceOf(LlmError)
  expect(((error as Error).cause as LlmError).failure.code).toBe('QUOTA')
})
