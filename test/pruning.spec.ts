/** Room without a model: what pruning and shortening do to the requests of a running conversation, and to its summaries. */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import { textOf, type Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, eventsOf, expectSound, house, play, rejection, say, sized, sizeOf, turnEnds, type House, type HouseInit } from './house.ts'

const never = new AbortController().signal
const overflow = { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } } as const
/** 16k, nothing of it kept for the answer. */
const WINDOW_TOKENS = 16_000
const wide: HouseInit = { models: { m: { contextWindow: WINDOW_TOKENS } }, options: { provider: 'scripted', model: 'm' } }

/** Entries that gave way to something that is no checkpoint. */
const rewrites = ({ session }: House): SurfaceEvent[] =>
  [...session.log.from(0)].filter(isSurfaceEvent).filter(event => event.surfaceOp !== 'append' && !(event.type === 'user/message' && isCompactCheckpointSource(event.data.source)))

function noticesOf(all: House): string[] {
  const notices: string[] = []
  all.ctx.on('compaction/notice', (_session, notice) => void notices.push(notice))
  return notices
}
const texts = (messages: readonly Message[]): string[] =>
  messages.map(({ content }) => content.map(block => (block.type === 'tool-result' ? textOf(block.content) : textOf([block]))).join(''))
/** In a window of 16k: every request fits, nothing was refused, and the log is sound. */
function expectFits(all: House): void {
  for (const request of all.model.requests) expect(sizeOf(request)).toBeLessThanOrEqual(WINDOW_TOKENS)
  expect(new Set(turnEnds(all.session))).toEqual(new Set(['completed']))
  expectSound(all)
}

describe('a message of 30k tokens in a window of 16k', () => {
  it.each([
    ['as the first of all', '', 'hello', 0],
    ['as the first, with system prompt and history to come', '', 'You are careful. '.repeat(500), 0],
    ['after a short history, which stays', 'u500 a500', '', 0],
    ['after a long history, which is summarized for its sake', 'u5000 a500 u4000 a500 u1000 a300', '', 2],
  ])('%s: fits, in one request, with one notice and the original in the log', async (_title, picture, system, summaries) => {
    const all = await house({ ...wide, ...(system === '' ? {} : { system }) })
    if (picture !== '') await play(all, picture)
    const notices = noticesOf(all)
    const pasted = sized('pasted', 30_000)
    const before = all.requests().length
    await say(all, pasted)
    expect(all.requests().length - before).toBe(1)
    expect(all.summaryRequests()).toHaveLength(summaries)
    expect(notices).toHaveLength(1)
    const whole = eventsOf(all.session, 'user/message').find(({ data }) => textOf(data.content) === pasted)!
    const view = eventsOf(all.session, 'user/message').at(-1)!
    expect(view).toMatchObject({ data: { source: whole.data.source }, surfaceOp: { op: 'replace', start: whole.seq, end: whole.seq } })
    // More than half of the window is for what was just said.
    expect(sizeOf({ ...all.requests().at(-1)!, system: '', tools: [], messages: [{ role: 'user', content: view.data.content }] })).toBeGreaterThan(WINDOW_TOKENS / 2)
    expectFits(all)
  })

  it('is quoted from the log when it is summarized itself, and only once it has left', async () => {
    const all = await house(wide)
    await say(all, `First words. ${sized('pasted', 30_000)}`)
    await play(all, 'u900 a900 u900 a900')
    await all.ctx.get('compaction')!.compactNow(all.agent, never)
    const checkpoint = eventsOf(all.session, 'user/message').at(-1)!
    expect(textOf(checkpoint.data.content).match(/First words/g)).toHaveLength(1)
    expectFits(all)
  })

  it('that joins a running turn is shortened, what was read before it is not', async () => {
    const all = await house(wide)
    all.replies.push({ content: [call('a')] })
    all.results.push(new Promise(resolve => {
      setImmediate(() => {
        all.agent.steer(sized('pasted', 30_000))
        resolve(sized('small', 1_000))
      })
    }))
    await say(all, 'go')
    expect(rewrites(all).map(({ type }) => type)).toEqual(['user/message'])
    expectFits(all)
  })

  it('is nobody’s business where no engine acts by itself', async () => {
    const all = await house({ ...wide, compaction: { auto: false }, replies: [overflow] })
    await say(all, sized('pasted', 30_000))
    expect(rewrites(all)).toEqual([])
    expect(turnEnds(all.session)).toEqual(['CONTEXT_WINDOW_EXCEEDED'])
  })
})

