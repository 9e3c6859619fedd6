// LangChain: an agent with the summarization middleware, which its documentation gives for long conversations.
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { messagesStateReducer } from '@langchain/langgraph'
import { createAgent, summarizationMiddleware, tool } from 'langchain'
import { elapsedMs, LoopClock, median, microsecondsEach } from '../measure.ts'
import { RESULT, stepEntries, SUMMARY, TOOL, toolLoop } from '../workload.ts'

export class Scripted extends BaseChatModel {
  constructor(reply) {
    super({})
    this.reply = reply
  }

  _llmType() {
    return 'scripted'
  }

  bindTools() {
    return this
  }

  async _generate(messages) {
    const message = this.reply(messages)
    return { generations: [{ text: message.text, message }] }
  }
}

export const NEVER = 1_000_000_000
const noop = result => tool(() => result, { name: TOOL, description: 'Does nothing.', schema: { type: 'object', properties: {} } })
const call = id => new AIMessage({ content: '', tool_calls: [{ id, name: TOOL, args: {}, type: 'tool_call' }] })
let ids = 0

function messageOf(entry) {
  const id = `message-${(ids += 1)}`
  if (entry.role === 'user') return new HumanMessage({ id, content: entry.text })
  if (entry.role === 'tool') return new ToolMessage({ id, content: entry.text, tool_call_id: entry.callId, name: entry.name })
  return new AIMessage({ id, content: entry.text, tool_calls: entry.calls.map(call => ({ type: 'tool_call', id: call.id, name: call.name, args: JSON.parse(call.arguments) })) })
}

function entryOf(message) {
  if (message.type === 'tool') return { role: 'tool', callId: message.tool_call_id, name: message.name, text: message.text }
  if (message.type === 'ai') return { role: 'assistant', text: message.text, calls: message.tool_calls.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) })) }
  return { role: 'user', text: message.text }
}

export const history = entries => [...toolLoop(entries)].map(messageOf)
export const runtime = { context: {} }
const summarizer = (tokens, summarize = () => SUMMARY) =>
  summarizationMiddleware({ model: new Scripted(messages => new AIMessage(summarize(messages.reduce((sum, message) => sum + message.text.length, 0)))), trigger: { tokens }, keep: { messages: 20 } })

/** What runs before each request. */
function check(size) {
  const state = { messages: history(size) }
  const { beforeModel } = summarizer(NEVER)
  return () => microsecondsEach(() => beforeModel(state, runtime))
}

/** The state's reducer joins what is new, then the middleware prices all. */
function append(size) {
  let messages = history(size)
  const { beforeModel } = summarizer(NEVER)
  let step = 0
  return async () => {
    const us = await microsecondsEach(async () => {
      messages = messagesStateReducer(messages, stepEntries(`call-${(step += 1)}`).map(messageOf))
      await beforeModel({ messages }, runtime)
    })
    return us / 2
  }
}

function derive(size) {
  let messages = history(size)
  let step = 0
  return async () => {
    const samples = []
    for (let count = 0; count < 20; count++) {
      const added = stepEntries(`call-${(step += 1)}`).map(messageOf)
      samples.push(await elapsedMs(() => (messages = messagesStateReducer(messages, added))))
    }
    return median(samples) * 1000
  }
}

function compact(size) {
  const messages = history(size)
  const { beforeModel } = summarizer(1_000)
  return () =>
    elapsedMs(async () => {
      if ((await beforeModel({ messages }, runtime)) === undefined) throw new Error('nothing was compacted')
    })
}

/** @param middleware what keeps the prompt small */
export const loop = middleware => steps => {
  return async () => {
    const clock = new LoopClock()
    let index = 0
    const model = new Scripted(() => (clock.again() ? call(`call-${(index += 1)}`) : new AIMessage('done')))
    const agent = createAgent({ model, tools: [noop(RESULT)], middleware: [middleware] })
    await agent.invoke({ messages: [...history(2 * steps), new HumanMessage('Begin.')] }, { recursionLimit: 1_000_000 })
    return clock.stepsPerSecond()
  }
}

export const converse = middleware => async ({ windowTokens, summarize, result }) => {
  let [messages, sent, calls, live] = [[], [], 0, 0]
  const model = new Scripted(all => {
    sent.push(all.map(entryOf))
    return sent.length <= calls ? call(`live-${(live += 1)}`) : new AIMessage('Done.')
  })
  const agent = createAgent({ model, tools: [noop(result)], middleware: [middleware(windowTokens, summarize)] })
  return {
    async load(entries) {
      messages.push(...entries.map(messageOf))
    },
    async turn(text, count) {
      sent = []
      calls = count
      ;({ messages } = await agent.invoke({ messages: [...messages, new HumanMessage(text)] }, { recursionLimit: 1_000_000 }))
      return sent
    },
  }
}

export default {
  figures: { check, append, derive, compact, loop: loop(summarizer(NEVER)) },
  converse: converse((windowTokens, summarize) => summarizer(windowTokens * 0.8, summarize)),
}
