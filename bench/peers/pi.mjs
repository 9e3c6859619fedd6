// pi: its agent loop, and the session and compaction functions of its coding agent, in the order in which that calls them.
import { runAgentLoop } from '@earendil-works/pi-agent-core'
import { AssistantMessageEventStream } from '@earendil-works/pi-ai'
import { compact as summarizeAndCut, CURRENT_SESSION_VERSION, SessionManager } from '@earendil-works/pi-coding-agent'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { elapsedMs, LoopClock, median, microsecondsEach } from '../measure.ts'
import { longConversation, RESULT, stepEntries, SUMMARY, TOOL, toolLoop } from '../workload.ts'

// What its AgentSession does before each request, and the preparation of a compaction, have no door of their own.
const inside = path => import(new URL(`./core/${path}.js`, import.meta.resolve('@earendil-works/pi-coding-agent')))
const { DEFAULT_COMPACTION_SETTINGS, estimateProjectedContextTokens, prepareCompaction, shouldCompact } = await inside('compaction/compaction')
const { convertToLlm } = await inside('messages')
const { transformMessages } = await import(new URL('./api/transform-messages.js', import.meta.resolve('@earendil-works/pi-ai')))

const NEVER = 1_000_000_000
const MODEL = { id: 'instant', name: 'instant', api: 'scripted', provider: 'scripted', baseUrl: '', reasoning: false, input: ['text'], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: NEVER, maxTokens: 8_192 }
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
// With usage its pressure is read off the last answer; without, it is estimated.
const REPORTED = { input: 1_000, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 1_010, cost }
const UNREPORTED = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost }
const noop = result => ({ name: TOOL, label: TOOL, description: 'Does nothing.', parameters: { type: 'object', properties: {} }, execute: async () => ({ content: [{ type: 'text', text: result }], details: {} }) })
let clock = 1_764_489_600_000

function assistant(content, usage) {
  const stopReason = content.some(({ type }) => type === 'toolCall') ? 'toolUse' : 'stop'
  return { role: 'assistant', content, api: MODEL.api, provider: MODEL.provider, model: MODEL.id, usage, stopReason, timestamp: (clock += 1) }
}

function messageOf(entry, usage = REPORTED) {
  if (entry.role === 'user') return { role: 'user', content: [{ type: 'text', text: entry.text }], timestamp: (clock += 1) }
  if (entry.role === 'tool') return { role: 'toolResult', toolCallId: entry.callId, toolName: entry.name, content: [{ type: 'text', text: entry.text }], isError: false, timestamp: (clock += 1) }
  const calls = entry.calls.map(({ id, name, arguments: args }) => ({ type: 'toolCall', id, name, arguments: JSON.parse(args) }))
  return assistant(entry.text === '' ? calls : [{ type: 'text', text: entry.text }, ...calls], usage)
}

function entryOf({ role, content, toolCallId, toolName }) {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const text = parts.map(part => part.text ?? '').join('')
  if (role === 'toolResult') return { role: 'tool', callId: toolCallId, name: toolName, text }
  if (role === 'assistant') return { role, text, calls: parts.filter(({ type }) => type === 'toolCall').map(({ id, name, arguments: args }) => ({ id, name, arguments: JSON.stringify(args) })) }
  return { role: 'user', text }
}

/** @param reply from the messages to the blocks of the answer */
const scripted = (reply, usage = REPORTED) => async (_model, { messages }) => {
  const stream = new AssistantMessageEventStream()
  const message = assistant(reply(messages), usage)
  queueMicrotask(() => {
    stream.push({ type: 'start', partial: message })
    stream.push({ type: 'done', reason: message.stopReason, message })
  })
  return stream
}

const say = text => [{ type: 'text', text }]

function filled(entries, usage = REPORTED) {
  const session = SessionManager.inMemory('/tmp')
  for (const entry of toolLoop(entries)) session.appendMessage(messageOf(entry, usage))
  return session
}

/** What AgentSession does before each assistant response. */
function isDue(session, contextWindow, settings = DEFAULT_COMPACTION_SETTINGS) {
  const projection = session.buildSessionProjection()
  return { due: shouldCompact(estimateProjectedContextTokens(projection, session.getBranch()).tokens, contextWindow, settings), projection }
}

async function compactSession(session, summarize, settings = DEFAULT_COMPACTION_SETTINGS) {
  const preparation = prepareCompaction(session.getBranch(), settings)
  if (preparation === undefined) return
  const stream = scripted(messages => say(summarize(JSON.stringify(messages).length)))
  const { summary, firstKeptEntryId, tokensBefore, details } = await summarizeAndCut(preparation, MODEL, 'key', undefined, undefined, undefined, 'off', stream)
  session.appendCompaction(summary, firstKeptEntryId, tokensBefore, details)
}

function check(size) {
  const session = filled(size)
  return () => microsecondsEach(() => isDue(session, NEVER))
}

