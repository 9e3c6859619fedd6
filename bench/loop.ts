/** The loop with an instant model and a no-op tool, in memory: steps a second early and late in one long turn. */
import { elapsedMs, fixed, line } from './measure.ts'
import { MODEL, PROVIDER, stage, toolCall } from './stage.ts'

const STEPS = 10_000
const WINDOW_STEPS = 1_000

export async function run(): Promise<void> {
  await steps(2_000) // warms the code up
  const { early, late, wholeMs } = await steps(STEPS)
  line('', 'steps/s')
  line(`steps 0–${WINDOW_STEPS}`, fixed(early, 0))
  line(`steps ${STEPS - WINDOW_STEPS}–${STEPS}`, fixed(late, 0))
  line('all', fixed((STEPS / wholeMs) * 1000, 0))
  line('early / late (target ≤ 1.5)', fixed(early / late, 2))
}

async function steps(count: number): Promise<{ early: number; late: number; wholeMs: number }> {
  const times: number[] = []
  const { ctx, dispose } = await stage((_options, index) => {
    times.push(performance.now())
    return index === count ? 'done' : { content: [toolCall(`call-${index}`)] }
  })
  const session = await ctx.sessions.create()
  const agent = ctx.agents.create(session, { provider: PROVIDER, model: MODEL })
  const wholeMs = await elapsedMs(async () => {
    agent.send('Begin.')
    await agent.whenIdle()
  })
  await dispose()
  const rate = (from: number): number => (WINDOW_STEPS / (times[from + WINDOW_STEPS]! - times[from]!)) * 1000
  return { early: rate(0), late: rate(count - WINDOW_STEPS), wholeMs }
}
