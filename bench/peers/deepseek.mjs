// DeepSeek's own published harness packages, which bear the names of ours: they are resolved from this folder alone.
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import { toolPairingBalancedBefore } from '@deepseek-ai/dsh-compaction'
import BasicCompactionEngine from '@deepseek-ai/dsh-compaction-basic'
import LlmRuntime, { CallId, createAssistantMessage, createToolResultMessage, createUserMessage, LlmAdapter } from '@deepseek-ai/dsh-llm'
import SessionStore, { interruptedTurnClosers, Session, SessionId } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import TokenMeter from '@deepseek-ai/dsh-token-meter'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { elapsedMs, LoopClock, median, microsecondsEach } from '../measure.ts'
import { longConversation, RESULT, stepEntries, SUMMARY, TOOL, toolLoop } from '../workload.ts'

for (const name of ['dsh-session', 'dsh-agent-loop', 'dsh-llm']) {
  if (!import.meta.resolve(`@deepseek-ai/${name}`).includes('/bench/peers/node_modules/')) throw new Error(`${name} is not the published one`)
}

const ROUTE = { provider: 'scripted', model: 'instant' }
const user = text => createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
const textOf = content => content.map(block => block.text ?? '').join('')

class Scripted extends LlmAdapter {
  constructor(contextWindow, reply) {
    super()
    Object.assign(this, { contextWindow, reply })
  }

  async resolveModel(provider, model) {
    return { provider, id: model, name: model, context: { contextWindow: this.contextWindow } }
  }

  async *stream(options) {
    const reply = this.reply(options)
    const block = typeof reply === 'string' ? { type: 'text', text: reply } : reply
    yield { type: 'block-start', index: 0, blockType: block.type }
    if (block.type === 'text') yield { type: 'text-delta', index: 0, text: block.text }
    else yield { type: 'tool-call-delta', index: 0, id: block.id, name: block.name, argumentsDelta: block.arguments }
    yield { type: 'block-end', index: 0, block }
    yield { type: 'finish', reason: { kind: block.type === 'text' ? 'stop' : 'tool-calls' } }
  }
}

async function stage(reply, { contextWindow = 1_000_000_000, dir, result = RESULT } = {}) {
  const root = new Context()
  for (const part of [SessionStore, LlmRuntime, TokenMeter, SystemPrompt, ToolRuntime, AgentRegistry]) await root.plugin(part)
  if (dir !== undefined) await root.plugin(JsonlSessionPersistence, { root: dir, compression: 'none' })
  await root.plugin(AgentLoop, { agents: [] })
  await root.plugin(BasicCompactionEngine, {})
  let ctx
  await root.plugin({
    name: 'bench',
    inject: ['sessions', 'llm', 'tokenMeter', 'tools', 'agents', 'compaction'],
    apply(inner) {
      ctx = inner
      inner.llm.registerAdapter([ROUTE.provider], new Scripted(contextWindow, reply))
      inner.tools.register({
        name: TOOL,
        description: 'Does nothing.',
        parameters: { type: 'object', properties: {} },
        output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
        execute: async () => result,
      })
      if (dir === undefined) return
      // Its loop waits for no disk; this is how somebody who needs that would ask for it.
      inner.on('agent/request', async ({ agent }, next) => (await inner.sessions.flush(agent.session), next()))
      inner.on('tools/execute', async (exec, next) => (await inner.sessions.flush(exec.agent.session), next()))
    },
  })
  return { ctx, dispose: () => root.fiber.dispose() }
}

class Scribe {
  constructor(session) {
    Object.assign(this, { session, turn: 0, step: 0, turnOpen: false, stepOpen: false })
    for (const { type, data } of session.events) if (type === 'turn/start') this.turn = data.turn
  }

