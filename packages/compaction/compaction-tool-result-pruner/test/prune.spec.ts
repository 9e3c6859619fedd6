/**
 * Plans and what they do to a surface, through `ctx.toolResultPruner`.
 */
import { textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import type { EventSink, Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentOf, drawn, load, surfaceOf, textsOf } from './notation.ts'

const SMALL = { thresholdChars: 800, headChars: 400, tailChars: 100 }
const { ctx, pruner } = await load(SMALL)
const everything = (session: Session) => ({ before: session.surface.entries.length })
const totalTokens = (session: Session) => ctx.tokenMeter.measure(session).surfaceTokens
const tailTokens = (session: Session, from: number) => ctx.tokenMeter.entryTokens(session).slice(from).reduce((sum, tokens) => sum + tokens, 0)

describe('pruning', () => {
  it('rewrites results over the threshold, and nothing else', () => {
    const session = drawn('s900 u900 cab10 ra900 rb100 a900 cc10 rc900 x900')
    pruner.prune(session, everything(session))
    expect(surfaceOf(session)).toBe('s900 u900 cab10 ra900~ rb100 a900 cc10 rc900~ x900')
    expectReplays(session)
  })

  it('begins with the oldest and ends where enough is saved', () => {
    const session = drawn('ca10 ra900 cb10 rb900 cc10 rc900')
    const { rewritten } = pruner.prune(session, { ...everything(session), enoughTokens: 800 })
    expect(rewritten.map(({ originalSeq }) => originalSeq)).toEqual([1, 3])
    expect(surfaceOf(session)).toBe('ca10 ra900~ cb10 rb900~ cc10 rc900')
  })

  it('leaves what stands at or behind the cut, and a step that is still open', () => {
    const session = drawn('ca10 ra900 cb10 rb900 cde10 rd900')
    pruner.prune(session, { before: 2 })
    expect(surfaceOf(session)).toBe('ca10 ra900~ cb10 rb900 cde10 rd900')
    pruner.prune(session, everything(session))
    expect(surfaceOf(session)).toBe('ca10 ra900~ cb10 rb900~ cde10 rd900')
  })

  it('keeps head and tail, and says how much is missing and which event holds it', () => {
    const session = drawn('ca10 ra900')
    const whole = textsOf(session)[1]!
    const { rewritten } = pruner.prune(session, everything(session))
    const seq = session.surface.entries[1]!
    expect(rewritten).toEqual([{ seq, replacedSeq: 1, originalSeq: 1, savedTokens: expect.any(Number) }])
    expect(textsOf(session)[1]).toBe(`${whole.slice(0, 400)}\n[… ${whole.length - 500} characters left out here; event 1 of the session log holds the whole text …]\n${whole.slice(-100)}`)
    expect(textOf(contentOf(session, 1))).toBe(whole)
  })

  it('keeps id, isError, error and meta', () => {
    const session = drawn('ca10')
    const content: ContentBlock[] = [{ type: 'text', text: 'x'.repeat(900) }]
    const data = { turn: 1, step: 1, callId: 'a', content, isError: true, error: { name: 'Error', code: 'E' }, meta: { exitCode: 1 } } as const
    session.append('tool/result', data, { surfaceOp: 'append' })
    pruner.prune(session, everything(session))
    const { content: _, ...kept } = data
    const event = session.log.at(session.surface.entries[1]!)
    expect(event).toMatchObject({ type: 'tool/result', data: kept, surfaceOp: { op: 'replace', start: 1, end: 1 }, sourceEventSeqs: [1] })
    expect(textOf(contentOf(session, event.seq))).toContain('400 characters left out')
  })

  it('stops at a rewrite that is refused, and keeps those before it', async () => {
    let refused = 0
    const sink: EventSink = {
      append(event) {
        if (event.surfaceOp !== 'append' && event.sourceEventSeqs?.includes(3)) {
          refused += 1
          throw new Error('vetoed')
        }
      },
      flush: async () => {},
    }
    const session = drawn('ca10 ra900 cb10 rb900 cc10 rc900', sink)
    const outcome = pruner.prune(session, everything(session))
    expect(outcome.refusal).toEqual(new Error('vetoed'))
    expect(outcome.rewritten).toHaveLength(1)
    expect(surfaceOf(session)).toBe('ca10 ra900~ cb10 rb900 cc10 rc900')
    expect(refused).toBe(1)
    expectReplays(session)
  })

  it('touches nothing where a view would save nothing', async () => {
    const { pruner: close } = await load({ thresholdChars: 800, headChars: 700, tailChars: 99 })
    const session = drawn('ca10 ra205')
    expect(close.prune(session, everything(session))).toEqual({ rewritten: [] })
  })
})

describe('shortening a tail', () => {
  it.each([
    ['the largest result first, to where it fits', 600, 'u100 cab10 ra200 rb900', 'u100 cab10 ra200 rb900~'],
    ['several to one level', 300, 'u50 cabc10 ra200 rb300 rc30', 'u50 cabc10 ra200~ rb300~ rc30'],
    ['nothing that fits', 2_000, 'u100 cab10 ra200 rb900', 'u100 cab10 ra200 rb900'],
    ['messages only where results are not enough', 700, 'u900 ca10 ra200', 'u900~ ca10 ra200'],
    ['a message before a result that is smaller', 400, 'ca10 ra150 u900', 'ca10 ra150 u900~'],
    ['answers only where messages are not enough', 600, 'a600 ca10 ra900 u900', 'a600~ ca10 ra900~ u900~'],
    ['never a checkpoint', 950, 's300 a300 u900', 's300 a300 u900~'],
    ['nothing where no view would make it fit', 350, 's300 ca10 ra900 u900', 's300 ca10 ra900 u900'],
  ])('%s', (_title, targetTokens, picture, expected) => {
    const session = drawn(picture)
    pruner.shorten(session, { from: 0, targetTokens })
    expect(surfaceOf(session)).toBe(expected)
    expectReplays(session)
  })

  it('keeps of an answer its reasoning, its calls, and their short arguments', () => {
    const session = drawn('u20')
    const answer = { turn: 1, step: 1, provider: 'p', model: 'm', finish: 'tool-calls', usage: { inputTokens: 1, outputTokens: 1 } } as const
    const long = 'export const one = 1\n'.repeat(1_000)
    const reasoning: ContentBlock = { type: 'reasoning', text: 'hm '.repeat(200) }
    const call = (id: string, args: object): ContentBlock => ({ type: 'tool-call', id, name: 'write', arguments: JSON.stringify(args) })
    const content = [reasoning, call('a', { path: 'src/one.ts', edits: [{ at: 1, text: long }] }), call('b', { path: 'src/two.ts' }), { type: 'tool-call', id: 'c', name: 'x', arguments: '{' } as const]
    const { seq } = session.append('assistant/message', { ...answer, content }, { surfaceOp: 'append' })
    for (const callId of 'abc') session.append('tool/result', { turn: 1, step: 1, callId, content: [{ type: 'text', text: 'ok' }] }, { surfaceOp: 'append' })
    const sizes = [2_000, 1_000].map(targetTokens => {
      expect(pruner.shorten(session, { from: 0, targetTokens }).rewritten).toMatchObject([{ originalSeq: seq }])
      const { data } = session.log.at(session.surface.entries[1]!) as SessionEvent<'assistant/message'>
      expect(data).toMatchObject({ ...answer, content: [reasoning, { id: 'a', name: 'write' }, content[2], content[3]] })
      const { path, edits: [edit] } = JSON.parse((data.content[1] as { arguments: string }).arguments)
      const [head, leftOut, tail] = /^([^]*)\n\[… (\d+) characters left out here; event 1 of .* …\]\n([^]*)$/.exec(edit.text)!.slice(1) as [string, string, string]
      expect([path, edit.at, long.startsWith(head), long.endsWith(tail)]).toEqual(['src/one.ts', 1, true, true])
      expect(head.length + Number(leftOut) + tail.length).toBe(long.length)
      return head.length
    })
    expect(sizes[0]).toBeGreaterThan(sizes[1]!)
    expectReplays(session)
  })

  it('leaves a step that is still open', () => {
    const session = drawn('u900 cab10 ra900')
    pruner.shorten(session, { from: 0, targetTokens: 1_300 })
    expect(surfaceOf(session)).toBe('u900~ cab10 ra900')
    expect(totalTokens(session)).toBeLessThanOrEqual(1_300)
  })

  it('leaves what stands before it', () => {
    const session = drawn('ca10 ra900 cb10 rb900')
    pruner.shorten(session, { from: 2, targetTokens: 300 })
    expect(surfaceOf(session)).toBe('ca10 ra900 cb10 rb900~')
  })

  it('keeps the source of a message, and takes as much of it as fits', () => {
    const session = drawn('u3000')
    pruner.shorten(session, { from: 0, targetTokens: 1_000 })
    const event = session.log.at(session.surface.entries[0]!)
    expect(event).toMatchObject({ type: 'user/message', data: { source: { kind: 'user' } }, surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] })
    expect(totalTokens(session)).toBeLessThanOrEqual(1_000)
    expect(totalTokens(session)).toBeGreaterThan(900)
  })

  it('again, and after a pruning, still names the event that was appended', () => {
    const session = drawn('ca10 ra3000')
    const whole = textsOf(session)[1]!
    for (const step of [
      () => pruner.shorten(session, { from: 0, targetTokens: 2_000 }),
      () => pruner.shorten(session, { from: 0, targetTokens: 1_000 }),
      () => pruner.prune(session, everything(session)),
    ]) expect(step().rewritten).toMatchObject([{ originalSeq: 1 }])
    expect(textsOf(session)[1]).toContain(`${whole.length - 500} characters left out here; event 1 of`)
    expect(textsOf(session)[1]!.match(/left out/g)).toHaveLength(1)
  })

  it('says so once, in one sentence', async () => {
    const { pruner: own, notices } = await load(SMALL)
    const session = drawn('cab10 ra900 rb900 u900')
    own.shorten(session, { from: 0, targetTokens: 500 })
    own.shorten(session, { from: 0, targetTokens: 500 })
    own.prune(session, everything(session))
    expect(notices).toEqual([expect.stringMatching(/^events 1, 2 and 3 are too large for the model's window and are shown to it by beginning and end; about \d+ tokens are left out, and the log keeps the whole$/)])
  })

  it('of messages that are about to be appended is foreseen', () => {
    const message = (tokens: number) => ({ role: 'user' as const, content: contentOf(drawn(`u${tokens}`), 0) })
    const messages = [message(100), message(3_000)]
    expect(pruner.preview(messages, 5_000)).toEqual(messages)
    const shortened = pruner.preview(messages, 1_000)
    expect(shortened[0]).toBe(messages[0])
    expect(shortened.reduce((sum, part) => sum + ctx.tokenMeter.estimateMessage(part), 0)).toBeLessThanOrEqual(1_000)
  })
})

/** A conversation of closed steps, sizes around every threshold. */
const pictures = fc.array(fc.oneof(
  fc.nat(400).map(tokens => `u${tokens + 5}`),
  fc.nat(200).map(tokens => `a${tokens + 5}`),
  fc.tuple(fc.nat(900), fc.nat(300)).map(([a, b]) => `cab10 rb${b + 5} ra${a + 5}`),
), { minLength: 1, maxLength: 8 }).map(words => words.join(' '))

describe('laws, over random conversations', () => {
  it('a pass that went through leaves nothing for the next, and saves what it says (500)', () => {
    fc.assert(fc.property(pictures, picture => {
      const session = drawn(picture)
      const before = totalTokens(session)
      const { rewritten } = pruner.prune(session, everything(session))
      expect(rewritten.every(({ savedTokens }) => savedTokens > 0)).toBe(true)
      expect(before - totalTokens(session)).toBe(rewritten.reduce((sum, { savedTokens }) => sum + savedTokens, 0))
      expect(pruner.prune(session, everything(session))).toEqual({ rewritten: [] })
      expectReplays(session)
    }), { seed: 4, numRuns: 500 })
  })

  it('a tail fits or stays as it was, and a second time nothing happens (1,000)', () => {
    let shortened = 0
    fc.assert(fc.property(pictures, fc.nat(1_500), fc.nat(3), (picture, targetTokens, start) => {
      const session = drawn(picture)
      const from = Math.min(start, session.surface.entries.length)
      const { log } = session
      const before = [...session.surface.entries]
      const { rewritten } = pruner.shorten(session, { from, targetTokens })
      shortened += rewritten.length
      if (rewritten.length > 0) expect(tailTokens(session, from)).toBeLessThanOrEqual(targetTokens)
      else expect(session.surface.entries).toEqual(before)
      expect(session.surface.entries.slice(0, from)).toEqual(before.slice(0, from))
      const untouched = (seq: number) => !rewritten.some(({ replacedSeq }) => replacedSeq === seq)
      for (const { replacedSeq } of rewritten) {
        const cut = log.at(replacedSeq) as SessionEvent<'tool/result' | 'user/message'>
        const size = ctx.tokenMeter.estimateMessage({ role: 'user', content: cut.data.content })
        for (const seq of before.slice(from)) {
          const other = log.at(seq) as typeof cut
          if (other.type !== cut.type || !untouched(seq)) continue
          expect(ctx.tokenMeter.estimateMessage({ role: 'user', content: other.data.content })).toBeLessThanOrEqual(size + 1)
        }
      }
      expect(pruner.shorten(session, { from, targetTokens })).toEqual({ rewritten: [] })
      expectReplays(session)
    }), { seed: 5, numRuns: 1_000 })
    expect(shortened).toBeGreaterThan(300)
  })
})
