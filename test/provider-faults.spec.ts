/** What goes wrong on the wire between real adapters and a real server, and what is left of it. */
import LlmRetry from '@deepseek-ai/dsh-llm-retry'
import { describe, expect, it } from 'vitest'
import { bracketsOf, eventsOf, rejection, say, sized, SUMMARY, surfaceOf, turnEnds, typesOf, until } from './house.ts'
import { DIALECTS, expectSoundLodging, lodging, type Lodging, type LodgingInit } from './provider/house.ts'
import { asksForSummary, errorBody, rateLimit, refusal, type Act, type Answer } from './provider/script.ts'

const begun: Act[] = [{ text: 'I begin to' }]
const call: Act = { call: { name: 'look', arguments: { at: 1 } } }

const outcomes = ({ provider }: Lodging): string => provider.served.map(({ outcome }) => outcome).join(' ')

describe.each(DIALECTS)('in the dialect of %s', dialect => {
  /** Answers one request of the loop after the other, `Done.` after the last; and summaries, `SUMMARY` after the last. */
  async function answering(answers: readonly Answer[], init: Partial<LodgingInit> & { summaries?: readonly Answer[] } = {}): Promise<Lodging> {
    const left = [...answers]
    const summaries = [...(init.summaries ?? [])]
    const all = await lodging({ dialect, script: request => (asksForSummary(request) ? (summaries.shift() ?? SUMMARY) : (left.shift() ?? 'Done.')), ...init })
    await all.ctx.plugin(LlmRetry, { firstWaitMs: 1 })
    return all
  }

  it('answers with parallel calls are played as they came, and their results go back', async () => {
    const all = await answering([[{ reasoning: 'Hm.' }, ...begun, call, call]])
    all.results.push('first', 'second')
    await say(all, 'u1')
    expect(surfaceOf(all.session)).toBe('u1 I first second Done.')
    expect(all.provider.served[1]!.request.messages.flatMap(({ answers }) => answers)).toHaveLength(2)
    expect(eventsOf(all.session, 'assistant/message')[0]!.data.usage).toMatchObject({ outputTokens: all.provider.served[0]!.outputTokens })
    expectSoundLodging(all)
  })

  describe('a cancel closes the socket', () => {
    it.each<[string, Act[], string]>([
      ['before a header came', [{ wait: 'never' }], 'u1'],
      ['in the middle of a text', [...begun, { wait: 'never' }], 'u1 I'],
      ['behind a whole call, which is not made', [...begun, call, { wait: 'never' }], 'u1 I'],
    ])('%s', async (_title, answer, surface) => {
      const all = await answering([answer])
      let heard = 0
      all.ctx.on('agent/delta', (_agent, chunk) => void (chunk.type === 'text-delta' && heard++))
      all.agent.send('u1')
      await until(() => all.provider.gates.waiting().length === 1 && heard === answer.filter(act => 'text' in act).length)
      all.agent.cancel('a person')
      await all.agent.whenIdle()
      await until(() => outcomes(all) === 'gone')
      expect(turnEnds(all.session)).toEqual(['aborted by a person'])
      expect(surfaceOf(all.session)).toBe(surface)
      expect(typesOf(all.session)).not.toContain('tool/call')
      await say(all, 'u2')
      expect(surfaceOf(all.session)).toBe(`${surface} u2 Done.`)
      expectSoundLodging(all)
    })

    it('of a summary too, and the conversation stays as it was', async () => {
      const all = await answering([], { summaries: [[{ text: '## Current' }, { wait: 'never' }]] })
      for (const message of [sized('u1', 3_000), sized('u2', 500)]) await say(all, message)
      const { session, agent, ctx } = all
      const before = surfaceOf(session)
      const cancelled = new AbortController()
      const compaction = rejection(ctx.get('compaction')!.compactNow(agent, cancelled.signal))
      await until(() => all.provider.gates.waiting().length === 1)
      cancelled.abort('enough')
      expect(await compaction).toBe('enough')
      await until(() => all.provider.served.at(-1)!.outcome === 'gone')
      expect(surfaceOf(session)).toBe(before)
      expect(bracketsOf(session)).toBe('start(manual) end(aborted)')
      expectSoundLodging(all)
    })
  })

  describe('what passes is tried again', () => {
    it.each<[string, Answer, string]>([
      ['a rate limit', rateLimit(dialect, 0), 'RATE_LIMIT'],
      ['an outage', refusal(dialect, 503, 'The engine is overloaded', 'server_error'), 'SERVER'],
      ['an outage said in the stream', [...begun, { error: errorBody(dialect, 'Overloaded', 'overloaded_error') }], 'SERVER'],
      ['a connection cut before a header', [{ cut: true }], 'TRANSPORT'],
      ['a connection cut in a text', [...begun, { cut: true }], 'TRANSPORT'],
      ['a connection cut behind a whole call', [...begun, call, { cut: true }], 'TRANSPORT'],
    ])('%s: nothing of the failed tries stays', async (_title, answer, code) => {
      const all = await answering([answer, answer])
      await say(all, 'u1')
      expect(turnEnds(all.session)).toEqual([code, code, 'completed'])
      expect(surfaceOf(all.session)).toBe('u1 Done.')
      expect(typesOf(all.session)).not.toContain('tool/call')
      expect(all.provider.served.map(({ promptTokens }) => promptTokens)).toEqual(Array(3).fill(all.provider.served[0]!.promptTokens))
      expectSoundLodging(all)
    })

    it('silence: the adapter closes the socket', async () => {
      const all = await answering([[{ wait: 'never' }], [...begun, { wait: 'never' }]], { idleMs: 200 })
      await say(all, 'u1')
      expect(turnEnds(all.session)).toEqual(['TIMEOUT', 'TIMEOUT', 'completed'])
      await until(() => outcomes(all) === 'gone gone answered')
      expect(surfaceOf(all.session)).toBe('u1 Done.')
      expectSoundLodging(all)
    })

    it('a summarizer’s request as well, within its compaction', async () => {
      const all = await answering([], { summaries: [rateLimit(dialect, 0)] })
      for (const message of [sized('u1', 3_000), sized('u2', 500)]) await say(all, message)
      await all.ctx.get('compaction')!.compactNow(all.agent, new AbortController().signal)
      expect(bracketsOf(all.session)).toBe('start(manual) summary(replay) checkpoint end')
      expect(outcomes(all)).toBe('answered answered refused answered')
      expectSoundLodging(all)
    })

    it('beside an overflow, each with a budget of its own', async () => {
      const limit = rateLimit(dialect, 0)
      const all = await answering(['Done.', limit, refusal(dialect, 400, 'prompt is too long'), limit, limit])
      await say(all, sized('u1', 3_000))
      await say(all, 'u2')
      expect(turnEnds(all.session)).toEqual(['completed', 'RATE_LIMIT', 'CONTEXT_WINDOW_EXCEEDED', 'RATE_LIMIT', 'RATE_LIMIT', 'completed'])
      expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(replay) checkpoint end')
      expect(surfaceOf(all.session)).toBe('S Done. u2 Done.')
      expectSoundLodging(all)
    })
  })

  it.each<[string, Answer, string]>([
    ['a key that is refused', refusal(dialect, 401, 'Incorrect API key provided: secret', 'authentication_error'), 'AUTH'],
    ['a quota', refusal(dialect, 429, 'You exceeded your current quota.', 'insufficient_quota'), 'QUOTA'],
    ['a request that is no good', refusal(dialect, 400, 'bad parameter', 'invalid_request_error'), 'INVALID_REQUEST'],
  ])('what does not pass is asked once: %s', async (_title, answer, code) => {
    const all = await answering([answer])
    await say(all, 'u1')
    expect(turnEnds(all.session)).toEqual([code])
    expect(all.provider.served).toHaveLength(1)
    expectSoundLodging(all)
  })
})
