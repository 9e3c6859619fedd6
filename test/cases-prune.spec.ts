/** What is too large by itself: D12, and what was reported of BIG and PRUNE. */
import { textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { bracketsOf, call, checkpoints, eventsOf, expectSound, house, meter, play, say, sent, sized, sizeOf, text, turnEnds, WINDOW_TOKENS, type House } from './house.ts'

const MARKER = /\[… (\d+) characters left out here; event (\d+) of the session log holds the whole text …\]/
/** In surface order. */
const results = ({ session }: House): SessionEvent<'tool/result'>[] => session.surface.entries.flatMap(seq => eventsOf(session, 'tool/result').filter(event => event.seq === seq))
const rewrites = ({ session }: House) => eventsOf(session, 'tool/result').filter(({ surfaceOp }) => surfaceOp !== 'append')

/** The log of `all`, the last result having been this one. */
function withResult({ session }: House, content: readonly ContentBlock[]): SessionEvent[] {
  const { seq } = eventsOf(session, 'tool/result').at(-1)!
  return [...session.log.from(0)].map(event => (event.seq === seq && event.type === 'tool/result' ? { ...event, data: { ...event.data, content, meta: { exit: 0 } } } : event))
}

describe('D12 one result of nearly the whole window, in a closed step', () => {
  it.each([
    ['of text', [text(sized('ra9600', 9_600))]],
    ['around an image', [text(sized('ra4000', 4_000)), { type: 'image', mediaType: 'image/png', data: 'AAAA', width: 100, height: 100 }, text(sized('rest', 5_000))]],
  ] as const)('%s: rewritten in place, head and tail and a marker, everything else as it was; no summary; again, nothing', async (_title, content) => {
    const wide = await house({ models: { m: { contextWindow: 100_000 } } })
    await play(wide, 'u2000 a20 u80 a20')
    await wide.ctx.get('compaction')!.compactNow(wide.agent, new AbortController().signal)
    wide.replies.push({ content: [call('a', 'read')] })
    await say(wide, sized('u100', 100))
    // The same conversation, with a model of a smaller window.
    const all = await house({ left: withResult(wide, content) })
    const { session } = all
    const [original] = results(all)
    const position = session.surface.positionOf(original!.seq)
    const before = session.log.length

    await say(all, 'go on')
    const [view] = results(all)
    expect(session.surface.positionOf(view!.seq)).toBe(position)
    expect({ ...view!.data, content: null }).toEqual({ ...original!.data, content: null })
    expect(view!.data.content.map(({ type }) => type).join()).toMatch(/^text(,image(,text)?)?$/)
    const shown = textOf(view!.data.content)
    const [, leftOut, seq] = MARKER.exec(shown) ?? []
    expect(Number(seq)).toBe(original!.seq)
    expect(Number(leftOut)).toBe(textOf(content).length - 4_096 - 1_024)
    expect(shown.startsWith(textOf(content).slice(0, 4_096))).toBe(true)
    expect(shown.endsWith(textOf(content).slice(-1_024))).toBe(true)
    expect(sizeOf(all.requests()[0]!)).toBeLessThan(0.8 * WINDOW_TOKENS)
    expect(all.summaryRequests()).toEqual([])
    expect(bracketsOf(session, before)).toBe('')

    await say(all, 'and on')
    expect(rewrites(all)).toHaveLength(1)
    expectSound(all)
  })
})

describe('BIG', () => {
  it('BIG-01 BIG-06 PRUNE-04 a session of tool output alone is compacted', async () => {
    const all = await house()
    await play(all, `u50 ${'cp10 rp300 '.repeat(80)}a10`)
    expect(turnEnds(all.session)).toEqual(['completed'])
    expect(eventsOf(all.session, 'compaction/summary').length).toBeGreaterThan(1)
    for (const request of all.model.requests) expect(sizeOf(request)).toBeLessThanOrEqual(WINDOW_TOKENS)
    expectSound(all)
  })

  it.each([
    ['BIG-02 the newest result alone fills the window, the rest is a checkpoint', 'u6000 a900 u500 a400 u300 a100', [9_750]],
    ['BIG-04 one of 0.96 of the window', 'u100 a100', [9_600]],
    ['BIG-08 five of one step, none of them too large alone', 'u100 a100', [2_400, 2_400, 2_400, 2_400, 2_400]],
    ['a neighbour: one of five windows', 'u100 a100', [50_000]],
  ])('%s: shown by beginning and end in the very next request, and said once', async (_title, picture, sizes) => {
    const all = await house()
    const notices: string[] = []
    all.ctx.on('compaction/notice', (_session, notice) => void notices.push(notice))
    await play(all, picture)
    const ids = sizes.map((_, index) => `c${index}`)
    all.replies.push({ content: ids.map(id => call(id)) })
    all.results.push(...sizes.map(tokens => sized('big', tokens)))
    const before = all.requests().length
    await say(all, 'read it')
    expect(all.requests().length - before).toBe(2)
    expect(sizeOf(all.requests().at(-1)!) + 1_000).toBeLessThanOrEqual(WINDOW_TOKENS)
    expect(results(all).map(({ data }) => data.callId).filter(id => id.startsWith('c'))).toEqual(ids)
    expect(rewrites(all).length).toBeGreaterThan(0)
    expect(notices).toEqual([expect.stringContaining('too large for the model')])
    expect(all.warnings()).toEqual([])
    expect(turnEnds(all.session).at(-1)).toBe('completed')
    expectSound(all)
  })

  it('BIG-05 beside a summary that fails the conversation stays, and the result is shortened', async () => {
    const all = await house({ summary: '' })
    await play(all, 'u3000 a900 u500 a400')
    all.replies.push({ content: [call('a')] })
    all.results.push(sized('big', 15_000))
    await say(all, 'read it')
    expect(checkpoints(all.session)).toEqual([])
    expect(all.requests().at(-1)!.messages).toHaveLength(7)
    expect(sizeOf(all.requests().at(-1)!)).toBeLessThanOrEqual(WINDOW_TOKENS)
    expectSound(all)
  })

  it('BIG-07 a message larger than any window is shown by beginning and end, the log has it whole, and a person is told once', async () => {
    const all = await house()
    await play(all, 'u100 a100')
    const notices: string[] = []
    all.ctx.on('compaction/notice', (_session, notice) => void notices.push(notice))
    await say(all, sized('pasted', 75_000))
    expect(turnEnds(all.session)).toEqual(['completed', 'completed'])
    expect(sizeOf(all.requests().at(-1)!)).toBeLessThanOrEqual(WINDOW_TOKENS)
    expect(notices).toHaveLength(1)
    const whole = eventsOf(all.session, 'user/message').find(({ data }) => textOf(data.content).length > 200_000)!
    const view = eventsOf(all.session, 'user/message').at(-1)!
    expect(view.data.source).toEqual(whole.data.source)
    expect(MARKER.exec(textOf(view.data.content))![2]).toBe(String(whole.seq))
    expectSound(all)
  })
})

describe('PRUNE', () => {
  it('PRUNE-01 PRUNE-06 what was just read is not taken away, what was read before it is', async () => {
    const all = await house()
    await play(all, 'u100 ca10 ra3000 cb10 rb2900 cc10 rc2800 a10')
    const [a, , c] = results(all).map(({ data }) => textOf(data.content))
    expect(a).toMatch(MARKER)
    expect(c).not.toMatch(MARKER)
    expect(sent(all.requests().at(-1)!)).toContain(c)
    expect(all.summaryRequests()).toEqual([])
    expectSound(all)
  })

  it('PRUNE-02 one that is short already does not end the walk', async () => {
    const all = await house()
    await play(all, 'u100 ca10 ra3000 cb10 rb100 cc10 rc3000 cd10 rd2500 a10')
    expect(rewrites(all).map(({ data }) => data.callId).slice(0, 2)).toEqual(['a', 'c'])
    expectSound(all)
  })

  it('PRUNE-03 reading it again gives all of it', async () => {
    const all = await house()
    const file = sized('file', 3_000)
    for (const id of ['a', 'b', 'c']) {
      all.replies.push({ content: [call(id)] })
      all.results.push(file)
    }
    await say(all, 'read it thrice')
    expect(textOf(results(all)[0]!.data.content)).toMatch(MARKER)
    expect(textOf(results(all).at(-1)!.data.content)).toBe(file)
    expectSound(all)
  })

  it('PRUNE-05 whatever the tool is called', async () => {
    const all = await house({ tools: [{ name: 'mcp__far__read', parameters: { type: 'object' }, execute: () => sized('far', 4_500) }] })
    for (const id of ['a', 'b']) all.replies.push({ content: [call(id, 'mcp__far__read')] })
    await say(all, 'read')
    expect(rewrites(all).map(({ data }) => data.callId)).toContain('a')
    expectSound(all)
  })

  it('CACHE-02 CACHE-05 rewrites come together, with room for more than the next step', async () => {
    const all = await house()
    await play(all, `u100 ${'ca10 ra2200 '.repeat(3)}a10`)
    const first = all.session.surface.replaceGeneration
    await play(all, 'u100 ca10 ra300 a10 u100 cb10 rb300 a10')
    expect(first).toBeGreaterThanOrEqual(0)
    expect(all.session.surface.replaceGeneration - first).toBeLessThanOrEqual(3)
    expect(meter.measure(all.session).totalTokens).toBeLessThan(0.8 * WINDOW_TOKENS)
    expectSound(all)
  })
})
