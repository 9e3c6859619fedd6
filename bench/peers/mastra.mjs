// Mastra: an agent with the token limiter among its processors, over the messages of the conversation.
import { Agent } from '@mastra/core/agent'
import { MessageList } from '@mastra/core/agent/message-list'
import { TokenLimiterProcessor } from '@mastra/core/processors'
import { createTool } from '@mastra/core/tools'
import { elapsedMs, LoopClock, median, microsecondsEach } from '../measure.ts'
import { RESULT, stepEntries, TOOL, toolLoop } from '../workload.ts'

const NEVER = 1_000_000_000
const noop = result => createTool({ id: TOOL, description: 'Does nothing.', execute: async () => result })

const scripted = reply => ({
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'instant',
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const part = reply(prompt)
    return { content: [part], finishReason: part.type === 'text' ? 'stop' : 'tool-calls', usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, warnings: [] }
  },
  async doStream({ prompt }) {
    const part = reply(prompt)
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    const chunks = [
      { type: 'stream-start', warnings: [] },
      ...(part.type === 'text' ? [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: part.text }, { type: 'text-end', id: '0' }] : [part]),
      { type: 'finish', finishReason: part.type === 'text' ? 'stop' : 'tool-calls', usage },
    ]
    return { stream: ReadableStream.from(chunks) }
  },
})

function messageOf(entry) {
  if (entry.role === 'user') return { role: 'user', content: entry.text }
  if (entry.role === 'tool') return { role: 'tool', content: [{ type: 'tool-result', toolCallId: entry.callId, toolName: entry.name, output: { type: 'text', value: entry.text } }] }
  const calls = entry.calls.map(call => ({ type: 'tool-call', toolCallId: call.id, toolName: call.name, input: JSON.parse(call.arguments) }))
  return { role: 'assistant', content: entry.text === '' ? calls : [{ type: 'text', text: entry.text }, ...calls] }
}

function entriesOf({ role, content }) {
  if (role === 'system') return []
  const text = content.map(part => part.text ?? '').join('')
  if (role === 'tool') return content.map(({ toolCallId, toolName, output }) => ({ role, callId: toolCallId, name: toolName, text: String(output.value) }))
  if (role !== 'assistant') return [{ role: 'user', text }]
  const calls = content.filter(({ type }) => type === 'tool-call')
  return [{ role, text, calls: calls.map(call => ({ id: call.toolCallId, name: call.toolName, arguments: JSON.stringify(call.input) })) }]
}

const history = entries => [...toolLoop(entries)].map(messageOf)

/** What the limiter does before each request, to the prompt as the model would get it. */
function check(size) {
  const prompt = history(size).map(({ role, content }) => ({ role, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content }))
  const limiter = new TokenLimiterProcessor(NEVER)
  return () => microsecondsEach(() => limiter.processLLMRequest({ prompt }))
}

function derive(size) {
  const list = new MessageList()
  list.add(history(size), 'input')
  let step = 0
  return async () => {
    const samples = []
    for (let count = 0; count < 5; count++) {
      list.add(stepEntries(`call-${(step += 1)}`).map(messageOf), 'response')
      samples.push(await elapsedMs(() => list.get.all.aiV5.llmPrompt()))
    }
    return median(samples) * 1000
  }
}

/** Nothing is summarized: the oldest messages go. */
function compact(size) {
  const prompt = history(size).map(({ role, content }) => ({ role, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content }))
  return () => elapsedMs(() => new TokenLimiterProcessor(20_000).processLLMRequest({ prompt }))
}

function agentOf(reply, limit, result = RESULT) {
  return new Agent({ id: 'bench', name: 'bench', instructions: 'Work.', model: scripted(reply), tools: { [TOOL]: noop(result) }, inputProcessors: [new TokenLimiterProcessor(limit)] })
}

function loop(steps) {
  return async () => {
    const clock = new LoopClock()
    let index = 0
    const reply = () => (clock.again() ? { type: 'tool-call', toolCallId: `call-${(index += 1)}`, toolName: TOOL, input: '{}' } : { type: 'text', text: 'done' })
    await agentOf(reply, NEVER).generate([...history(2 * steps), { role: 'user', content: 'Begin.' }], { maxSteps: 1_000_000 })
    return clock.stepsPerSecond()
  }
}

async function converse({ windowTokens, result }) {
  const messages = []
  let [sent, calls, live] = [[], 0, 0]
  const reply = prompt => {
    sent.push(prompt.flatMap(entriesOf))
    return sent.length <= calls ? { type: 'tool-call', toolCallId: `live-${(live += 1)}`, toolName: TOOL, input: '{}' } : { type: 'text', text: 'Done.' }
  }
  const agent = agentOf(reply, windowTokens, result)
  return {
    async load(entries) {
      messages.push(...entries.map(messageOf))
    },
    async turn(text, count) {
      sent = []
      calls = count
      messages.push({ role: 'user', content: text })
      const first = live + 1
      await agent.generate(messages, { maxSteps: 1_000 })
      for (let call = first; call <= live; call++) messages.push(...[...stepEntries(`live-${call}`)].map(entry => messageOf(entry.role === 'tool' ? { ...entry, text: result } : entry)))
      messages.push({ role: 'assistant', content: 'Done.' })
      return sent
    },
  }
}

export default { figures: { check, derive, compact, loop }, converse }
