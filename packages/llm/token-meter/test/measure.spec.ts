import type { Message, TokenUsage } from '@deepseek-ai/dsh-llm'
import { admit, EventLog, messageOfEvent, type Session, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokenMeter, type TokenMeter } from '../src/measure.ts'
import { Story, DENSITY, elsewhere, pending, route, words } from './notation.ts'

const seed = 20_252
const meter = tokenMeter(DENSITY)
const total = (story: Story, messages: readonly Message[] = []) => meter.measure(story.session, { pending: messages }).totalTokens

describe('before any answer', () => {
  it('nothing costs nothing, and says so', () => {
    expect(meter.measure(new Story().session)).toEqual({ totalTokens: 0, envelopeTokens: 0, surfaceTokens: 0, pendingTokens: 0, basis: 'none', slope: 1 })
  })

  it('the total is the sum of its parts', () => {
    const story = new Story().header(route, 500).user(20).user(30)
    expect(meter.measure(story.session, { pending: [pending(7)] })).toEqual({
      totalTokens: 557, envelopeTokens: 500, surfaceTokens: 50, pendingTokens: 7, basis: 'estimate', slope: 1,
    })
  })

  it('a surface without a header, or pending input alone, is an estimate too', () => {
    expect(meter.measure(new Story().user(20).session)).toMatchObject({ totalTokens: 20, basis: 'estimate' })
    expect(meter.measure(new Story().session, { pending: [pending(9)] })).toMatchObject({ totalTokens: 9, basis: 'estimate' })
  })

  it('a given header takes the place of the logged one', () => {
    const story = new Story().header(route, 500).user(20)
    expect(meter.measure(story.session, { header: { config: elsewhere, system: 'x'.repeat(96) } })).toMatchObject({ totalTokens: 120, envelopeTokens: 100 })
  })
})

describe('the line of a route', () => {
  it('starts at its first answer: what was sent cost what was reported, what came since costs its estimate', () => {
    const story = new Story().header(route, 500).user(100)
    expect(total(story.answer(50, 900))).toBe(950)
    expect(total(story.user(30))).toBe(980)
    expect(total(story, [pending(8)])).toBe(988)
    expect(meter.measure(story.session)).toMatchObject({ basis: 'usage', slope: 1, surfaceTokens: 180 })
  })

  it('is anchored anew by every answer', () => {
    const story = new Story().header().user(100).answer(10, 900).user(100).answer(10, 2_000)
    expect(total(story)).toBe(2_010)
    expect(total(story.user(40).answer(10, 600))).toBe(610)
  })

  it('counts what was read from and written to a cache', () => {
    const story = new Story().header().user(100).answer(10, { inputTokens: 40, cacheReadTokens: 50, cacheWriteTokens: 30, outputTokens: 10 })
    expect(total(story)).toBe(130)
  })

  it('moves with whatever moves the estimate: the envelope, a replaced head, a pruned entry', () => {
    const story = new Story().header(route, 500).user(100).user(400).answer(50, 1_100)
    story.header(route, 300)
    expect(total(story)).toBe(950)
    story.replace(0, 1, 60)
    expect(total(story)).toBe(510)
    story.replace(1, 1, 20)
    expect(total(story)).toBe(480)
  })

  it('learns its slope from answers a thousand estimated tokens apart, and scales what came since', () => {
    const story = new Story().header().user(1_000).answer(100, 1_200)
    story.user(500).answer(100, 1_980)
    expect(meter.measure(story.session).slope).toBe(1) // 600 apart: not yet
    story.user(1_300).answer(100, 3_800)
    expect(meter.measure(story.session).slope).toBe((3_800 - 1_200) / 2_000) // since the first: small steps add up
    expect(total(story.user(900))).toBe(3_800 + 1_300)
  })

  it('learns from a shrinking surface as well', () => {
    const story = new Story().header().user(5_000).user(1_000).answer(100, 9_000)
    story.replace(0, 1, 100)
    story.answer(100, 9_000 - 1.5 * 5_800)
    expect(meter.measure(story.session).slope).toBe(1.5)
  })

  it('is not bent by one answer whose request held what no log shows', () => {
    const story = new Story().header().user(1_000).answer(10, 1_000)
    let usage = 1_000
    for (const cost of [1.5, 1.5, 9, 1.5, 1.5]) story.user(1_990).answer(10, (usage += cost * 2_000))
    expect(meter.measure(story.session).slope).toBe(1.5)
  })

  it.each([[0.1, 0.5], [1.7, 1.7], [40, 3], [-2, 0.5]])('a taught slope of %s counts as %s', (taught, expected) => {
    const story = new Story().header().user(1_000).answer(100, 10_000)
    story.user(1_900).answer(100, 10_000 + taught * 2_000)
    expect(meter.measure(story.session).slope).toBe(expected)
  })

  it('never measures less than nothing', () => {
    const story = new Story().header().user(5_000).user(10).answer(10, 100)
    story.replace(0, 0, 10)
    expect(total(story)).toBe(0)
  })

  it('belongs to its route: another one starts with the estimate, and comes back to its own line', () => {
    const story = new Story().header().user(1_000).answer(100, 1_500)
    story.header(elsewhere)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 1_100, basis: 'estimate', slope: 1 })
    expect(meter.measure(story.session, { header: { config: route } })).toMatchObject({ totalTokens: 1_600, basis: 'usage' })
    story.answer(100, 800, elsewhere)
    expect(total(story)).toBe(900)
    expect(total(story.header(route))).toBe(1_700)
  })

  it('is the line of whoever serves the route, where requests are rerouted on their way', () => {
    const story = new Story().header(route).user(1_000).answer(100, 1_500, elsewhere)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 1_600, basis: 'usage' })
    story.answer(100, 2_000, route)
    expect(total(story)).toBe(2_100)
  })
})

