// Google ADK: its runner and its token-based compactor with a summarizer, sessions in memory.
import { BaseLlm, createEvent, FunctionTool, InMemoryRunner, LlmAgent, LlmSummarizer, TokenBasedContextCompactor } from '@google/adk'
import { elapsedMs, LoopClock, median, microsecondsEach } from '../measure.ts'
import { RESULT, stepEntries, SUMMARY, TOOL, toolLoop } from '../workload.ts'

// What makes the contents of a request of the events of a session has no door of its own.
const { getContents } = await import(new URL('./agents/processors/content_processor_utils.js', import.meta.resolve('@google/adk')))

const NEVER = 1_000_000_000
const NAME = 'bench'
const WHO = { appName: NAME, userId: 'user' }
const noop = result => new FunctionTool({ name: TOOL, description: 'Does nothing.', execute: async () => ({ result }) })
let clock = 1_764_489_600_000

class Scripted extends BaseLlm {
  constructor(reply) {
    super({ model: 'instant' })
    this.reply = reply
  }

  async *generateContentAsync(request) {
    yield { content: { role: 'model', parts: [this.reply(request)] }, turnComplete: true }
  }

  async connect() {
    throw new Error('no live connection')
  }
}

/** One event an answer, one for all results of its calls, as its own loop has them. */
function eventsOf(entries, usage = true) {
  const events = []
  for (const entry of entries) {
    const common = { invocationId: 'past', timestamp: (clock += 1) }
    if (entry.role === 'user') events.push(createEvent({ ...common, author: 'user', content: { role: 'user', parts: [{ text: entry.text }] } }))
    else if (entry.role === 'assistant') {
      const calls = entry.calls.map(call => ({ functionCall: { id: call.id, name: call.name, args: JSON.parse(call.arguments) } }))
      const parts = entry.text === '' ? calls : [{ text: entry.text }, ...calls]
      events.push(createEvent({ ...common, author: NAME, content: { role: 'model', parts }, ...(usage && { usageMetadata: { promptTokenCount: 1_000 } }) }))
    } else {
      const part = { functionResponse: { id: entry.callId, name: entry.name, response: { result: entry.text } } }
      const last = events.at(-1)
      if (last?.content.parts[0].functionResponse) last.content.parts.push(part)
      else events.push(createEvent({ ...common, author: NAME, content: { role: 'user', parts: [part] } }))
    }
  }
  return events
}

function entriesOf({ role, parts }) {
  const results = parts.filter(part => part.functionResponse)
  if (results.length > 0) return results.map(({ functionResponse: { id, name, response } }) => ({ role: 'tool', callId: id, name, text: String(response.result) }))
  const text = parts.map(part => part.text ?? '').join('')
  if (role === 'user') return [{ role, text }]
  return [{ role: 'assistant', text, calls: parts.filter(part => part.functionCall).map(({ functionCall: { id, name, args } }) => ({ id, name, arguments: JSON.stringify(args) })) }]
}

const history = entries => eventsOf(toolLoop(entries))
const compactor = (tokenThreshold, summarize = () => SUMMARY) =>
  new TokenBasedContextCompactor({
    tokenThreshold,
    eventRetentionSize: 20,
    summarizer: new LlmSummarizer({ llm: new Scripted(({ contents }) => ({ text: summarize(contents[0].parts[0].text.length) })) }),
  })
const context = events => ({ session: { events }, agent: { name: NAME } })

function check(size) {
  const invocation = context(history(size))
  const never = compactor(NEVER)
  return () => microsecondsEach(() => never.shouldCompact(invocation))
}

function append(size) {
  const invocation = context(history(size))
  const never = compactor(NEVER)
  let step = 0
  return async () => {
    const us = await microsecondsEach(() => {
      invocation.session.events.push(...eventsOf(stepEntries(`call-${(step += 1)}`)))
      never.shouldCompact(invocation)
      getContents(invocation.session.events, NAME)
    })
    return us / 2
  }
}

function derive(size) {
  const events = history(size)
  let step = 0
  return async () => {
    const samples = []
    for (let count = 0; count < 10; count++) {
      events.push(...eventsOf(stepEntries(`call-${(step += 1)}`)))
      samples.push(await elapsedMs(() => getContents(events, NAME)))
    }
    return median(samples) * 1000
  }
}

function compact(size) {
  return () => {
    const invocation = context(history(size))
    return elapsedMs(() => compactor(1_000).compact(invocation))
  }
}

async function stage(reply, past, contextCompactors, result = RESULT) {
  const agent = new LlmAgent({ name: NAME, model: new Scripted(reply), tools: [noop(result)], contextCompactors })
  const runner = new InMemoryRunner({ agent, appName: NAME })
  const session = await runner.sessionService.createSession(WHO)
  const load = async events => {
    for (const event of events) await runner.sessionService.appendEvent({ session, event })
  }
  await load(past)
  const say = async text => {
    const newMessage = { role: 'user', parts: [{ text }] }
    for await (const event of runner.runAsync({ userId: WHO.userId, sessionId: session.id, newMessage, runConfig: { maxLlmCalls: 0 } })) {
      if (event.errorMessage) throw new Error(event.errorMessage)
    }
  }
  return { load, say }
}

function loop(steps) {
  return async () => {
    const clock = new LoopClock()
    let index = 0
    const reply = () => (clock.again() ? { functionCall: { id: `call-${(index += 1)}`, name: TOOL, args: {} } } : { text: 'done' })
    const { say } = await stage(reply, history(2 * steps), [compactor(NEVER)])
    await say('Begin.')
    return clock.stepsPerSecond()
  }
}

async function converse({ windowTokens, summarize, result }) {
  let [sent, calls, live] = [[], 0, 0]
  const reply = ({ contents }) => {
    sent.push(contents.flatMap(entriesOf))
    return sent.length <= calls ? { functionCall: { id: `live-${(live += 1)}`, name: TOOL, args: {} } } : { text: 'Done.' }
  }
  const { load, say } = await stage(reply, [], [compactor(windowTokens * 0.8, summarize)], result)
  return {
    load: entries => load(eventsOf(entries, false)),
    async turn(text, count) {
      sent = []
      calls = count
      await say(text)
      return sent
    },
  }
}

export default { figures: { check, append, derive, compact, loop }, converse }