  write(entry) {
    const { session } = this
    if (entry.role === 'user') {
      this.endTurn()
      this.turn += 1
      this.step = 0
      this.turnOpen = true
      session.append('turn/start', { turn: this.turn })
      session.append('user/message', user(entry.text), { surfaceOp: 'append' })
    } else if (entry.role === 'assistant') {
      this.endStep()
      this.step += 1
      this.stepOpen = true
      session.append('step/start', this.where)
      if (session.requestHeader() === undefined) session.append('request/header', { header: { config: ROUTE }, reason: 'initial' })
      const calls = entry.calls.map(({ id, name, arguments: args }) => ({ type: 'tool-call', id: CallId(id), name, arguments: args }))
      const content = entry.text === '' ? calls : [{ type: 'text', text: entry.text }, ...calls]
      session.append('assistant/message', { ...this.where, message: createAssistantMessage({ content, source: ROUTE }) }, { surfaceOp: 'append' })
      this.args = new Map(calls.map(call => [call.id, call]))
    } else {
      const { name = TOOL, arguments: args = '{}' } = this.args.get(entry.callId) ?? {}
      session.append('tool/call', { ...this.where, callId: CallId(entry.callId), name, arguments: args })
      const message = createToolResultMessage({ callId: CallId(entry.callId), content: [{ type: 'text', text: entry.text }], isError: false })
      session.append('tool/result', { ...this.where, message }, { surfaceOp: 'append' })
      this.args.delete(entry.callId)
    }
  }

  endTurn() {
    if (!this.turnOpen) return
    if (this.stepOpen && this.args.size > 0) {
      for (const { type, data, surfaceOp } of interruptedTurnClosers(this.session.events)) this.session.append(type, data, ...(surfaceOp ? [{ surfaceOp }] : []))
    } else {
      this.endStep()
      this.session.append('turn/end', { turn: this.turn, reason: { kind: 'completed' } })
    }
    this.turnOpen = this.stepOpen = false
  }

  endStep() {
    if (this.stepOpen) this.session.append('step/end', this.where)
    this.stepOpen = false
  }

  get where() {
    return { turn: this.turn, step: this.step }
  }
}

function fill(session, entries) {
  const scribe = new Scribe(session)
  for (const entry of toolLoop(entries)) scribe.write(entry)
  scribe.endTurn()
  return scribe
}

const histories = new Map()

/** The events of a filled session, made once a size; written down by hand, because a session slows down as it grows. */
function seed(entries) {
  if (!histories.has(entries)) {
    const events = []
    const append = (type, data, surface) => void events.push({ type, seq: events.length, time: Date.now(), data, ...surface })
    const requestHeader = () => events.find(({ type }) => type === 'request/header')
    fill({ events, append, requestHeader }, entries)
    histories.clear()
    histories.set(entries, events)
  }
  return histories.get(entries)
}

let agents = 0

async function agentAfter(ctx, entries) {
  const { agent } = await ctx.agents.create({ sessionId: SessionId(`bench-${(agents += 1)}`), agentOptions: ROUTE, ...(entries > 0 && { seed: seed(entries) }) })
  return agent
}

async function check(size, how) {
  const { ctx } = await stage(() => SUMMARY)
  const agent = await agentAfter(ctx, size)
  const { signal } = new AbortController()
  if (how === 'direct') return () => microsecondsEach(() => ctx.compaction.compactIfNeeded(agent, 'pressure', signal))
  const event = { agent, turn: 1, step: 1, messages: [], signal }
  return () => microsecondsEach(() => ctx.waterfall('agent/pre-step', event, async () => ({ kind: 'enter', messages: [] })))
}

async function reading(size) {
  const { ctx } = await stage(() => SUMMARY)
  const session = ctx.sessions.create(SessionId(`bench-${(agents += 1)}`), { seed: seed(size) })
  const readAll = () => {
    session.deriveMessages()
    toolPairingBalancedBefore(session, session.surface.nodes.at(-1))
    session.requestHeader()
    ctx.tokenMeter.measure(session)
  }
  return { session, readAll }
}

async function append(size) {
  const { session, readAll } = await reading(size)
  readAll()
  const scribe = new Scribe(session)
  scribe.write({ role: 'user', text: 'Go on.' })
  let step = 0
  return async () => {
    const us = await microsecondsEach(() => {
      for (const entry of stepEntries(`call-${(step += 1)}`)) scribe.write(entry)
      readAll()
    })
    return us / 2
  }
}

async function derive(size) {
  const session = Session.create(SessionId('derive'), seed(size))
  session.deriveMessages()
  const scribe = new Scribe(session)
  scribe.write({ role: 'user', text: 'Go on.' })
  let step = 0
  return async () => {
    const samples = []
    for (let count = 0; count < 20; count++) {
      for (const entry of stepEntries(`call-${(step += 1)}`)) scribe.write(entry)
      samples.push(await elapsedMs(() => session.deriveMessages()))
    }
    return median(samples) * 1000
  }
}

