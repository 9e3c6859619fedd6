/** What is measured of ours. */
import { Context } from '@deepseek-ai/cordis'
import type { Agent, PreStepResult } from '@deepseek-ai/dsh-agent'
import { openCallsAt } from '@deepseek-ai/dsh-compaction'
import { textOf, type GenerateOptions, type Message, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import { latestHeader, openTurn, Session, SessionService } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import { tokenMeter, TokenMeterService } from '@deepseek-ai/dsh-token-meter'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contender, Conversation, ConverseOptions, Sampler } from './contender.ts'
import { elapsedMs, LoopClock, median, microsecondsEach } from './measure.ts'
import { emptySession, Scribe } from './scribe.ts'
import { MODEL, PROVIDER, stage } from './stage.ts'
import { longConversation, stepEntries, SUMMARY, TOOL, toolLoop, type Entry } from './workload.ts'

const ROUTE = { provider: PROVIDER, model: MODEL }
/** Steps of which one sample of an append is the mean. */
const APPENDED_STEPS = 200

const ours: Contender = {
  figures: { check: size => check(size, 'direct'), 'check-in-loop': size => check(size, 'waterfall'), append, derive, cold, compact, loop: steps => loop(steps), durable },
  store: { write, read },
  converse,
}
export default ours

async function check(size: number, how: 'direct' | 'waterfall'): Promise<Sampler> {
  const { ctx } = await stage(() => SUMMARY)
  const agent = await agentAfter(ctx, size)
  const { signal } = new AbortController()
  if (how === 'direct') return () => microsecondsEach(() => ctx.compaction.compactIfNeeded(agent, 'pressure', signal))
  const event = { agent, turn: 1, step: 1, messages: [], signal }
  const enter = async (): Promise<PreStepResult> => ({ kind: 'enter', messages: [] })
  return () => microsecondsEach(() => ctx.waterfall('agent/pre-step', event, enter))
}

async function agentAfter(ctx: Context, entries: number): Promise<Agent> {
  const session = await ctx.sessions.create()
  fill(session, entries)
  return ctx.agents.create(session, ROUTE)
}

function fill(session: Session, entries: number): Scribe {
  const scribe = new Scribe(session)
  for (const entry of toolLoop(entries)) scribe.write(entry)
  scribe.endTurn()
  return scribe
}

function reader(): (session: Session) => void {
  const meter = tokenMeter()
  return session => {
    session.deriveMessages()
    openCallsAt(session, session.surface.entries.length)
    openTurn(session)
    latestHeader(session)
    meter.measure(session)
  }
}

function append(size: number): Sampler {
  const session = emptySession()
  const readAll = reader()
  const scribe = fill(session, size)
  readAll(session)
  scribe.write({ role: 'user', text: 'Go on.' })
  let step = 0
  return async () => {
    const ms = await elapsedMs(() => {
      for (let count = 0; count < APPENDED_STEPS; count++) {
        for (const entry of stepEntries(`call-${(step += 1)}`)) scribe.write(entry)
        readAll(session)
      }
    })
    return (ms * 1000) / (2 * APPENDED_STEPS)
  }
}

function derive(size: number): Sampler {
  const session = emptySession()
  const scribe = fill(session, size)
  session.deriveMessages()
  scribe.write({ role: 'user', text: 'Go on.' })
  let step = 0
  return async () => {
    const samples: number[] = []
    for (let count = 0; count < 50; count++) {
      for (const entry of stepEntries(`call-${(step += 1)}`)) scribe.write(entry)
      samples.push(await elapsedMs(() => session.deriveMessages()))
    }
    return median(samples) * 1000
  }
}

function cold(size: number): Sampler {
  const { header, log } = filled(size)
  const events = [...log.from(0)]
  return () => elapsedMs(() => reader()(new Session({ header, seed: events })))
}

function filled(size: number): Session {
  const session = emptySession()
  fill(session, size)
  return session
}

function compact(size: number): Sampler {
  return async () => {
    const { ctx, dispose } = await stage(() => SUMMARY)
    const agent = await agentAfter(ctx, size)
    ctx.emit('session/loading', agent.session) // every fold has seen the log, as in a session that runs
    reader()(agent.session)
    const { signal } = new AbortController()
    const ms = await elapsedMs(async () => {
      if ((await ctx.compaction.compactNow(agent, signal)) === null) throw new Error('nothing was compacted')
    })
    await dispose()
    return ms
  }
}

