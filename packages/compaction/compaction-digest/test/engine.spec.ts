import { Context } from '@deepseek-ai/cordis'
import AgentService, { type Agent } from '@deepseek-ai/dsh-agent'
import { unframe } from '@deepseek-ai/dsh-compaction-basic'
import LlmService, { ScriptedAdapter, textOf } from '@deepseek-ai/dsh-llm'
import { openTurn, Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { expect, it } from 'vitest'
import { DigestCompactionEngine } from '../src/index.ts'

const never = new AbortController().signal

/** An agent at rest in front of a model that answers nothing, and knows its window all the same. */
async function resting(options = {}): Promise<{ ctx: Context; session: Session; agent: Agent; model: ScriptedAdapter }> {
  const ctx = new Context()
  await ctx.plugin(LlmService)
  await ctx.plugin(TokenMeterService, { charsPerToken: 4 })
  for (const plugin of [AgentService, DigestCompactionEngine]) await ctx.plugin(plugin)
  const model = new ScriptedAdapter({ replies: [], models: { m: { contextWindow: 10_000 } } })
  ctx.llm.registerAdapter(model)
  const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => 0 })
  return { ctx, session, agent: ctx.agents.create(session, options), model }
}

/** One turn that runs commands until the window is nearly full. */
function work(session: Session, request: string, steps: number): void {
  const turn = session.log.length === 0 ? 1 : 2
  if (openTurn(session) !== null) session.append('turn/end', { turn: turn - 1, reason: 'completed' })
  session.append('turn/start', { turn })
  session.append('user/message', { content: [{ type: 'text', text: request }], source: { kind: 'user' } }, { surfaceOp: 'append' })
  for (let step = 1; step <= steps; step++) {
    session.append('step/start', { turn, step })
    if (turn === 1 && step === 1) session.append('request/header', { config: { provider: 'scripted', model: 'm' }, reason: 'initial' })
    session.append('assistant/message', {
      turn, step, provider: 'scripted', model: 'm', finish: 'tool-calls',
      content: [{ type: 'text', text: `Step ${step}.` }, { type: 'tool-call', id: 'c', name: 'bash', arguments: JSON.stringify({ command: `npm test -- part-${step}` }) }],
    }, { surfaceOp: 'append' })
    session.append('tool/result', { turn, step, callId: 'c', content: [{ type: 'text', text: `${'ok '.repeat(700)}\npart-${step} passed` }] }, { surfaceOp: 'append' })
    session.append('step/end', { turn, step })
  }
}

const checkpointOf = (session: Session): string => textOf(session.deriveMessages()[0]!.content)
const summaryOf = (session: Session) => [...session.log.from(0)].findLast((event): event is SessionEvent<'compaction/summary'> => event.type === 'compaction/summary')!.data

it('compacts under pressure without asking any model', async () => {
  const { ctx, session, agent, model } = await resting()
  work(session, 'Make the tests pass. Never touch vendor/.', 16)
  const result = await ctx.compaction.compactIfNeeded(agent, 'pressure', never)
  expect(result).toMatchObject({ converged: true })
  expect(model.requests).toEqual([])
  expect(summaryOf(session)).toMatchObject({ strategy: 'digest' })
  for (const key of ['llmStreamCall', 'rawOutput', 'provider', 'model', 'usage']) expect(summaryOf(session)).not.toHaveProperty(key)
  const summary = unframe(checkpointOf(session))!
  expect(summary).toContain('Make the tests pass. Never touch vendor/.')
  expect(summary).toContain('npm test -- part-1')
  expect(summary).toContain('part-1 passed')
  expectReplays(session)
})

it('merges the digest before it, so that what was asked first is still known after the fifth', async () => {
  const { ctx, session, agent } = await resting()
  work(session, 'Make the tests pass. Never touch vendor/.', 16)
  for (let round = 1; round <= 5; round++) {
    expect(await ctx.compaction.compactNow(agent, never)).not.toBe(null)
    expect(checkpointOf(session).split('<compacted-summary>')).toHaveLength(2)
    expect(unframe(checkpointOf(session))).toContain('Make the tests pass. Never touch vendor/.')
    for (let step = 1; step <= 6; step++) {
      session.append('user/message', { content: [{ type: 'text', text: `note ${round}.${step} ${'word '.repeat(300)}` }], source: { kind: 'context' } }, { surfaceOp: 'append' })
    }
  }
  expectReplays(session)
})

it('takes a quarter of what it stands for at most', async () => {
  const { ctx, session, agent } = await resting()
  work(session, `Read this first: ${'a long and winding story. '.repeat(800)}`, 6)
  const result = await ctx.compaction.compactNow(agent, never)
  const summaryTokens = ctx.tokenMeter.estimateMessage({ role: 'user', content: result!.summary })
  expect(summaryTokens).toBeLessThanOrEqual(result!.shadowedTokens / 4)
  expectReplays(session)
})

it('needs neither a routed request nor a model of the agent', async () => {
  const { ctx, session, agent } = await resting()
  session.append('turn/start', { turn: 1 })
  for (const text of ['Make the tests pass.', 'word '.repeat(2_000), 'Go on.']) {
    session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' })
  }
  session.append('turn/end', { turn: 1, reason: 'interrupted' })
  expect(await ctx.compaction.compactNow(agent, never)).not.toBe(null)
  expect(unframe(checkpointOf(session))).toContain('Make the tests pass.')
  expectReplays(session)
})

it('takes the same config as the engine it extends', async () => {
  const ctx = new Context()
  await ctx.plugin(LlmService)
  await ctx.plugin(TokenMeterService)
  await expect((async () => ctx.plugin(DigestCompactionEngine, { thresholdRatio: 7 }))()).rejects.toThrow('thresholdRatio')
  await ctx.plugin(DigestCompactionEngine, { thresholdRatio: 0.5 })
  expect(ctx.compaction).toBeInstanceOf(DigestCompactionEngine)
})
