/** A run that was recorded runs again: the same inputs, the recorded answers, and the same log, times aside. */
import { answersFromLog, RecordedAdapter } from '@deepseek-ai/dsh-llm-recorded'
import type { LlmAdapter, ScriptedReply } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, eventsOf, expectSound, house, OVERFLOW, ROUTE, say, sized, sizeOf, text, turnEnds, type House, type HouseInit } from './house.ts'

const WINDOW_TOKENS = 100_000
const SUMMARY = `## Current Work\n${'Reading the parser. '.repeat(30)}`

/** What the model said, in order; the third request is refused. */
const REPLIES: readonly ScriptedReply[] = [
  { content: [text('I look.'), call('a'), call('b')], usage: { inputTokens: 3_000, outputTokens: 50 } },
  { content: [text(sized('found', 900))], usage: { inputTokens: 5_000, cacheReadTokens: 2_900, outputTokens: 950 } },
  OVERFLOW,
  { content: [{ type: 'reasoning', text: 'hm', providerMetadata: { signature: 'x' } }, text('Fixed.'), call('c')] },
  'All fixed.',
  'Bye.',
]

/** The same people and the same tools, whatever model answers. */
async function act(all: House): Promise<void> {
  all.results.push(sized('ra', 1_000), sized('rb', 1_200), sized('rc', 300))
  all.agent.inject('The working directory is clean.', { kind: 'context' })
  await say(all, sized('Read the parser.', 2_500))
  await say(all, 'Fix it.')
  await say(all, 'Thanks.')
}

async function recorded(replies: readonly ScriptedReply[] = REPLIES, init: HouseInit = {}): Promise<House> {
  const all = await house({ models: { m: { contextWindow: WINDOW_TOKENS } }, summary: SUMMARY, system: 'You mend parsers.', replies, ...init })
  await act(all)
  return all
}

function recordingOf(events: Iterable<SessionEvent>): RecordedAdapter {
  return new RecordedAdapter({ provider: ROUTE.provider, model: ROUTE.model, contextWindow: WINDOW_TOKENS, estimateTokens: sizeOf, ...answersFromLog(events) })
}

async function rerun(events: Iterable<SessionEvent>, adapter: LlmAdapter = recordingOf(events)): Promise<House> {
  const all = await house({ adapter, system: 'You mend parsers.' })
  await act(all)
  return all
}

const logOf = ({ session }: House): SessionEvent[] => JSON.parse(JSON.stringify([...session.log.from(0)]))
const withoutTimes = (events: readonly SessionEvent[]) => events.map(event => ({ ...event, time: 0 }))

describe('an overflow, put together from real parts', () => {
  it('reproduces itself event for event, the summarizer’s call included', async () => {
    const first = await recorded()
    expect(turnEnds(first.session)).toEqual(['completed', 'CONTEXT_WINDOW_EXCEEDED', 'completed', 'completed'])
    expect(bracketsOf(first.session)).toBe('start(context-overflow) summary(replay) checkpoint end')
    const second = await rerun(logOf(first))
    expect(withoutTimes(logOf(second))).toEqual(withoutTimes(logOf(first)))
    expect(second.session.deriveMessages()).toEqual(first.session.deriveMessages())
    expectSound(first)
    expectSound(second)
  })

  it('holds exactly one call of the summarizer, told by its marker', async () => {
    const first = await recorded()
    const { answers, summaries } = answersFromLog(logOf(first))
    expect(summaries).toEqual([{ content: [text(SUMMARY)], finish: 'stop' }])
    expect(answers).toHaveLength(REPLIES.length)
    expect(answers[2]).toEqual(OVERFLOW)
  })

  it('asks every request again as it was asked', async () => {
    const first = await recorded()
    const asked: unknown[] = []
    const recording = recordingOf(logOf(first))
    const listening: LlmAdapter = {
      provider: recording.provider,
      modelInfo: model => recording.modelInfo(model),
      stream: options => {
        asked.push({ ...options, messages: [...options.messages], signal: undefined })
        return recording.stream(options)
      },
    }
    await rerun(logOf(first), listening)
    expect(asked).toEqual(first.model.requests.map(request => ({ ...request, messages: request.messages, signal: undefined })))
  })

  it('a third time, from the log of the second: still the same', async () => {
    const first = await recorded()
    const second = await rerun(logOf(first))
    const third = await rerun(logOf(second))
    expect(withoutTimes(logOf(third))).toEqual(withoutTimes(logOf(first)))
  })
})