describe('a usage that cannot be one request’s', () => {
  const parts = (more: Partial<TokenUsage>): TokenUsage => ({ inputTokens: 100, outputTokens: 10, ...more })
  it.each<[string, TokenUsage | number | undefined, { interrupted?: true }?]>([
    ['none', undefined],
    ['zero', 0],
    ['above the window', 10_001],
    ['of an interrupted answer', 900, { interrupted: true }],
    ['with a negative part', parts({ cacheReadTokens: -1 })],
    ['with a part that is no integer', parts({ inputTokens: 10.5 })],
    ['with more reasoning than output', parts({ reasoningTokens: 11 })],
  ])('is not believed: %s', (_name, usage, more = {}) => {
    const story = new Story().context(10_000).header().user(500).answer(100, usage, route, more)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 600, basis: 'estimate' })
    story.answer(100, 700).user(50).answer(100, usage, route, more)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 950, basis: 'usage' })
  })

  it('is that of an answer which rewrites an earlier one: it was not made by a request for this surface', () => {
    const story = new Story().header().user(500).answer(100, 700)
    const [, seq] = story.session.surface.entries
    story.session.append(
      'assistant/message',
      { turn: 1, step: 1, content: words(50), ...route, finish: 'stop', usage: { inputTokens: 9_000, outputTokens: 1 } },
      { surfaceOp: { op: 'replace', start: seq!, end: seq! }, sourceEventSeqs: [seq!] },
    )
    expect(total(story)).toBe(750)
  })

  it('is judged by the stated window only: a limit learned from a refusal does not discredit the answer that disproves it', () => {
    const story = new Story().context(100_000).header().user(500).context(8_000, route, { learned: true }).answer(100, 9_000)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 9_100, basis: 'usage' })
  })
})

