import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import { textOf } from '@deepseek-ai/dsh-llm'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { isSurfaceEvent, messageOfEvent, type Session } from '@deepseek-ai/dsh-session'
import type { Transcript } from '@deepseek-ai/dsh-transcript'
import fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkEvents } from '../src/check.ts'
import { compose } from '../src/compose.ts'
import { replayReport } from '../src/replay-outcome.ts'
import type { ReplayReport } from '../src/replay-report.ts'
import { replay, type Replayed, type ReplayOptions } from '../src/replay.ts'
import { drawLog, recording } from './recording.ts'

let sessionDir: string
beforeEach(async () => {
  sessionDir = await mkdtemp(join(tmpdir(), 'dsh-test-'))
})
afterEach(() => rm(sessionDir, { recursive: true }))

async function play(transcript: Transcript, settings: Partial<ReplayOptions> = {}): Promise<Replayed & { readonly report: ReplayReport }> {
  const ctx = await compose({ sessionDir })
  const { reported } = await underInvariants(ctx)
  try {
    const options: ReplayOptions = { transcript, windowTokens: 100_000, ignoreCompactions: false, onProgress: () => {}, ...settings }
    const replayed = await replay(ctx, options)
    const report = await replayReport('drawn', options, replayed, join(sessionDir, `${replayed.session.id}.jsonl`))
    expectReplays(replayed.session)
    expect(checkEvents([...replayed.session.log.from(0)])).toEqual([])
    expect(reported).toEqual([])
    expect(report).toMatchObject({ replayIdentical: true, orphanResults: 0, unansweredCalls: 0 })
    return { ...replayed, report }
  } finally {
    await ctx.fiber.dispose()
  }
}

const draw = async (picture: string, settings?: Partial<ReplayOptions>): Promise<string> =>
  drawLog((await play(recording(picture), settings)).session.log.from(0))

const words = ({ log, surface }: Session): string[] =>
  surface.entries.map(seq => {
    const event = log.at(seq)
    const content = isSurfaceEvent(event) ? messageOfEvent(event)!.content : []
    return textOf(content.flatMap(block => (block.type === 'tool-result' ? block.content : [block])))
  })

describe('a recording becomes turns', () => {
  it.each([
    ['an answer completes its turn', 'u a u a', '[ua][ua]'],
    ['results lead on', 'u c cc a', '[uararra]'],
    ['input after results is steered', 'u c u a', '[uarua]'],
    ['context after results joins with it', 'u c x u a', '[uarxua]'],
    ['of several inputs the last is sent', 'x x u a', '[xxua]'],
    ['an interrupted answer cancels its turn', 'u i u a', '[ui![ua]'],
    ['a call without a result cancels its turn', 'u c? u a', '[ua?![ua]'],
    ['the other calls of that answer keep their results', 'u cc? u a', '[uar?![ua]'],
    ['an answer nobody asked for is asked for', 'u a a', '[ua][ga]'],
    ['so is one after a turn that was cancelled', 'u c? a', '[ua?![ga]'],
    ['input at the end is appended', 'u a u u', '[ua]uu'],
    ['input at the end is appended behind results too', 'u c u', '[uar!u'],
    ['results at the end ask for nothing', 'u cc', '[uarr!'],
    ['no answer, no turn', 'u x', 'ux'],
  ])('%s: %s → %s', async (_title, picture, log) => {
    expect(await draw(picture)).toBe(log)
  })
})

describe('any recording', () => {
  const pictures = fc.array(fc.constantFrom('u', 'x', 'a', 'c', 'cc', 'c?', 'cc?', 'i', 'K'), { minLength: 1, maxLength: 10 }).map(signs => signs.join(' '))

  /** What its items say, and what the tools answered, in order. */
  const said = ({ items }: Transcript): string[] =>
    items.flatMap(item => {
      if (item.kind === 'compaction') return []
      const results = item.kind === 'answer' ? item.results.map(result => (result === null ? UNKNOWN : textOf(result.content))) : []
      return [textOf(item.content), ...results]
    })
  const UNKNOWN = 'The recording has no result of this call; whether it took effect is not known.'

  it('is said again word for word, with nothing but prompts in between', async () => {
    await fc.assert(fc.asyncProperty(pictures, async picture => {
      const transcript = recording(picture)
      const { session, report } = await play(transcript, { ignoreCompactions: true })
      expect(report).not.toHaveProperty('stopped')
      expect(words(session).filter(text => text !== 'Continue.')).toEqual(said(transcript))
      expect(report.toolCalls).toBe(transcript.items.reduce((sum, item) => sum + (item.kind === 'answer' ? item.results.length : 0), 0))
      expect(report.steps).toBe(transcript.items.filter(({ kind }) => kind === 'answer').length)
    }), { seed: 1, numRuns: 60 })
  })

  it('comes to its end with its compactions as well', async () => {
    await fc.assert(fc.asyncProperty(pictures, async picture => {
      const { report } = await play(recording(picture))
      expect(report).not.toHaveProperty('stopped')
      expect(report.compactions.every(({ trigger, ok }) => trigger === 'recorded' && ok)).toBe(true)
    }), { seed: 1, numRuns: 60 })
  })
})

