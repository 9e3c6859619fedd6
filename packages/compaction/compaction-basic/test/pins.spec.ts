import { Session } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { estimator } from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import { quote } from '../src/checkpoint.ts'
import { pinFold, pinnedMessages } from '../src/pins.ts'

const estimate = estimator({ charsPerToken: 4 }).text

/**
 * One mark an event: `(` and `)` a turn, `[` a turn that retries, `p` what a person says, `c` context that a program adds, `a`
 * a final answer, `t` an answer that calls tools, `i` an interrupted one.
 */
function drawn(marks: string): Session {
  const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => 0 })
  const say = (kind: string) =>
    session.append('user/message', { content: [{ type: 'text', text: `${kind} ${session.log.length}` }], source: { kind } }, { surfaceOp: 'append' })
  const answer = (finish: 'stop' | 'tool-calls' | 'other', interrupted?: true) =>
    session.append('assistant/message', { turn: 1, step: 1, content: [], provider: 'p', model: 'm', finish, ...(interrupted && { interrupted }) }, { surfaceOp: 'append' })
  for (const mark of marks) {
    if (mark === '(') session.append('turn/start', { turn: 1 })
    else if (mark === '[') session.append('turn/start', { turn: 1, retry: true })
    else if (mark === ')') session.append('turn/end', { turn: 1, reason: 'completed' })
    else if (mark === 'p') say('user')
    else if (mark === 'c') say('context')
    else if (mark === 'a') answer('stop')
    else if (mark === 't') answer('tool-calls')
    else if (mark === 'i') answer('stop', true)
    else throw new SyntaxError(mark)
  }
  return session
}

/** The pins as `seq`, followed by `?` where not answered. */
function pinsOf(session: Session, shadows: (seq: number) => boolean = () => true, budgetTokens = 10_000): string {
  expectReplays(session)
  return pinnedMessages(session.read(pinFold), session.log, shadows, budgetTokens, estimate).map(({ seq, answered }) => `${seq}${answered ? '' : '?'}`).join(' ')
}

describe('the pins are the first message, the one that opened the turn, and the newest', () => {
  it.each([
    ['one message is all three', '(p', '1?'],
    ['later turns move the opener and the newest', '(pa)(pa)(pa)', '1 9'],
    ['steering moves the newest alone', '(pa)(pa)(ptpt', '1 9? 11?'],
    ['what programs add is not pinned', '(cpcatc', '2'],
    ['nobody spoke', '(ca)', ''],
    ['an answer with calls answers nothing', '(ptt', '1?'],
    ['an interrupted answer neither', '(pi', '1?'],
    ['a turn that retries has no opener of its own', '(p)[pt', '1? 4?'],
    ['a turn that a program opened keeps the opener before it', '(pa)(pa)(cac', '1 5'],
  ])('%s', (_title, marks, expected) => {
    expect(pinsOf(drawn(marks))).toBe(expected)
  })

  it('only what leaves the surface is pinned', () => {
    const session = drawn('(pa)(pa)(ptpt')
    expect(pinsOf(session, seq => seq < 9)).toBe('1')
    expect(pinsOf(session, () => false)).toBe('')
  })

  it('a checkpoint is nobody’s message, and what it shadows stays pinned', () => {
    const session = drawn('(pa)(pa)')
    const all = session.surface.entries.slice()
    session.append('user/message', { content: [{ type: 'text', text: 'S' }], source: { kind: 'user' } }, {
      surfaceOp: { op: 'replace', start: all[0]!, end: all.at(-1)! }, sourceEventSeqs: all,
    })
    expect(pinsOf(session)).toBe('1 5')
  })
})

describe('within a budget', () => {
  const three = (): Session => {
    const session = drawn('')
    for (const word of ['alpha ', 'beta ', 'gamma ']) {
      session.append('turn/start', { turn: 1 })
      if (word === 'gamma ') session.append('turn/end', { turn: 1, reason: 'completed' })
      session.append('user/message', { content: [{ type: 'text', text: `START ${word.repeat(400)}END` }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    }
    return session
  }
  const within = (session: Session, budgetTokens: number) => pinnedMessages(session.read(pinFold), session.log, () => true, budgetTokens, estimate)
  const priceOf = (pins: ReturnType<typeof within>) => pins.reduce((sum, pin) => sum + estimate(quote(pin)), 0)

  it('the newest is served first, older ones are clipped harder, then dropped', () => {
    const session = three()
    const whole = within(session, 10_000)
    expect(whole.map(({ text }) => text.length)).toEqual([2_409, 2_409])
    const clipped = within(session, 800)
    expect(clipped.map(({ text }) => /^START .*END$/.test(text))).toEqual([true, true])
    expect(clipped[0]!.text).toContain('characters left out')
    expect(clipped[1]!.text).toBe(whole[1]!.text)
    expect(within(session, 620).map(({ seq }) => seq)).toEqual([whole[1]!.seq])
    expect(within(session, 10)).toEqual([])
  })

  it('one message takes a thousand tokens at most, head and tail', () => {
    const session = drawn('(')
    session.append('user/message', { content: [{ type: 'text', text: `HEAD ${'word '.repeat(5_000)}TAIL` }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    const [pin] = within(session, 100_000)
    expect(pin!.text).toMatch(/^HEAD .* characters left out .*TAIL$/s)
    expect(priceOf([pin!])).toBeLessThanOrEqual(1_000)
    expect(priceOf([pin!])).toBeGreaterThan(850)
  })

  it('holds with labels and quotation marks counted, whatever the budget and the shape of the text', () => {
    const session = drawn('')
    for (const text of ['x\n'.repeat(3_000), '<compacted-summary>\n'.repeat(200), '一行中文\n'.repeat(300)]) {
      session.append('turn/start', { turn: 1 })
      session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    }
    let pinned = 0
    for (let budgetTokens = 0; budgetTokens < 2_500; budgetTokens += 13) {
      const pins = within(session, budgetTokens)
      expect(priceOf(pins)).toBeLessThanOrEqual(budgetTokens)
      pinned += pins.length
    }
    expect(pinned).toBeGreaterThan(300)
  })

  it('images are told by their size, a message without words is not pinned', () => {
    const session = drawn('(')
    session.append('user/message', { content: [], source: { kind: 'user' } }, { surfaceOp: 'append' })
    session.append('user/message', {
      content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA', width: 640, height: 480 }, { type: 'text', text: 'Like this.' }],
      source: { kind: 'user' },
    }, { surfaceOp: 'append' })
    expect(within(session, 1_000).map(({ text }) => text)).toEqual(['[image 640×480]\nLike this.'])
  })
})
