/** The engine: a pressure check when nothing is due, through the service and through the waterfall, and one compaction. */
import type { PreStepResult } from '@deepseek-ai/dsh-agent'
import { openTurn } from '@deepseek-ai/dsh-session'
import { elapsedMs, fixed, line, microsecondsEach } from './measure.ts'
import { fill, MODEL, PROVIDER, stage } from './stage.ts'

const SIZES = [1_000, 10_000, 100_000]
const CALLS = 5_000

export async function run(): Promise<void> {
  const direct: number[] = []
  const waterfall: number[] = []
  const scanned: number[] = []
  const compacted: number[] = []
  for (const size of SIZES) {
    const { ctx, dispose } = await stage(() => '## Current Work\nEverything before this point was read and nothing is left to do there.')
    const session = await ctx.sessions.create()
    fill(session, size)
    const agent = ctx.agents.create(session, { provider: PROVIDER, model: MODEL })
    const { signal } = new AbortController()
    direct.push(await microsecondsEach(CALLS, () => ctx.compaction.compactIfNeeded(agent, 'pressure', signal)))
    const event = { agent, turn: 1, step: 1, messages: [], signal }
    const enter = async (): Promise<PreStepResult> => ({ kind: 'enter', messages: [] })
    waterfall.push(await microsecondsEach(CALLS, () => ctx.waterfall('agent/pre-step', event, enter)))
    scanned.push(await microsecondsEach(10, () => {
      let tokens = 0
      for (const message of session.deriveMessages()) tokens += ctx.tokenMeter.estimateMessage(message)
      return tokens
    }))
ctx.emit('session/loading', session) // every fold has seen the log, as in a session that runs
    openTurn(session)
    session.deriveMessages()
    compacted.push(await elapsedMs(() => ctx.compaction.compactNow(agent, signal)))
    await dispose()
  }
  line('surface entries', ...SIZES)
  line('compactIfNeeded, nothing due, µs', ...direct.map(us => fixed(us)))
  line('the same through agent/pre-step, µs', ...waterfall.map(us => fixed(us)))
  line('peer: pricing every message each time, µs', ...scanned.map(us => fixed(us, 0)))
  line('one compaction, instant summarizer, ms', ...compacted.map(ms => fixed(ms)))
  line('check at 100k / at 1k (target ≤ 1.5)', fixed(direct[2]! / direct[0]!, 2))
}
