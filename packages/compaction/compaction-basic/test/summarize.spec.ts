/**
 * The ladder: in which form a model is asked, how often, and what is done with what it says.
 */
import { LlmError, LlmService, ScriptedAdapter, textOf, type GenerateOptions, type LlmFailureCode, type RetryPolicy, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { Context } from '@deepseek-ai/cordis'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import type { DigestEntry } from '../src/digest.ts'
import { acceptedText, climbLadder, summarizeByDigest, UnusableSummaryError, type Rung, type Summary, type SummaryInput } from '../src/summarize.ts'
import { rejection, sized, SUMMARY } from './harness.ts'

const meter = tokenMeter({ charsPerToken: 4 })
const estimateText = (text: string): number => meter.estimateMessage({ role: 'user', content: [{ type: 'text', text }] })

/** So many messages of 500 tokens. */
function entriesOf(count: number): DigestEntry[] {
  return Array.from({ length: count }, (_, seq) => ({ seq, from: 'person', message: { role: 'user', content: [{ type: 'text', text: sized(`message ${seq}`, 500) }] } }))
}

interface Asked {
  readonly summary: Promise<Summary>
  readonly requests: GenerateOptions[]
  readonly calls: { left: number }
  /** What was told of each rung. */
  readonly rungs: readonly string[]
}

async function ask(reply: ScriptedReply, init: Partial<SummaryInput> & { readonly count?: number; readonly signal?: AbortSignal; readonly nobody?: true; readonly retry?: RetryPolicy } = {}): Promise<Asked> {
  const { count = 4, signal, nobody, retry = { maxRetries: 1, maxElapsedMs: 30_000, firstWaitMs: 0 }, ...rest } = init
  const ctx = new Context()
  await ctx.plugin(LlmService)
  const requests: GenerateOptions[] = []
  ctx.llm.registerAdapter(new ScriptedAdapter({
    replies: options => {
      requests.push(options)
      return reply
    },
  }))
  const entries = entriesOf(count)
  const calls = { left: 2 }
  const input: SummaryInput = {
    messages: entries.map(({ message }) => message), entries, spanTokens: 500 * count, messageTokens: 500 * count, maxTokens: 1_000,
    ...(nobody ? {} : { route: { provider: 'scripted', model: 'm' } }), isPrefix: true, calls, isLastResort: false, ...rest,
  }
  const rungs: string[] = []
  const onRung = ({ strategy, outcome }: Rung): void => void rungs.push(`${strategy}: ${outcome}`)
  const summary = climbLadder({ llm: ctx.llm, meter, estimateText, sessionId: 's', idleMs: 60_000, retry, onRung, ...(signal && { signal }) }, input)
  summary.catch(() => {})
  return { summary, requests, calls, rungs }
}

const failure = (code: LlmFailureCode): ScriptedReply => ({ failure: { code, message: code } })
const isReplay = ({ messages }: GenerateOptions): boolean => messages.length > 1

describe('the form of asking', () => {
  it('is the prefix where the span is one and fits', async () => {
    const { summary, requests, calls, rungs } = await ask(SUMMARY)
    expect(await summary).toMatchObject({ strategy: 'replay', llmStreamCall: true })
    expect(rungs).toEqual(['replay: answered'])
    expect(requests.map(isReplay)).toEqual([true])
    expect(calls.left).toBe(1)
  })

  it.each<[string, Partial<SummaryInput>]>([
    ['the span is no prefix', { isPrefix: false }],
    ['the prefix does not fit the window', { windowTokens: 3_200 }],
  ])('is a transcript where %s', async (_title, init) => {
    const { summary, requests, calls, rungs } = await ask(SUMMARY, init)
    expect(await summary).toMatchObject({ strategy: 'transcript' })
    expect(rungs).toEqual([expect.stringMatching(/^replay: .*(not the head|exceed the window)/), 'transcript: answered'])
    expect(requests.every(request => !isReplay(request))).toBe(true)
    expect(calls.left).toBe(1)
  })

  it.each<[string, ScriptedReply]>([
    ['says nothing', ''],
    ['says blanks', ' '],
    ['calls tools only', { content: [{ type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }] }],
    ['reasons only', { content: [{ type: 'reasoning', text: 'Hm.' }] }],
    ['finds the request too long', failure('CONTEXT_WINDOW_EXCEEDED')],
    ['finds the request too large', failure('REQUEST_TOO_LARGE')],
  ])('changes to a transcript where the model %s, and no single call is said to have made the summary', async (_title, first) => {
    const { summary, requests, calls, rungs } = await ask((_options, index) => (index === 0 ? first : SUMMARY))
    const made = await summary
    expect(made).toMatchObject({ strategy: 'transcript', rawOutput: [{ type: 'text', text: SUMMARY }] })
    expect(made).not.toHaveProperty('llmStreamCall')
    expect(requests.map(isReplay)).toEqual([true, false])
    expect(rungs.map(rung => rung.split(':')[0])).toEqual(['replay', 'transcript'])
    expect(calls.left).toBe(0)
  })

  it.each<[string, ScriptedReply]>([
    ['refuses the request', failure('INVALID_REQUEST')],
    ['is cut off', { content: [{ type: 'text', text: SUMMARY }], finish: 'max-tokens' }],
    ['refuses in a few words', 'No.'],
  ])('does not change where the model %s', async (_title, first) => {
    const { summary, requests } = await ask((_options, index) => (index === 0 ? first : SUMMARY))
    await rejection(summary)
    expect(requests).toHaveLength(1)
  })

  it('does not change without a call left', async () => {
    const { summary, requests, rungs } = await ask('', { calls: { left: 1 } })
    expect(await rejection(summary)).toBeInstanceOf(LlmError)
    expect(rungs.at(-1)).toBe('transcript: no model call is left')
    expect(requests).toHaveLength(1)
  })

  it('needs somebody to ask', async () => {
    const { summary, requests } = await ask(SUMMARY, { nobody: true })
    expect(await rejection(summary)).toMatchObject({ message: expect.stringContaining('summarizationProvider and summarizationModel') })
    expect(requests).toEqual([])
  })
})

describe('a request that failed for a passing reason', () => {
  const once = (first: ScriptedReply): ScriptedReply => (_options, index) => (index === 0 ? first : SUMMARY)

  it.each<LlmFailureCode>(['RATE_LIMIT', 'SERVER', 'TIMEOUT', 'TRANSPORT'])('%s is sent again as it was, on the same rung and of the same call', async code => {
    const { summary, requests, calls, rungs } = await ask(once(failure(code)))
    const made = await summary
    expect(made).toMatchObject({ strategy: 'replay' })
    expect(made).not.toHaveProperty('llmStreamCall') // two calls made it
    expect(requests).toHaveLength(2)
    expect({ ...requests[1], signal: null }).toEqual({ ...requests[0], signal: null })
    expect(rungs).toEqual(['replay: answered'])
    expect(calls.left).toBe(1)
  })

  it('is sent twice at most, each one of a folded transcript', async () => {
    const down = await ask(failure('SERVER'))
    expect(await rejection(down.summary)).toMatchObject({ failure: { code: 'SERVER' } })
    expect(down.requests).toHaveLength(2)
    const { summary, requests } = await ask((_options, index) => (index % 2 === 0 ? failure('SERVER') : SUMMARY), { isPrefix: false, count: 12, windowTokens: 5_000 })
    await summary
    expect(requests.length).toBeGreaterThan(2)
    expect(requests.length % 2).toBe(0)
  })

  it.each<[string, RetryPolicy, ScriptedReply]>([
    ['its time is up', { maxRetries: 1, maxElapsedMs: 0, firstWaitMs: 1 }, failure('SERVER')],
    ['the provider asks for more than that', { maxRetries: 1, maxElapsedMs: 30_000, firstWaitMs: 0 }, { failure: { code: 'RATE_LIMIT', message: 'slow down', retryAfterMs: 30_001 } }],
  ])('is given up where %s', async (_title, retry, first) => {
    const { summary, requests } = await ask(once(first), { retry })
    await rejection(summary)
    expect(requests).toHaveLength(1)
  })

  it('is not sent again once aborted: the wait ends at once, with the reason', async () => {
    const controller = new AbortController()
    const { summary, requests, rungs } = await ask(() => { setImmediate(() => controller.abort('stop')); return failure('SERVER') }, {
      retry: { maxRetries: 1, maxElapsedMs: 300_000, firstWaitMs: 200_000 }, signal: controller.signal, isLastResort: true,
    })
    expect(await rejection(summary)).toBe('stop')
    expect(requests).toHaveLength(1)
    expect(rungs).toEqual([])
  })
})

describe('a transcript that does not fit', () => {
  const transcript = { isPrefix: false } as const
  const textOfRequest = ({ messages }: GenerateOptions) => textOf(messages[0]!.content)

  it('is folded: each request is the summary so far and the next chunk', async () => {
    const { summary, requests, calls } = await ask((_options, index) => `## Part ${index}\n${'SUM '.repeat(40)}`, { ...transcript, count: 12, windowTokens: 5_000 })
    const made = await summary
    expect(made.summary).toEqual([{ type: 'text', text: expect.stringContaining(`## Part ${requests.length - 1}`) }])
    expect(made).not.toHaveProperty('llmStreamCall')
    expect(requests.length).toBeGreaterThan(1)
    expect(calls.left).toBe(1) // all of them are one
    requests.forEach((request, index) => {
      const text = textOfRequest(request)
      expect(estimateText(text)).toBeLessThanOrEqual(5_000)
      expect(text.includes(`checkpoint:\n  ## Part ${index - 1}`)).toBe(index > 0)
    })
    // Every message stands in exactly one request.
    for (const seq of Array.from({ length: 12 }, (_, n) => n)) {
      expect(requests.filter(request => textOfRequest(request).includes(`message ${seq} `))).toHaveLength(1)
    }
  })

  it('of more than eight chunks begins with a digest of the oldest', async () => {
    const { summary, requests } = await ask(SUMMARY, { ...transcript, count: 40, windowTokens: 3_000 })
    await summary
    expect(requests).toHaveLength(8)
    const first = textOfRequest(requests[0]!)
    expect(first).toMatch(/^The conversation, as a transcript:\n\ncheckpoint:\n {2}/)
    expect(first).toContain('message 31 ')
    expect(textOfRequest(requests[7]!)).toContain('message 39 ')
  })

  it('is halved where the window was guessed too large, three times at most, in eight requests at most', async () => {
    for (const limit of [9_000, 4_000, 2_500, 10]) {
      const refuse = (options: GenerateOptions): ScriptedReply => (estimateText(textOfRequest(options)) > limit ? failure('CONTEXT_WINDOW_EXCEEDED') : SUMMARY)
      const { summary, requests } = await ask(refuse, { ...transcript, count: 24, windowTokens: 60_000, maxTokens: 300 })
      if (limit > 10) expect(await summary).toMatchObject({ strategy: 'transcript' })
      else {
        expect(await rejection(summary)).toBeInstanceOf(LlmError)
        expect(requests).toHaveLength(4)
      }
      expect(requests.length).toBeLessThanOrEqual(8)
    }
  })

  it('still says something about the conversation where the window is hardly larger than the summary', async () => {
    const { summary, requests } = await ask(SUMMARY, { ...transcript, count: 4, windowTokens: 2_000, maxTokens: 4_000 })
    await summary
    for (const request of requests) expect(textOfRequest(request)).toContain('lorem ipsum')
  })

  it('that is empty is nothing to summarize', async () => {
    const { summary, requests } = await ask(SUMMARY, { ...transcript, entries: [] })
    expect(await rejection(summary)).toBeInstanceOf(UnusableSummaryError)
    expect(requests).toEqual([])
  })
})

describe('the last resort', () => {
  it('is a digest, whatever went wrong', async () => {
    for (const reply of ['', failure('SERVER'), 'No.'] as const) {
      const { summary, rungs } = await ask(reply, { isLastResort: true })
      expect(await summary).toMatchObject({ strategy: 'digest', summary: [{ type: 'text', text: expect.stringContaining('message 3') }] })
      expect(await summary).not.toHaveProperty('provider')
      expect(rungs.at(-1)).toBe('digest: answered')
    }
  })

  it('is none once aborted', async () => {
    const controller = new AbortController()
    const { summary, rungs } = await ask(() => { controller.abort('stop'); return '' }, { isLastResort: true, signal: controller.signal })
    expect(await rejection(summary)).toBe('stop')
    expect(rungs).toEqual([])
  })

  it('takes a quarter of what it stands for, and no more than was asked for', () => {
    const entries = entriesOf(20)
    const input = { messages: [], entries, spanTokens: 10_000, messageTokens: 10_000, isPrefix: false, calls: { left: 0 }, isLastResort: true }
    for (const [maxTokens, limit] of [[8_000, 2_500], [900, 900]] as const) {
      const tokens = estimateText(textOf(summarizeByDigest({ ...input, maxTokens }, estimateText).summary))
      expect(tokens).toBeLessThanOrEqual(limit)
      expect(tokens).toBeGreaterThan(limit / 2)
    }
  })
})

describe('acceptedText', () => {
  const text = (...texts: string[]) => texts.map(part => ({ type: 'text', text: part }) as const)
  const accepted = (content: Parameters<typeof acceptedText>[0]['content'], finish: Parameters<typeof acceptedText>[0]['finish'] = 'stop', spanTokens = 5_000) => acceptedText({ content, finish }, spanTokens, estimateText)

  it('joins and trims the text', () => {
    expect(accepted(text(' \n## A\n', 'b '))).toBe('## A\nb')
    expect(accepted(text('## A'), 'tool-calls')).toBe('## A')
  })

  it.each([
    ['a few words about much', 'It went well.', 1_001, false],
    ['a few words about little', 'It went well.', 1_000, true],
    ['a heading about much', '## Nothing', 5_000, true],
    ['a heading further down', 'So:\n# Nothing', 5_000, true],
    ['a sharp that heads nothing', 'It is #1.', 5_000, false],
    ['enough words about much', 'word '.repeat(30), 5_000, true],
  ])('%s', (_title, reply, spanTokens, isAccepted) => {
    if (isAccepted) expect(accepted(text(reply), 'stop', spanTokens)).toBe(reply.trim())
    else expect(() => accepted(text(reply), 'stop', spanTokens)).toThrow(UnusableSummaryError)
  })
})