/** @returns steps a second, after so many. */
function loop(steps: number, dir?: string): Sampler {
  return async () => {
    const clock = new LoopClock()
    const { ctx, dispose } = await stage(
      (_options, index) => (clock.again() ? { content: [{ type: 'tool-call', id: `call-${index}`, name: TOOL, arguments: '{}' }] } : 'done'),
      dir === undefined ? {} : { dir },
    )
    const agent = await agentAfter(ctx, 2 * steps)
    agent.send('Begin.')
    await agent.whenIdle()
    await dispose()
    return clock.stepsPerSecond()
  }
}

async function durable(steps: number): Promise<Sampler> {
  await loop(steps)() // warms the code up without the disk: a sample of its own has too few steps for that
  return async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
    try {
      return await loop(steps, dir)()
    } finally {
      await rm(dir, { recursive: true })
    }
  }
}

async function write(dir: string, steps: number, compacted: boolean): Promise<{ path: string; events: number; textBytes: number }> {
  const root = await stored(dir)
  const session = await root.get('sessions')!.create({ id: 'long' })
  const scribe = new Scribe(session)
  let textBytes = 0
  for (const item of longConversation(steps, compacted)) {
    if ('shadow' in item) shadow(session, item.shadow)
    else {
      scribe.write(item)
      textBytes += Buffer.byteLength(item.text)
      if (item.role === 'user') await session.flush()
    }
  }
  scribe.endTurn()
  const { length } = session.log
  await root.get('sessions')!.close(session)
  await root.fiber.dispose()
  return { path: join(dir, 'long.jsonl'), events: length, textBytes }
}

function shadow(session: Session, count: number): void {
  const shadowed = session.surface.entries.slice(0, count)
  session.append(
    'user/message',
    { content: [{ type: 'text', text: SUMMARY }], source: { kind: 'plugin', plugin: 'compact' } },
    { surfaceOp: { op: 'replace', start: shadowed[0]!, end: shadowed.at(-1)! }, sourceEventSeqs: shadowed },
  )
}

/** With a meter and a compaction engine looking on from the first event, as in the program. */
async function read(dir: string): Promise<unknown> {
  const root = await stored(dir)
  await root.plugin(TokenMeterService)
  root.on('session/loading', log => void openCallsAt(log, 0))
  const session = await root.get('sessions')!.resume('long')
  root.get('tokenMeter')!.measure(session)
  return [session, session.deriveMessages(), openTurn(session), latestHeader(session), root]
}

async function stored(dir: string): Promise<Context> {
  const root = new Context()
  await root.plugin(JsonlSessionPersistence, { dir })
  await root.plugin(SessionService)
  return root
}

async function converse({ windowTokens, summarize, result }: ConverseOptions): Promise<Conversation> {
  let sent: (readonly Entry[])[] = []
  let calls = 0
  const answer = ({ purpose, messages }: GenerateOptions, index: number): ScriptedReply => {
    if (purpose === 'compaction') return summarize(JSON.stringify(messages).length)
    sent.push(messages.map(entryOf))
    return sent.length <= calls ? { content: [{ type: 'tool-call', id: `live-${index}`, name: TOOL, arguments: '{}' }] } : 'Done.'
  }
  const { ctx, dispose } = await stage(answer, { contextWindow: windowTokens, result })
  const session = await ctx.sessions.create()
  const agent = ctx.agents.create(session, ROUTE)
  return {
    load: async entries => {
      const scribe = new Scribe(session)
      for (const entry of entries) scribe.write(entry)
      scribe.endTurn()
    },
    turn: async (text, count) => {
      sent = []
      calls = count
      agent.send(text)
      await agent.whenIdle()
      return sent
    },
    close: dispose,
  }
}

function entryOf({ role, content }: Message): Entry {
  const [block] = content
  if (role === 'tool' && block?.type === 'tool-result') return { role, callId: block.toolCallId, name: TOOL, text: textOf(block.content) }
  if (role === 'assistant') return { role, text: textOf(content), calls: content.filter(block => block.type === 'tool-call') }
  return { role: 'user', text: textOf(content) }
}
