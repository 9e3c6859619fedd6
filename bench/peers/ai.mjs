// Vercel AI SDK: generateText in a loop of tools, with the prepareStep that its page on long-running agents gives.
import { generateText, jsonSchema, pruneMessages, tool } from 'ai'
import { elapsedMs, LoopClock, microsecondsEach } from '../measure.ts'
import { RESULT, stepEntries, TOOL, toolLoop } from '../workload.ts'

const NEVER = 1_000_000_000
const tools = result => ({ [TOOL]: tool({ description: 'Does nothing.', inputSchema: jsonSchema({ type: 'object', properties: {} }), execute: async () => result }) })
const usage = { inputTokens: {}, outputTokens: {} }

const scripted = reply => ({
  specificationVersion: 'v4',
  provider: 'scripted',
  modelId: 'instant',
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const part = reply(prompt)
    return { content: [part], finishReason: { unified: part.type === 'text' ? 'stop' : 'tool-calls' }, usage, warnings: [] }
  },
})

const estimateTokens = messages => JSON.stringify(messages).length / 4
const prune = messages => pruneMessages({ messages, reasoning: 'all', toolCalls: 'before-last-3-messages', emptyMessages: 'remove' })
const prepareStep =
  thresholdTokens =>
  async ({ messages }) =>
    estimateTokens(messages) > thresholdTokens ? { messages: prune(messages) } : undefined

function messageOf(entry) {
  if (entry.role === 'user') return { role: 'user', content: entry.text }
  if (entry.role === 'tool') return { role: 'tool', content: [{ type: 'tool-result', toolCallId: entry.callId, toolName: entry.name, output: { type: 'text', value: entry.text } }] }
  const calls = entry.calls.map(call => ({ type: 'tool-call', toolCallId: call.id, toolName: call.name, input: JSON.parse(call.arguments) }))
  return { role: 'assistant', content: entry.text === '' ? calls : [{ type: 'text', text: entry.text }, ...calls] }
}

function entriesOf({ role, content }) {
  const text = content.map(part => part.text ?? '').join('')
  if (role === 'tool') return content.map(({ toolCallId, toolName, output }) => ({ role, callId: toolCallId, name: toolName, text: String(output.value) }))
  if (role !== 'assistant') return [{ role: 'user', text }]
  const calls = content.filter(({ type }) => type === 'tool-call')
  return [{ role, text, calls: calls.map(call => ({ id: call.toolCallId, name: call.toolName, arguments: JSON.stringify(call.input) })) }]
}

const history = entries => [...toolLoop(entries)].map(messageOf)

function check(size) {
  const messages = history(size)
  const prepare = prepareStep(NEVER)
  return () => microsecondsEach(() => prepare({ messages }))
}

function append(size) {
  let messages = history(size)
  const prepare = prepareStep(NEVER)
  let step = 0
  return async () => {
    const us = await microsecondsEach(() => {
      messages = [...messages, ...stepEntries(`call-${(step += 1)}`).map(messageOf)]
      return prepare({ messages })
    })
    return us / 2
  }
}

/** Nothing is summarized: the calls and results before the last three messages go. */
function compact(size) {
  const messages = history(size)
  return () => elapsedMs(() => prepareStep(1_000)({ messages }))
}

function loop(steps) {
  return async () => {
    const clock = new LoopClock()
    let index = 0
    const model = scripted(() => (clock.again() ? { type: 'tool-call', toolCallId: `call-${(index += 1)}`, toolName: TOOL, input: '{}' } : { type: 'text', text: 'done' }))
    await generateText({ model, tools: tools(RESULT), messages: [...history(2 * steps), { role: 'user', content: 'Begin.' }], stopWhen: () => false, prepareStep: prepareStep(NEVER) })
    return clock.stepsPerSecond()
  }
}

async function converse({ windowTokens, result }) {
  let [messages, sent, calls, live] = [[], [], 0, 0]
  const model = scripted(prompt => {
    sent.push(prompt.flatMap(entriesOf))
    return sent.length <= calls ? { type: 'tool-call', toolCallId: `live-${(live += 1)}`, toolName: TOOL, input: '{}' } : { type: 'text', text: 'Done.' }
  })
  // What was pruned for a step is what the next conversation goes on with, as the loop itself does between steps.
  const prepare = async ({ messages: all }) => {
    const prepared = await prepareStep(windowTokens * 0.8)({ messages: all })
    messages = prepared?.messages ?? all
    return prepared
  }
  return {
    async load(entries) {
      messages = [...messages, ...entries.map(messageOf)]
    },
    async turn(text, count) {
      sent = []
      calls = count
      await generateText({ model, tools: tools(result), messages: [...messages, { role: 'user', content: text }], stopWhen: () => false, prepareStep: prepare })
      messages = [...messages, { role: 'assistant', content: 'Done.' }]
      return sent
    },
  }
}

export default {
  figures: { check, append, compact, loop },
  converse,
}
