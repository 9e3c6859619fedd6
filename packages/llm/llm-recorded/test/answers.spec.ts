import { Context } from '@deepseek-ai/cordis'
import Llm, { BlockAssembler, collect, failureOf, naturalFinish, NOT_SENT } from '@deepseek-ai/dsh-llm'
import type { ContentBlock, LlmFailure } from '@deepseek-ai/dsh-llm'
import { Session } from '@deepseek-ai/dsh-session'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RecordedAdapter } from '../src/adapter.ts'
import { answersFromLog } from '../src/answers.ts'
import type { RecordedAnswer } from '../src/answers.ts'

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const session = () => new Session({ header: { id: 's', createdAt: 0 }, now: () => 0 })
const failure: LlmFailure = { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long', status: 400, limitTokens: 100 }

/** Log one turn of one step whose request ended so. */
function turn(log: Session, n: number, outcome: RecordedAnswer): void {
  const at = { turn: n, step: 1 }
  const surface = { surfaceOp: 'append' as const }
  log.append('turn/start', { turn: n })
  log.append('user/message', { content: [text('go on')], source: { kind: 'user' } }, surface)
  log.append('step/start', at)
  if ('content' in outcome && outcome.content.length > 0) {
    const finish = 'finish' in outcome ? outcome.finish : naturalFinish(outcome.content)
    log.append('assistant/message', {
      ...at, content: outcome.content, provider: 'p', model: 'm', finish: finish ?? 'stop',
      ...('usage' in outcome && { usage: outcome.usage }), ...('interrupted' in outcome && { interrupted: true as const }),
    }, surface)
  }
  log.append('step/end', at)
  if ('failure' in outcome) log.append('turn/end', { turn: n, reason: 'error', failure: outcome.failure })
  else if ('interrupted' in outcome) log.append('turn/end', { turn: n, reason: 'aborted', by: 'user' })
  else log.append('turn/end', { turn: n, reason: 'completed' })
}

const said = fc.array(fc.string({ minLength: 1, maxLength: 20 }).map(text), { minLength: 1, maxLength: 3 })
const usage = fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat() })
const outcomes: fc.Arbitrary<RecordedAnswer> = fc.oneof(
  fc.record({ content: said, finish: fc.constantFrom('stop' as const, 'max-tokens' as const), usage }),
  fc.record({ content: fc.oneof(said, fc.constant([])), interrupted: fc.constant(true as const) }),
  fc.record({ failure: fc.record({ code: fc.constantFrom('RATE_LIMIT' as const, 'UNKNOWN' as const), message: fc.string() }) }),
)

it('a logged conversation, asked again, ends every request as it ended then', async () => {
  const ctx = new Context()
  await ctx.plugin(Llm)
  await fc.assert(fc.asyncProperty(fc.array(outcomes, { maxLength: 8 }), async (recorded) => {
    const log = session()
    for (const [i, outcome] of recorded.entries()) turn(log, i + 1, outcome)
    const derived = answersFromLog(log.log.from(0))
    expect(derived).toEqual({ answers: recorded, summaries: [] })

    const unregister = ctx.llm.registerAdapter(new RecordedAdapter({ model: 'm', ...derived }))
    const again: RecordedAnswer[] = []
    for (let i = 0; i < recorded.length; i++) again.push(await asked(ctx))
    unregister()
    expect(again).toEqual(recorded)
  }), { seed: 20_250_102, numRuns: 300 })
  await ctx.fiber.dispose()
})

/** Ask once, cancelling when nothing more comes. */
async function asked(ctx: Context): Promise<RecordedAnswer> {
  const controller = new AbortController()
  const { signal } = controller
  const assembler = new BlockAssembler()
  const request = collect(ctx.llm.stream({ provider: 'recorded', model: 'm', messages: [], signal }), { signal, assembler })
  setImmediate(() => controller.abort())
  try {
    const { content, finish, usage: counted } = await request
    return { content, finish, ...(counted && { usage: counted }) }
  } catch (error) {
    if (signal.aborted) return { content: assembler.interrupted(), interrupted: true }
    return { failure: failureOf(error) }
  }
}

it('takes a turn that failed after an answer, without a model, or before anything was sent, for no answer', () => {
  const log = session()
  log.append('turn/start', { turn: 1 })
  log.append('step/start', { turn: 1, step: 1 })
  log.append('assistant/message', { turn: 1, step: 1, content: [text('hi')], provider: 'p', model: 'm', finish: 'stop' }, { surfaceOp: 'append' })
  log.append('step/end', { turn: 1, step: 1 })
  log.append('turn/end', { turn: 1, reason: 'error', failure })
  turn(log, 2, { failure: { code: 'NO_ADAPTER', message: 'nobody' } })
  turn(log, 3, { failure: { ...failure, message: `${NOT_SENT}too long` } })
  log.append('turn/start', { turn: 4 })
  log.append('turn/end', { turn: 4, reason: 'error', failure })
  expect(answersFromLog(log.log.from(0)).answers).toEqual([{ content: [text('hi')], finish: 'stop' }])
})

it('takes a rewritten answer for no answer', () => {
  const log = session()
  turn(log, 1, { content: [text('long')], finish: 'stop' })
  log.append('assistant/message', { turn: 1, step: 1, content: [text('short')], provider: 'p', model: 'm', finish: 'stop' },
    { surfaceOp: { op: 'replace', start: 3, end: 3 }, sourceEventSeqs: [3] })
  expect(answersFromLog(log.log.from(0)).answers).toEqual([{ content: [text('long')], finish: 'stop' }])
})

/** The vocabulary of compaction belongs to a package that this one does not know. */
const summary = (data: object): SessionEvent => ({ seq: 7, time: 0, type: 'compaction/summary', data } as unknown as SessionEvent)

it('gives a summary only where the log proves that one call of the model service made it', () => {
  const rawOutput = [{ type: 'reasoning', text: 'hm' }, text('## Goal')]
  const made = summary({ startSeq: 6, summary: [text('## Goal')], rawOutput, llmStreamCall: true, usage: { inputTokens: 1, outputTokens: 2 } })
  const assembled = summary({ startSeq: 6, summary: [text('digest')], rawOutput: [text('digest')] })
  expect(answersFromLog([made, assembled])).toEqual({
    answers: [],
    summaries: [{ content: rawOutput, finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } }],
  })
})

it('refuses a summary that claims a call and holds no reply', () => {
  expect(() => answersFromLog([summary({ startSeq: 6, llmStreamCall: true })]))
    .toThrow('compaction/summary 7 claims a model call but holds no rawOutput')
})
