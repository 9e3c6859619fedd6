/** A turn that would not end: two hundred steps of one request, in a window that holds some thirty of them. */
import { describe, expect, it } from 'vitest'
import { call, checkpoints, eventsOf, expectSound, house, meter, say, sent, sized, sizeOf, text, turnEnds, WINDOW_TOKENS, type House, type HouseInit } from './house.ts'

const STEPS = 200

/** `STEPS` steps, each of one to three calls; what a person says stands at the beginning alone. */
async function runaway(init: HouseInit = {}, atStep: (step: number, all: House) => void = () => {}): Promise<House> {
  const all = await house(init)
  for (let step = 1; step <= STEPS; step++) {
    const ids = Array.from({ length: 1 + (step % 3) }, (_, index) => `s${step}c${index}`)
    all.replies.push(() => {
      atStep(step, all)
      return { content: [text(`Step ${step}.`), ...ids.map(id => call(id))] }
    })
    for (const id of ids) all.results.push(sized(id, 120))
  }
  all.replies.push('All two hundred done.')
  await say(all, 'Do two hundred things, and keep away from the folder named attic.')
  return all
}

const stepsOf = ({ session }: House) => eventsOf(session, 'step/start').map(({ data }) => `${data.turn}.${data.step}`)
const compactions = ({ session }: House) => eventsOf(session, 'compaction/summary').length

it('is rescued in its middle, again and again, and ends by itself', async () => {
  const all = await runaway({ strict: true })
  expect(turnEnds(all.session)).toEqual(['completed'])
  expect(stepsOf(all)).toEqual(Array.from({ length: STEPS + 1 }, (_, index) => `1.${index + 1}`))
  expect(compactions(all)).toBeGreaterThanOrEqual(5)
  expect(compactions(all)).toBeLessThanOrEqual(20)
  for (const request of all.requests()) expect(sizeOf(request)).toBeLessThan(0.8 * WINDOW_TOKENS)
  for (const request of all.model.requests) expect(sizeOf(request) + request.maxTokens!).toBeLessThanOrEqual(WINDOW_TOKENS)
  expect(eventsOf(all.session, 'tool/result')).toHaveLength(eventsOf(all.session, 'tool/call').length)
  expect(checkpoints(all.session)).toHaveLength(1)
  for (const request of all.requests()) expect(sent(request)).toContain('the folder named attic')
  expectSound(all)
})

it('each compaction stands between a step’s end and the next step’s start', async () => {
  const all = await runaway()
  const events = [...all.session.log.from(0)]
  for (const { seq, data } of eventsOf(all.session, 'compaction/start')) {
    expect(data).toEqual({ turn: 1, trigger: 'pressure' })
    const before = events.slice(0, seq).findLast(event => event.type.startsWith('step/'))
    expect(before!.type).toBe('step/end')
    const end = eventsOf(all.session, 'compaction/end', seq)[0]!
    expect(events.slice(end.seq + 1).find(event => event.type !== 'inbox/spliced')!.type).toBe('step/start')
  }
})

describe('goes on', () => {
  it('with a summarizer that never succeeds, until the provider refuses, and then with a digest', async () => {
    const all = await runaway({ summary: { failure: { code: 'AUTH', message: 'down' } }, strict: true })
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expect(turnEnds(all.session).slice(0, -1).every(end => end === 'CONTEXT_WINDOW_EXCEEDED')).toBe(true)
    expect(eventsOf(all.session, 'compaction/summary').every(({ data }) => data.strategy === 'digest')).toBe(true)
    expect(new Set(eventsOf(all.session, 'tool/call').map(({ data }) => data.callId)).size).toBe(eventsOf(all.session, 'tool/call').length)
    expect(eventsOf(all.session, 'compaction/end').filter(({ data }) => data.error !== undefined).length).toBeGreaterThanOrEqual(2)
    expect(all.summaryRequests().length).toBeLessThan(40)
    expectSound(all)
  })

  it('steered in its middle: what a person says joins the next step, and no compaction loses it', async () => {
    const all = await runaway({}, (step, { agent }) => {
      if (step === 100) agent.steer('And count the files.')
    })
    const first = all.requests().findIndex(request => sent(request).includes('And count the files.'))
    expect(all.requests()[first]!.messages.filter(({ role }) => role === 'assistant').length).toBeGreaterThan(0)
    expect(first).toBe(100)
    for (const request of all.requests().slice(first)) expect(sent(request)).toContain('And count the files.')
    expect(turnEnds(all.session)).toEqual(['completed'])
    expectSound(all)
  })

  it('until it is cancelled: every call answered, and the next turn has a conversation that fits', async () => {
    const all = await runaway({}, (step, { agent }) => {
      if (step === 150) agent.cancel('Escape')
    })
    expect(turnEnds(all.session)).toEqual(['aborted by Escape'])
    expect(stepsOf(all)).toHaveLength(150)
    all.replies.length = 0
    await say(all, 'Enough.')
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expect(meter.measure(all.session).totalTokens).toBeLessThan(0.8 * WINDOW_TOKENS)
    expectSound(all)
  })
})

it('under a threshold that slowly grows past, with a summarizer that saves 0.5 %: few calls, one notice', async () => {
  // Everything before the tail is one summary already, as long as it may be; each new one saves next to nothing.
  const all = await house({
    compaction: { maxTokens: 6_000, retainTokens: 1_000 },
    summary: options => sized('SUM', Math.floor((sizeOf(options) - 400 - meter.estimateEnvelope(options.system, options.tools)) * 0.9)),
  })
  await say(all, sized('start', 4_000))
  for (let step = 1; step <= 140; step++) {
    all.replies.push({ content: [call(`c${step}`)] })
    all.results.push(sized('r', 30))
  }
  await say(all, sized('go', 300))
  expect(turnEnds(all.session)).toEqual(['completed', 'completed'])
  expect(all.summaryRequests().length).toBeLessThanOrEqual(5)
  expectSound(all)
})
