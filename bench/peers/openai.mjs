// OpenAI Agents SDK: its runner with a session in memory that is compacted by the provider (here by nobody, at once).
import { Agent, MemorySession, OpenAIResponsesCompactionSession, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import { elapsedMs, LoopClock, median, microsecondsEach } from '../measure.ts'
import { RESULT, stepEntries, SUMMARY, TOOL, toolLoop } from '../workload.ts'

setTracingDisabled(true)

const noop = tool({ name: TOOL, description: 'Does nothing.', parameters: { type: 'object', properties: {}, required: [], additionalProperties: true }, strict: false, execute: async () => RESULT })
const client = { responses: { compact: async () => ({ id: 'compaction', output: [{ type: 'compaction', id: 'compaction', encrypted_content: SUMMARY }], usage: {} }) } }

function itemOf(entry) {
  if (entry.role === 'user') return [{ type: 'message', role: 'user', content: entry.text }]
  if (entry.role === 'tool') return [{ type: 'function_call_result', callId: entry.callId, name: entry.name, status: 'completed', output: { type: 'text', text: entry.text } }]
  return entry.calls.map(call => ({ type: 'function_call', callId: call.id, name: call.name, arguments: call.arguments, status: 'completed' }))
}

const history = entries => [...toolLoop(entries)].flatMap(itemOf)

function session(entries, shouldTriggerCompaction = () => false) {
  const underlyingSession = new MemorySession({ initialItems: history(entries) })
  return new OpenAIResponsesCompactionSession({ client, model: 'gpt-5.1', underlyingSession, compactionMode: 'input', shouldTriggerCompaction })
}

/** It asks after each run, not before each request. */
function check(size) {
  const kept = session(size)
  return () => microsecondsEach(() => kept.runCompaction())
}

function append(size) {
  const kept = session(size)
  let step = 0
  return async () => {
    const us = await microsecondsEach(async () => {
      await kept.addItems(stepEntries(`call-${(step += 1)}`).flatMap(itemOf))
      await kept.runCompaction()
      await kept.getItems()
    })
    return us / 2
  }
}

function derive(size) {
  const kept = session(size)
  let step = 0
  return async () => {
    const samples = []
    for (let count = 0; count < 10; count++) {
      await kept.addItems(stepEntries(`call-${(step += 1)}`).flatMap(itemOf))
      samples.push(await elapsedMs(() => kept.getItems()))
    }
    return median(samples) * 1000
  }
}

function compact(size) {
  return () => {
    const kept = session(size)
    return elapsedMs(() => kept.runCompaction({ force: true }))
  }
}

function loop(steps) {
  return async () => {
    const clock = new LoopClock()
    let index = 0
    const model = {
      async getResponse() {
        index += 1
        const output = clock.again()
          ? [{ type: 'function_call', callId: `call-${index}`, name: TOOL, arguments: '{}', status: 'completed' }]
          : [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }]
        return { usage: new Usage(), output, responseId: `response-${index}` }
      },
    }
    const agent = new Agent({ name: 'bench', model, tools: [noop] })
    await run(agent, 'Begin.', { session: session(2 * steps), maxTurns: 1_000_000 })
    return clock.stepsPerSecond()
  }
}

// No conversation: what its compaction keeps is decided by the provider's server, not by the library.
export default { figures: { check, append, derive, compact, loop } }