describe('prices by position', () => {
  it('follow the surface through appends and replaces', () => {
    const story = new Story().user(10).user(20).user(30).user(40)
    story.replace(1, 2, 7)
    expect(meter.entryTokens(story.session)).toEqual([10, 7, 40])
    expect(meter.tokensAt(story.session, 2)).toBe(40)
    story.replace(0, 2, 5)
    expect(meter.entryTokens(story.session)).toEqual([5])
  })

  it.each([-1, 2, 0.5, Number.NaN])('there is none at %s of two entries', position => {
    const story = new Story().user(10).user(20)
    expect(() => meter.tokensAt(story.session, position)).toThrow(`no entry at position ${position}: the surface has 2 entries`)
  })

  it('an answer without content costs nothing, since the model is not sent it', () => {
    const story = new Story().user(10)
    story.session.append('assistant/message', { turn: 1, step: 1, content: [], ...route, finish: 'other' }, { surfaceOp: 'append' })
    expect(meter.entryTokens(story.session)).toEqual([10, 0])
  })
})

describe('a usage of a request that silently did not fit', () => {
  it('is not believed where the answer ended with the window', () => {
    const full = { inputTokens: 9_000, outputTokens: 1_000 }
    const story = new Story().context(10_000).header().user(500).answer(1_000, full, route, { finish: 'max-tokens' })
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 1_500, basis: 'estimate' })
    story.user(100).answer(1_000, full)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 10_000, basis: 'usage' })
  })

  it('is not believed where far less was counted than was sent, more than the window', () => {
    const story = new Story().context(10_000).header().user(12_000).answer(100, 5_000)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 12_100, basis: 'estimate' })
    story.replace(0, 0, 500)
    story.answer(100, 700)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 800, basis: 'usage' })
  })

  it('is believed where the line knows that the estimate is too dear', () => {
    const story = new Story().context(10_000).header().user(2_000).answer(10, 1_000).user(2_000).answer(10, 2_000)
    story.user(8_000).answer(10, 6_000)
    expect(meter.measure(story.session)).toMatchObject({ totalTokens: 6_005, basis: 'usage' })
  })
})

type Operation =
  | { readonly kind: 'user' | 'header' | 'read'; readonly size: number }
  | { readonly kind: 'answer'; readonly size: number; readonly usage: number; readonly rerouted: boolean }
  | { readonly kind: 'replace'; readonly from: number; readonly span: number; readonly size: number }

const size = fc.integer({ min: 5, max: 3_000 })
const operations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('user' as const, 'header' as const, 'read' as const), size }),
    fc.record({ kind: fc.constant('answer' as const), size, usage: fc.integer({ min: 0, max: 30_000 }), rerouted: fc.boolean() }),
    fc.record({ kind: fc.constant('replace' as const), from: fc.nat(), span: fc.nat(), size }),
  ),
  { maxLength: 60 },
)

function play(script: readonly Operation[], read: (session: Session) => void): Session {
  const story = new Story()
  for (const operation of script) {
    switch (operation.kind) {
      case 'user':
        story.user(operation.size)
        break
      case 'header':
        story.header(operation.size % 2 === 0 ? route : elsewhere, operation.size)
        break
      case 'answer':
        story.answer(operation.size, operation.usage, operation.rerouted ? elsewhere : route)
        break
      case 'read':
        read(story.session)
        break
      case 'replace': {
        const { length } = story.session.surface.entries
        if (length === 0) break
        const from = operation.from % length
        story.replace(from, from + (operation.span % (length - from)), operation.size)
      }
    }
  }
  return story.session
}

/** The surface priced from scratch, as the definition says. */
function fromScratch(meter: TokenMeter, session: Session): number[] {
  return session.surface.entries.map(seq => meter.estimateMessage(messageOfEvent(session.log.at(seq) as SurfaceEvent)!))
}

it('is, after any history, what pricing the surface from scratch gives, wherever it was read before', () => {
  fc.assert(
    fc.property(operations, script => {
      const live = tokenMeter(DENSITY)
      const session = play(script, session => void live.measure(session))
      const measured = live.measure(session, { pending: [pending(11)] })
      const prices = fromScratch(live, session)
      expect(live.entryTokens(session)).toEqual(prices)
      expect(measured.surfaceTokens).toBe(prices.reduce((sum, price) => sum + price, 0))
      expect(measured.pendingTokens).toBe(11)
      expect(Number.isSafeInteger(measured.totalTokens) && measured.totalTokens >= 0).toBe(true)
      if (measured.basis !== 'usage') expect(measured.totalTokens).toBe(measured.envelopeTokens + measured.surfaceTokens + 11)
      // A meter that reads only now agrees, and so does one that reads the log of another process.
      expect(tokenMeter(DENSITY).measure(session, { pending: [pending(11)] })).toEqual(measured)
      expectReplays(session)
    }),
    { seed, numRuns: 1_000 },
  )
})