function append(size) {
  const session = filled(size)
  let step = 0
  return async () => {
    const us = await microsecondsEach(() => {
      for (const entry of stepEntries(`call-${(step += 1)}`)) session.appendMessage(messageOf(entry))
      isDue(session, NEVER)
    })
    return us / 2
  }
}

function derive(size) {
  const session = filled(size)
  let step = 0
  return async () => {
    const samples = []
    for (let count = 0; count < 20; count++) {
      for (const entry of stepEntries(`call-${(step += 1)}`)) session.appendMessage(messageOf(entry))
      samples.push(await elapsedMs(() => convertToLlm(session.buildSessionProjection().messages)))
    }
    return median(samples) * 1000
  }
}

function cold(size) {
  const entries = filled(size, UNREPORTED).getEntries()
  return () => elapsedMs(() => isDue(SessionManager.inMemory('/tmp', undefined, [...entries]), NEVER))
}

function compact(size) {
  return async () => {
    const session = filled(size)
    return elapsedMs(() => compactSession(session, () => SUMMARY))
  }
}

/** The loop with what its coding agent hangs into it: the session takes each message, and the pressure is asked before each request. */
function loop(steps) {
  return async () => {
    const times = new LoopClock()
    const session = filled(2 * steps)
    let index = 0
    const stream = scripted(() => (times.again() ? [{ type: 'toolCall', id: `call-${(index += 1)}`, name: TOOL, arguments: {} }] : say('done')))
    const config = { model: MODEL, convertToLlm, prepareRequest: async ({ context }) => ({ context: { ...context, messages: isDue(session, NEVER).projection.messages } }) }
    const keep = async event => {
      if (event.type === 'message_end' && event.message.role !== 'system') session.appendMessage(event.message)
    }
    await runAgentLoop([{ role: 'user', content: say('Begin.'), timestamp: (clock += 1) }], { systemPrompt: '', messages: session.buildSessionProjection().messages, tools: [noop(RESULT)] }, config, keep, undefined, stream)
    return times.stepsPerSecond()
  }
}

async function write(dir, steps, compacted) {
  // Line by line as its session manager writes them, which takes long to do it, because each compaction reads all that was.
  const path = join(dir, 'long.jsonl')
  const lines = [{ type: 'session', version: CURRENT_SESSION_VERSION, id: 'long', timestamp: new Date().toISOString(), cwd: dir }]
  let [events, textBytes, visible] = [0, 0, []]
  const flush = () => appendFileSync(path, lines.splice(0).map(line => `${JSON.stringify(line)}\n`).join(''))
  for (const item of longConversation(steps, compacted)) {
    events += 1
    const common = { id: events.toString(16).padStart(8, '0'), parentId: events === 1 ? null : (events - 1).toString(16).padStart(8, '0'), timestamp: new Date().toISOString() }
    if ('shadow' in item) {
      visible = [common.id, ...visible.slice(item.shadow)]
      lines.push({ type: 'compaction', ...common, summary: SUMMARY, firstKeptEntryId: visible[1], tokensBefore: 100_000, details: { readFiles: [], modifiedFiles: [] } })
    } else {
      visible.push(common.id)
      lines.push({ type: 'message', ...common, message: messageOf(item) })
      textBytes += Buffer.byteLength(item.text)
    }
    if (lines.length > 5_000) flush()
  }
  flush()
  return { path, events, textBytes }
}

async function read(dir) {
  const session = SessionManager.continueRecent(dir, dir)
  const { projection } = isDue(session, NEVER)
  return [session, projection, convertToLlm(projection.messages)]
}

async function converse({ windowTokens, summarize, result }) {
  const session = SessionManager.inMemory('/tmp')
  let [sent, calls, live] = [[], 0, 0]
  const stream = scripted(messages => {
    // Its providers all send messages through this, which answers calls that were cut off.
    sent.push(transformMessages(messages, MODEL).filter(({ role }) => role !== 'system').map(entryOf))
    return sent.length <= calls ? [{ type: 'toolCall', id: `live-${(live += 1)}`, name: TOOL, arguments: {} }] : say('Done.')
  }, UNREPORTED)
  return {
    async load(entries) {
      for (const entry of entries) session.appendMessage(messageOf(entry, UNREPORTED))
    },
    async turn(text, count) {
      sent = []
      calls = count
      const config = {
        model: MODEL,
        convertToLlm,
        prepareRequest: async ({ context }) => {
          if (isDue(session, windowTokens).due) await compactSession(session, summarize)
          return { context: { ...context, messages: session.buildSessionProjection().messages } }
        },
      }
      const keep = async event => {
        if (event.type === 'message_end' && event.message.role !== 'system') session.appendMessage(event.message)
      }
      await runAgentLoop([{ role: 'user', content: say(text), timestamp: (clock += 1) }], { systemPrompt: '', messages: session.buildSessionProjection().messages, tools: [noop(result)] }, config, keep, undefined, stream)
      return sent
    },
  }
}

export default {
  figures: { check, append, derive, cold, compact, loop },
  store: { write, read },
  converse,
}