describe('a result of 40k tokens in the newest unit', () => {
  it('fits, is read, and then gives way to its standard view, which still names the original', async () => {
    const all = await house(wide)
    await play(all, 'u1000 a500')
    const notices = noticesOf(all)
    all.replies.push({ content: [call('a')] }, { content: [call('b')] })
    const whole = sized('whole', 40_000)
    all.results.push(whole, sized('next', 3_000))
    await say(all, 'read it')
    const original = eventsOf(all.session, 'tool/result').find(({ data }) => textOf(data.content) === whole)!
    const views = rewrites(all).map(event => textOf(event.data.content))
    expect(views.map(view => view.includes(`event ${original.seq} of the session log`))).toEqual([true, true])
    expect(views[0]!.length).toBeGreaterThan(4 * WINDOW_TOKENS / 2)
    expect(views[1]!.length).toBeLessThan(6_000)
    expect(notices).toHaveLength(1)
    expectFits(all)
  })

  it('beside an answer that is too large itself: both are shortened, the call is still one', async () => {
    const all = await house(wide)
    await play(all, 'u1000 a500')
    const args = JSON.stringify({ path: 'a.ts', text: sized('written', 20_000) })
    all.replies.push({ content: [call('a', 'look', args)] })
    all.results.push(sized('whole', 20_000))
    await say(all, 'write it')
    const [sentCall] = all.requests().at(-1)!.messages.flatMap(({ content }) => content.filter(block => block.type === 'tool-call'))
    expect(JSON.parse(sentCall!.arguments)).toMatchObject({ path: 'a.ts' })
    expectFits(all)
  })
})

describe('a summary in the same check', () => {
  it('is asked for with the words that were last sent, so that the request is a prefix of the last one', async () => {
    const all = await house()
    await play(all, 'u2500 ca10 ra2600 a10 u2000')
    const last = all.requests().at(-1)!
    await say(all, sized('more', 4_500))
    expect(rewrites(all)).toHaveLength(1)
    const [summary] = all.summaryRequests()
    const span = summary!.messages.slice(0, -1)
    expect(span.length).toBeGreaterThan(2)
    expect(span).toEqual(last.messages.slice(0, span.length))
    expect(texts(span).join('')).not.toContain('left out')
    expect(bracketsOf(all.session)).toContain('summary(replay)')
    expectSound(all)
  })

  it('after an overflow gets the pruned form', async () => {
    const all = await house()
    await play(all, 'u600 ca10 ra4000 a10 u500')
    all.replies.push(overflow)
    await say(all, 'more')
    expect(texts(all.summaryRequests()[0]!.messages).join('')).toContain('left out')
    expect(turnEnds(all.session).slice(-2)).toEqual(['CONTEXT_WINDOW_EXCEEDED', 'completed'])
    expectSound(all)
  })
})

describe('after an overflow', () => {
  it('pruning alone is worth another try, also where the summary fails', async () => {
    const all = await house({ summary: '' })
    await play(all, 'u100 ca10 ra3000 a10')
    all.replies.push(overflow)
    await say(all, 'more')
    expect(rewrites(all)).toHaveLength(1)
    expect(turnEnds(all.session).slice(-2)).toEqual(['CONTEXT_WINDOW_EXCEEDED', 'completed'])
    expectSound(all)
  })

  it('of a window nobody knows, with nothing else to take away, half of what was just said', async () => {
    const all = await house({ models: { m: {} }, replies: [overflow] })
    await say(all, sized('pasted', 6_000))
    expect(turnEnds(all.session)).toEqual(['CONTEXT_WINDOW_EXCEEDED', 'completed'])
    expect(sizeOf(all.requests()[1]!)).toBeLessThan(sizeOf(all.requests()[0]!) * 0.6)
    expectSound(all)
  })

  it('that the envelope alone explains, nothing is shortened', async () => {
    const all = await house({ models: { m: {} }, system: sized('system', 60_000), replies: [overflow] })
    await say(all, sized('short', 3_000))
    expect(rewrites(all)).toEqual([])
    expect(turnEnds(all.session)).toEqual(['CONTEXT_WINDOW_EXCEEDED'])
  })
})

describe('nobody prunes', () => {
  it('on demand', async () => {
    const all = await house()
    await play(all, 'u1000 ca10 ra3000 a10 u500 cb10 rb2500 a10')
    await all.ctx.get('compaction')!.compactNow(all.agent, never)
    expect(rewrites(all)).toEqual([])
    expectSound(all)
  })

  it('under a live lock', async () => {
    const all = await house()
    await play(all, 'u3000 ca10 ra3000 a10')
    all.session.append('compaction/start', { turn: null, trigger: 'manual' })
    expect(await rejection(all.ctx.get('compaction')!.compactIfNeeded(all.agent, 'pressure', never))).toMatchObject({ code: 'busy' })
    expect(rewrites(all)).toEqual([])
  })
})

it('without a pruner the engine does what it can: the message is refused, and the provider’s word stands', async () => {
  const all = await house(wide)
  const row = [...all.ctx.get('loader')!.entries()].find(({ options }) => options.name === '@deepseek-ai/dsh-compaction-tool-result-pruner')!
  await row.fiber!.dispose()
  expect(all.ctx.get('toolResultPruner')).toBe(undefined)
  await play(all, 'u500 a500')
  all.replies.push(overflow, overflow)
  await say(all, sized('pasted', 30_000))
  expect(rewrites(all)).toEqual([])
  expect(turnEnds(all.session).at(-1)).toBe('CONTEXT_WINDOW_EXCEEDED')
})