describe('without the marker no answer of a summarizer is derived', () => {
  it('it was there, and somebody took it out', async () => {
    const events = logOf(await recorded()).map(event => {
      if (event.type !== 'compaction/summary') return event
      const { llmStreamCall: _, ...data } = event.data
      return { ...event, data }
    })
    expect(answersFromLog(events).summaries).toEqual([])
    const again = await rerun(events)
    expect(eventsOf(again.session, 'compaction/summary').map(({ data }) => data.strategy)).toEqual(['digest'])
    expect(turnEnds(again.session)).toEqual(['completed', 'CONTEXT_WINDOW_EXCEEDED', 'completed', 'completed'])
    expectSound(again)
  })

  it('it was never there: two calls made the summary, or none', async () => {
    const summaries: ScriptedReply[] = ['', SUMMARY]
    const twice = await recorded(REPLIES, { summary: () => summaries.shift()!, compaction: { compactionRetries: 1 } })
    expect(eventsOf(twice.session, 'compaction/summary').map(({ data }) => [data.strategy, data.llmStreamCall])).toEqual([['transcript', undefined]])
    expect(answersFromLog(logOf(twice)).summaries).toEqual([])

    const none = await recorded(REPLIES, { summary: { failure: { code: 'AUTH', message: 'no key' } } })
    expect(eventsOf(none.session, 'compaction/summary').map(({ data }) => [data.strategy, data.llmStreamCall])).toEqual([['digest', undefined]])
    expect(answersFromLog(logOf(none)).summaries).toEqual([])
  })
})

it('a request that was refused here, unsent, is no answer of a model: what the model was really asked is answered again', async () => {
  const models = { m: { contextWindow: 1_000_000 }, small: { contextWindow: 10_000 } }
  const switched = async (all: House): Promise<void> => {
    await say(all, sized('Read.', 8_000))
    await say(all, sized('More.', 4_000))
    all.ctx.on('agent/request', async (_event, next) => ({ ...(await next()), model: 'small' }))
    await say(all, 'Go on.')
    await say(all, 'Thanks.')
  }
  const compaction = { summarizationProvider: ROUTE.provider, summarizationModel: ROUTE.model }
  const first = await house({ models, compaction, summary: SUMMARY, replies: [sized('read', 2_000), sized('more', 900), 'Here.', 'Bye.'] })
  await switched(first)
  expect(turnEnds(first.session)).toEqual(['completed', 'completed', 'CONTEXT_WINDOW_EXCEEDED', 'completed', 'completed'])
  expect(first.requests()).toHaveLength(4)

  const recording = new RecordedAdapter({ ...ROUTE, ...answersFromLog(logOf(first)) })
  const adapter: LlmAdapter = { provider: ROUTE.provider, modelInfo: model => models[model as 'small'], stream: options => recording.stream(options) }
  const second = await house({ adapter, compaction })
  await switched(second)
  expect(withoutTimes(logOf(second))).toEqual(withoutTimes(logOf(first)))
  expectSound(second)
})

it('a run under pressure reproduces itself as well, two compactions and all', async () => {
  const replies = Array.from({ length: 30 }, (_, index): ScriptedReply => ({ content: [text(sized(`answer${index}`, 500))] }))
  const talk = async (all: House): Promise<void> => {
    for (let turn = 0; turn < 14; turn++) await say(all, sized(`question${turn}`, 900))
  }
  const init: HouseInit = { models: { m: { contextWindow: 10_000 } } }
  const first = await house({ ...init, replies, summary: SUMMARY })
  await talk(first)
  expect(eventsOf(first.session, 'compaction/summary').length).toBeGreaterThanOrEqual(2)
  const second = await house({ adapter: new RecordedAdapter({ ...ROUTE, contextWindow: 10_000, estimateTokens: sizeOf, ...answersFromLog(logOf(first)) }) })
  await talk(second)
  expect(withoutTimes(logOf(second))).toEqual(withoutTimes(logOf(first)))
  expectSound(second)
})