function cold(size) {
  seed(size)
  return () => elapsedMs(async () => (await reading(size)).readAll())
}

function compact(size) {
  return async () => {
    const { ctx, dispose } = await stage(() => SUMMARY)
    const agent = await agentAfter(ctx, size)
    ctx.tokenMeter.measure(agent.session)
    agent.session.deriveMessages()
    const ms = await elapsedMs(async () => {
      if ((await ctx.compaction.compactNow(agent, new AbortController().signal)) === null) throw new Error('nothing was compacted')
    })
    await dispose()
    return ms
  }
}

function loop(steps, dir) {
  return async () => {
    const clock = new LoopClock()
    let index = 0
    const { ctx, dispose } = await stage(() => (clock.again() ? { type: 'tool-call', id: CallId(`call-${(index += 1)}`), name: TOOL, arguments: '{}' } : 'done'), { dir })
    const agent = await agentAfter(ctx, 2 * steps)
    agent.followup(user('Begin.'))
    await agent.whenIdle()
    await dispose()
    return clock.stepsPerSecond()
  }
}

function durable(steps) {
  return async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
    try {
      return await loop(steps, dir)()
    } finally {
      await rm(dir, { recursive: true })
    }
  }
}

async function stored(root, dir) {
  await root.plugin(SessionStore)
  await root.plugin(TokenMeter)
  await root.plugin(JsonlSessionPersistence, { root: dir, compression: 'none' })
  return new Promise(resolve => root.inject(['sessions', 'tokenMeter', 'sessionPersistence'], resolve))
}

async function write(dir, steps, compacted) {
  const root = new Context()
  const ctx = await stored(root, dir)
  const session = ctx.sessions.create(SessionId('long'))
  const scribe = new Scribe(session)
  let textBytes = 0
  for (const item of longConversation(steps, compacted)) {
    if ('shadow' in item) {
      const shadowed = session.surface.nodes.slice(0, item.shadow)
      const message = createUserMessage({ content: [{ type: 'text', text: SUMMARY }], source: { kind: 'plugin', plugin: 'compact' } })
      session.append('user/message', message, { surfaceOp: { op: 'replace', start: shadowed[0], end: shadowed.at(-1) }, sourceEventSeqs: [...shadowed] })
    } else {
      scribe.write(item)
      textBytes += Buffer.byteLength(item.text)
      if (item.role === 'user') await ctx.sessions.flush(session)
    }
  }
  scribe.endTurn()
  await ctx.sessions.flush(session)
  const { path } = ctx.sessionPersistence.locate(session.header)
  const events = session.events.length
  await root.fiber.dispose()
  return { path, events, textBytes }
}

async function read(dir) {
  const root = new Context()
  const ctx = await stored(root, dir)
  const { session } = await ctx.sessionPersistence.prepare(SessionId('long'))
  return [session.deriveMessages(), ctx.tokenMeter.measure(session), session.requestHeader(), session, root]
}

async function converse({ windowTokens, summarize, result }) {
  let [sent, calls, live] = [[], 0, 0]
  const { ctx, dispose } = await stage(
    ({ purpose, messages }) => {
      if (purpose === 'compaction') return summarize(JSON.stringify(messages).length)
      sent.push(messages.map(entryOf))
      return sent.length <= calls ? { type: 'tool-call', id: CallId(`live-${(live += 1)}`), name: TOOL, arguments: '{}' } : 'Done.'
    },
    { contextWindow: windowTokens, result },
  )
  const agent = await agentAfter(ctx, 0)
  return {
    async load(entries) {
      const scribe = new Scribe(agent.session)
      for (const entry of entries) scribe.write(entry)
      scribe.endTurn()
    },
    async turn(text, count) {
      sent = []
      calls = count
      agent.followup(user(text))
      await agent.whenIdle()
      return sent
    },
    close: dispose,
  }
}

function entryOf({ role, content }) {
  const [block] = content
  if (block?.type === 'tool-result') return { role: 'tool', callId: block.toolCallId, name: TOOL, text: textOf(block.content) }
  if (role === 'assistant') return { role, text: textOf(content), calls: content.filter(({ type }) => type === 'tool-call') }
  return { role: 'user', text: textOf(content) }
}

export default {
  figures: { check: size => check(size, 'direct'), 'check-in-loop': size => check(size, 'waterfall'), append, derive, cold, compact, loop: steps => loop(steps), durable },
  store: { write, read },
  converse,
}
