/**
 * Random runs: whatever happens at whatever moment, the log stays whole and no input is lost or doubled.
 *
 * A script is what the model answers, in order, and what somebody does at each moment at which anybody can: before a turn, in
 * each waterfall, at each chunk, in each tool. Method: 500 scripts from a fixed seed, judged by every invariant, by replay, by
 * deriving each request from the log before it, and by counting every accepted input.
 */
import { pendingInput, type Agent } from '@deepseek-ai/dsh-agent'
import type { ContentBlock, GenerateOptions } from '@deepseek-ai/dsh-llm'
import { checkLog, latestHeader, Session, sessionInvariant, type SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { loopInvariant } from '@deepseek-ai/dsh-agent-loop'
import { toolsInvariant } from '@deepseek-ai/dsh-tools'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { harness, story, tool } from './harness.ts'

const actions = ['send', 'steer', 'inject', 'cancel', 'withdraw', 'reject', 'throw', 'wake'] as const
type Action = (typeof actions)[number] | 'nothing'

const action: fc.Arbitrary<Action> = fc.oneof({ weight: 6, arbitrary: fc.constant('nothing' as const) }, { weight: 4, arbitrary: fc.constantFrom(...actions) })
const toolName = fc.constantFrom('read', 'write', 'fail', 'nowhere')
const answer = fc.oneof(
  { weight: 5, arbitrary: fc.record({ called: fc.array(toolName, { minLength: 1, maxLength: 4 }), text: fc.boolean(), cutOff: fc.constant(false) }) },
  { weight: 2, arbitrary: fc.record({ called: fc.constant([]), text: fc.constant(true), cutOff: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ called: fc.array(toolName, { maxLength: 2 }), text: fc.boolean(), cutOff: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ retry: fc.boolean() }) },
)
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never

interface Script {
  readonly moments: readonly Action[]
  readonly answers: readonly Answer[]
}
const script: fc.Arbitrary<Script> = fc.record({
  moments: fc.array(action, { maxLength: 60, size: 'max' }),
  answers: fc.array(answer, { maxLength: 12, size: 'max' }),
})

it('keeps turns and steps whole, calls answered, requests derivable, and every input entered once, withdrawn, or waiting', async () => {
  let moments: Action[] = []
  let answers: Answer[] = []
  let agent!: Agent
  let accepted: string[] = []
  const seen = new Map<Action, number>()
  let retries = 0
  /** Requests, and how long the log was when each was sent. */
  let sent: { readonly request: GenerateOptions; readonly length: number }[] = []

  /** Lets the script act; true when it wants the listener to misbehave as named. */
  const moment = (...misbehaviours: Action[]): Action => {
    const next = moments.shift() ?? 'nothing'
    seen.set(next, (seen.get(next) ?? 0) + 1)
    if (next === 'send' || next === 'steer' || next === 'inject') accepted.push(agent[next](`${next} ${accepted.length}`))
    if (next === 'cancel') agent.cancel('script')
    if (next === 'wake') agent.wake()
    if (next === 'withdraw' && accepted.length > 0) agent.withdraw(accepted.at(-1)!)
    if (next === 'throw' && misbehaviours.includes('throw')) throw new Error('script')
    return misbehaviours.includes(next) ? next : 'nothing'
  }

  const execute = async () => {
    moment()
    await Promise.resolve()
    return 'ok'
  }
  const { ctx, guard, reported } = await harness({
    replies: (options, index) => {
      sent.push({ request: { ...options, messages: [...options.messages] }, length: agent.session.log.length })
      const next = answers.shift() ?? { called: [], text: true, cutOff: false }
      if ('retry' in next) return { failure: { code: 'SERVER', message: next.retry ? 'retry' : 'stay down' } }
      const content: ContentBlock[] = next.called.map((name, place) => ({ type: 'tool-call', id: `${index}-${place}`, name, arguments: '{}' }))
      if (next.text) content.unshift({ type: 'text', text: 'words' })
      return { content, ...(next.cutOff ? { finish: 'max-tokens' as const } : {}) }
    },
    tools: [tool('read', execute, true), tool('write', execute), tool('fail', async () => { await execute(); throw new Error('tool') })],
  })
  ctx.on('agent/pre-step', async (_event, next) => {
    if (moment('reject', 'throw') === 'reject') return { kind: 'reject' }
    await Promise.resolve()
    moment('throw')
    return next()
  })
  ctx.on('agent/request', (_event, next) => {
    moment('throw')
    return next()
  })
  ctx.on('agent/delta', () => void moment())
  ctx.on('agent/request-error', async ({ failure }, next) => {
    moment('throw')
    if (failure.message !== 'retry') return next()
    retries += 1
    return { kind: 'retry' }
  })

  await fc.assert(
    fc.asyncProperty(script, async given => {
      moments = [...given.moments]
      answers = [...given.answers]
      accepted = []
      sent = []
      const session = new Session({ header: { id: 'random', createdAt: 0 }, guard })
      agent = ctx.agents.create(session, { provider: 'scripted', model: 'm' })
      accepted.push(agent.send('send 0'))
      await agent.whenIdle()
      while (moments.length > 0) {
        moment()
        await agent.whenIdle()
      }
      agent.wake() // what a cancelled or failed turn left waiting: nothing stands in its way any more
      await agent.whenIdle()
      await ctx.agents.release(agent)

      const log = [...session.log.from(0)]
      const told = story(session)
      expect(checkLog(log, [sessionInvariant, toolsInvariant, loopInvariant]), told).toEqual([])
      expect(log.filter(({ type }) => type === 'turn/start').length, told).toBe(log.filter(({ type }) => type === 'turn/end').length)
      const entered = log.flatMap(event => (event.type === 'user/message' ? [event.data.source.inputId] : []))
      const withdrawn = log.flatMap(event => (event.type === 'inbox/spliced' ? (event.data.removed ?? []) : []))
      const waiting = pendingInput(session)
      expect([...entered, ...withdrawn, ...waiting.map(({ inputId }) => inputId)].toSorted(), told).toEqual(accepted.toSorted())
      const queued = entered.map(inputId => Number(/\d+/.exec(inputId ?? '')?.[0])).filter(seq => kindAt(log[seq]!) === 'send')
      expect(queued, told).toEqual(queued.toSorted((a, b) => a - b))
      expect(waiting.every(({ kind }) => kind === 'inject'), told).toBe(true)
      for (const { request, length } of sent) expect(request).toMatchObject(derivedRequest(log.slice(0, length)))
      expectReplays(session)
    }),
    { seed: 42, numRuns: 500 },
  )
  expect(reported).toEqual([])
  for (const each of actions) expect(seen.get(each), `how often the scripts did ${each}`).toBeGreaterThan(100)
  expect(retries).toBeGreaterThan(100)
})

/** What the log alone says a request is. */
function derivedRequest(log: readonly SessionEvent[]): Partial<GenerateOptions> {
  const session = new Session({ header: { id: 'derived', createdAt: 0 }, seed: JSON.parse(JSON.stringify(log)) })
  const { config, system, tools } = latestHeader(session)!.data
  return { ...config, ...(system && { system }), ...(tools && { tools }), messages: session.deriveMessages() }
}

function kindAt(event: SessionEvent): string | undefined {
  return event.type === 'inbox/spliced' ? event.data.inserted?.[0]?.kind : undefined
}