describe('a recorded compaction', () => {
  it.each([
    ['between turns', 'u a K u a', '[ua]K[ua]', ['item 2', 'item 3', 'item 4']],
    ['between steps', 'u c K a', '[uarKa]', ['item 2', 'item 3']],
    ['keeping a tail', 'u a u c K2 a', '[ua][uarKa]', ['item 4', 'item 2', 'item 3', 'result 3.0: item 3', 'item 5']],
    ['after input that it keeps', 'u a u K2 a', '[ua][Kua]', ['item 3', 'item 2', 'item 4']],
    ['before its input, with input it does not keep', 'u a x K u a', '[ua]xK[ua]', ['item 3', 'item 4', 'item 5']],
    ['merging an earlier one', 'u a K u a K u a', '[ua]K[ua]K[ua]', ['item 5', 'item 6', 'item 7']],
    ['at the end', 'u a K', '[ua]K', ['item 2']],
    ['replacing nothing', 'u a K0 u a', '[ua][ua]', ['item 0', 'item 1', 'item 3', 'item 4']],
  ])('%s: %s', async (_title, picture, log, surface) => {
    const { session, report } = await play(recording(picture))
    expect(drawLog(session.log.from(0))).toBe(log)
    expect(words(session)).toEqual(surface)
    const recorded = [...log].filter(sign => sign === 'K').length
    expect(report.compactions.map(({ trigger, summarizer, ok }) => ({ trigger, summarizer, ok })))
      .toEqual(Array.from({ length: recorded }, () => ({ trigger: 'recorded', summarizer: 'recorded', ok: true })))
  })

  it('is left out on request', async () => {
    expect(await draw('u a K u a', { ignoreCompactions: true })).toBe('[ua][ua]')
  })

  it('yields to one of ours that reaches past its kept start', async () => {
    const filler = 'The quick brown fox jumps over the lazy dog, again and again. '.repeat(60)
    const steps = Array.from({ length: 30 }, () => 'c').join(' ')
    const { session, report } = await play(recording(`u ${steps} K1 a`, () => filler), { windowTokens: 20_000 })
    expect(report.compactions.length).toBeGreaterThan(0)
    expect(report.compactions.every(({ trigger }) => trigger === 'pressure')).toBe(true)
    expect(drawLog(session.log.from(0))).toMatch(/a]$/)
  })
})

describe('under pressure', () => {
  const filler = 'A line of ordinary length that says a little about src/main.ts and what was done there.\n'.repeat(12)
  const long = recording(Array.from({ length: 12 }, () => 'u c cc c a').join(' '), index => `${index}: ${filler}`)

  it('keeps every request inside the window and says everything once', async () => {
    const { session, report, requests } = await play(long, { windowTokens: 8_000 })
    expect(report).toMatchObject({ overWindowRequests: 0, steps: 48, requests: 48, toolCalls: 48, messages: 108, format: 'openai-chat', model: 'drawn' })
    expect(report.threshold).toBe(6_400)
    expect(report.peakRequestTokens).toBeLessThanOrEqual(8_000)
    expect(report.finalRequestTokens).toBe(requests.points.at(-1)!.tokens)
    expect(report.compactions.length).toBeGreaterThan(2)
    for (const row of report.compactions) {
      expect(row).toMatchObject({ trigger: 'pressure', summarizer: 'digest', ok: true })
      expect(row.pressureAfter).toBeLessThan(row.pressureBefore)
      expect(row.checkpointTokens).toBeLessThan(row.shadowedTokens)
    }
    const checkpoints = [...session.log.from(0)].filter(event => event.type === 'user/message' && isCompactCheckpointSource(event.data.source))
    expect(checkpoints.length).toBe(report.compactions.length)
    expect(drawLog(session.log.from(0)).replaceAll('K', '')).toBe('[uararrara]'.repeat(12))
  })

  it('leaves room for the output that each request may have', async () => {
    const { report } = await play(long, { windowTokens: 8_000, maxTokens: 3_000 })
    expect(report.threshold).toBe(5_000)
    expect(report.peakRequestTokens).toBeLessThanOrEqual(5_000)
  })

  it('shortens what alone exceeds the window, lists it, and goes on', async () => {
    const { report } = await play(recording('u c c a', index => (index === 1 ? filler.repeat(40) : 'short')), { windowTokens: 8_000 })
    expect(report).toMatchObject({ steps: 3, overWindowRequests: 0 })
    expect(report.stopped).toBeUndefined()
    expect(report.oversized.map(({ step, shortened }) => ({ step, shortened }))).toEqual([{ step: 1, shortened: true }, { step: 1, shortened: true }])
  })

  it('says where and why it stopped when nothing can make a request fit', async () => {
    const { report } = await play({ ...recording('u c a'), system: filler.repeat(60) }, { windowTokens: 8_000 })
    expect(report.stopped).toMatch(/step 1.*CONTEXT_WINDOW_EXCEEDED/)
  })
})

describe('with an audience', () => {
  const entries = async ({ session, whenIdle }: { session: Session; whenIdle(): Promise<void> }, count: number): Promise<void> => {
    while (session.surface.entries.length < count) await setTimeout(5)
    await whenIdle()
  }

  it('plays the same, whatever they say', async () => {
    const audience: ReplayOptions['audience'] = async agent => {
      agent.send('Who are you?')
      agent.steer('Stop that.')
      await entries({ session: agent.session, whenIdle: () => agent.whenIdle() }, 5)
    }
    const { session, stopped } = await play(recording('u c u a'), { audience })
    expect(stopped).toBeNull()
    expect(words(session)).toEqual(['item 0', 'item 1', 'result 1.0: item 1', 'item 2', 'item 3'])
  })

  it('ends when they leave', async () => {
    const audience: ReplayOptions['audience'] = agent => entries({ session: agent.session, whenIdle: async () => {} }, 1)
    const { stopped } = await play(recording('u a u a u a'), { audience })
    expect(stopped).toMatch(/the audience left/)
  })
})