it('is, after any history, the line of its definition', () => {
  let onUsage = 0
  fc.assert(
    fc.property(operations, script => {
      const session = play(script, () => {})
      const measured = meter.measure(session)
      const { totalTokens, slope } = byDefinition(session)
      expect(measured.slope).toBeCloseTo(slope, 12)
      expect(measured.totalTokens).toBe(totalTokens)
      if (measured.basis === 'usage' && measured.slope !== 1) onUsage += 1
    }),
    { seed, numRuns: 1_000 },
  )
  expect(onUsage).toBeGreaterThan(100)
})

/** The line from the whole log at once: answers of the route that serves now, samples a thousand apart, their middle slope. */
function byDefinition(session: Session): { totalTokens: number; slope: number } {
  const { envelopeTokens, surfaceTokens } = meter.measure(session)
  const answers: { route: string; requested: string; estimate: number; usage: number }[] = []
  const seen = new EventLog()
  let requested = ''
  for (const event of session.log.from(0)) {
    if (event.type === 'request/header') requested = event.data.config.model
    if (event.type === 'assistant/message' && event.data.usage!.inputTokens > 0) {
      const sent = meter.measure(seen)
      answers.push({ route: event.data.model, requested, estimate: sent.envelopeTokens + sent.surfaceTokens, usage: event.data.usage!.inputTokens })
    }
    admit(seen, event)
  }
  const serving = answers.findLast(answer => answer.requested === requested)?.route ?? requested
  const line = requested === '' ? [] : answers.filter(answer => answer.route === serving)
  const anchor = line.at(-1)
  if (anchor === undefined) return { totalTokens: envelopeTokens + surfaceTokens, slope: 1 }
  let samples: { span: number; slope: number }[] = []
  let mark = line[0]!
  for (const answer of line) {
    const span = answer.estimate - mark.estimate
    if (Math.abs(span) < 1_000) continue
    samples.push({ span: Math.min(8_000, Math.abs(span)), slope: (answer.usage - mark.usage) / span })
    mark = answer
  }
  samples = samples.slice(-32)
  const weight = (among: typeof samples) => among.reduce((sum, { span }) => sum + span, 0)
  const middles = samples.map(({ slope }) => slope).filter(slope => 2 * weight(samples.filter(other => other.slope <= slope)) >= weight(samples))
  const slope = samples.length === 0 ? 1 : Math.max(0.5, Math.min(3, Math.min(...middles)))
  const moved = envelopeTokens + surfaceTokens - anchor.estimate
  return { totalTokens: Math.max(0, Math.round(anchor.usage + slope * moved)), slope }
}

it('costs more for more pending input, and the same for the same', () => {
  fc.assert(
    fc.property(operations, fc.array(size, { maxLength: 4 }), size, (script, sizes, more) => {
      const session = play(script, () => {})
      const few = sizes.map(pending)
      const less = meter.measure(session, { pending: few })
      expect(meter.measure(session, { pending: few })).toEqual(less)
      expect(meter.measure(session, { pending: [...few, pending(more)] }).totalTokens).toBeGreaterThanOrEqual(less.totalTokens)
    }),
    { seed, numRuns: 300 },
  )
})

it('reads through anything that folds: a bare log will do', () => {
  const log = new EventLog()
  log.commit({ seq: 0, time: 0, type: 'user/message', data: { content: words(12), source: { kind: 'user' } }, surfaceOp: 'append' }, { at: 0, removed: [] })
  expect(meter.measure(log)).toMatchObject({ totalTokens: 12, basis: 'estimate' })
})
