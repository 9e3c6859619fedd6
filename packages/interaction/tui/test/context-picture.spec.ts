import { COMPACT_CHECKPOINT_SOURCE } from '@deepseek-ai/dsh-compaction'
import { PERSON_SOURCE, Session } from '@deepseek-ai/dsh-session'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { contextPicture, contextShares } from '../src/context-picture.ts'
import { RUNS } from './words.ts'

const meter = tokenMeter({ charsPerToken: 4 })
/** A text of so many tokens as a message of its own, by this meter. */
const sized = (tokens: number): [{ type: 'text'; text: string }] => [{ type: 'text', text: 'x'.repeat(4 * tokens) }]

function conversation(sizes: { readonly [kind in 'user' | 'context' | 'checkpoint' | 'answer' | 'reasoning' | 'calls' | 'results']: number }, usage?: number): Session {
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  const append = { surfaceOp: 'append' } as const
  session.append('turn/start', { turn: 1 })
  if (sizes.checkpoint > 0) session.append('user/message', { content: sized(sizes.checkpoint), source: COMPACT_CHECKPOINT_SOURCE }, append)
  session.append('user/message', { content: sized(sizes.user), source: PERSON_SOURCE }, append)
  if (sizes.context > 0) session.append('user/message', { content: sized(sizes.context), source: { kind: 'context' } }, append)
  session.append('step/start', { turn: 1, step: 1 })
  session.append('request/header', { config: { provider: 'p', model: 'm' }, system: 'x'.repeat(400), tools: [{ name: 'look', parameters: {} }], reason: 'initial' })
  session.append('assistant/message', {
    turn: 1, step: 1, provider: 'p', model: 'm', finish: 'tool-calls',
    content: [{ type: 'reasoning', text: sized(sizes.reasoning)[0].text }, ...sized(sizes.answer), { type: 'tool-call', id: 'c', name: 'look', arguments: 'x'.repeat(4 * sizes.calls) }],
    ...(usage === undefined ? {} : { usage: { inputTokens: usage, outputTokens: 1 } }),
  }, append)
  session.append('tool/call', { turn: 1, step: 1, callId: 'c' })
  session.append('tool/result', { turn: 1, step: 1, callId: 'c', content: sized(sizes.results) }, append)
  return session
}

const SIZES = { user: 300, context: 100, checkpoint: 800, answer: 400, reasoning: 200, calls: 50, results: 2_000 }

it('the window as a bar and a table', () => {
  const session = conversation(SIZES)
  const { totalTokens } = meter.measure(session)
  const picture = contextPicture(contextShares(session, meter), { totalTokens, isMeasured: false, windowTokens: 8_000, thresholdTokens: 6_400 }, 'p/m')
  expect(picture).toMatchInlineSnapshot(`
    "3,987 of 8,000 tokens (49.8%), estimated

    STCCCCCUUXAAAYKRRRRRRRRRRRRRRR··················┃···········

    S  system prompt                 104    1.3%
    T  tool schemas                    8    0.1%
    C  checkpoint                    804   10.1%
    U  your messages                 304    3.8%
    X  added context                 104    1.3%
    A  answers                       404    5.1%
    Y  reasoning                     204    2.5%
    K  tool calls                     51    0.6%
    R  tool results                2,004   25.1%
    ·  free                        4,013   50.2%
    ┃  compaction begins at        6,400   80.0%"
  `)
})

it('says so when the window is not known', () => {
  const session = conversation(SIZES)
  const picture = contextPicture(contextShares(session, meter), { totalTokens: meter.measure(session).totalTokens, isMeasured: true, windowTokens: null, thresholdTokens: null }, 'p/m')
  expect(picture.split('\n')[0]).toMatch(/^[\d,]+ tokens \(by the last answer’s own count\); the window of p\/m is not known$/)
  expect(picture).not.toContain('free')
})

it('the shares add up to what the meter says, and no kind that is there goes unseen', () => {
  const size = fc.integer({ min: 1, max: 3_000 })
  fc.assert(fc.property(fc.record({ user: size, context: size, checkpoint: size, answer: size, reasoning: size, calls: size, results: size }), fc.option(fc.integer({ min: 500, max: 20_000 })), (sizes, usage) => {
    const session = conversation(sizes, usage ?? undefined)
    const { totalTokens } = meter.measure(session)
    const shares = contextShares(session, meter)
    expect(shares.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(totalTokens)
    const bar = contextPicture(shares, { totalTokens, isMeasured: true, windowTokens: 30_000, thresholdTokens: null }, 'p/m').split('\n')[2]!
    expect(bar).toHaveLength(60)
    for (const letter of 'STCUXAYKR') expect(bar).toContain(letter)
  }), { ...RUNS, numRuns: 50 })
})
