/**
 * A stored session of any length, its surface held near 2,000 entries as compaction would: what an append costs, what resuming
 * costs in time and memory, and what an event costs on disk; each beside a plain file in the same run.
 */
import { Context } from '@deepseek-ai/cordis'
import { openCallsAt } from '@deepseek-ai/dsh-compaction'
import { SessionService, type Session } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence, { readSessionFile } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { elapsedMs, fixed, line } from './measure.ts'
import { emptySession, toolCall, MODEL, PROVIDER } from './stage.ts'
import type { Loaded } from './stored-child.ts'

const SURFACE_ENTRIES = 2_000
/** Entries that one checkpoint takes the place of. */
const SHADOWED_ENTRIES = 200
const STEPS_A_TURN = 20
const RESULT = 'The quick brown fox jumps over the lazy dog, and line 42 says so. '.repeat(31)
/** Steps played between two measurements of the same length, and steps of one measurement. */
const MEASURED_STEPS = 400
const MEASURED_FLUSHES = 200

/** A tool loop that goes on for ever: a step is five events, a turn twenty steps. */
class Player {
  readonly session: Session
  private turn = 0
  private step = STEPS_A_TURN

  constructor(session: Session) {
    this.session = session
  }

  playStep(): void {
    const { session } = this
    if (this.step === STEPS_A_TURN) {
      if (this.turn > 0) session.append('turn/end', { turn: this.turn, reason: 'completed' })
      this.turn += 1
      this.step = 0
      session.append('turn/start', { turn: this.turn })
      session.append('user/message', { content: [{ type: 'text', text: `Go on with part ${this.turn}.` }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    }
    this.step += 1
    const where = { turn: this.turn, step: this.step }
    const callId = `call-${where.turn}-${where.step}`
    session.append('step/start', where)
    session.append('assistant/message', { ...where, content: [toolCall(callId)], provider: PROVIDER, model: MODEL, finish: 'tool-calls' }, { surfaceOp: 'append' })
    session.append('tool/call', { ...where, callId })
    session.append('tool/result', { ...where, callId, content: [{ type: 'text', text: RESULT }] }, { surfaceOp: 'append' })
    session.append('step/end', where)
    if (session.surface.entries.length >= SURFACE_ENTRIES + SHADOWED_ENTRIES) this.shadow()
  }

  private shadow(): void {
    const shadowed = this.session.surface.entries.slice(0, SHADOWED_ENTRIES + 1)
    this.session.append(
      'user/message',
      { content: [{ type: 'text', text: 'What happened before this.' }], source: { kind: 'plugin', plugin: 'compact' } },
      { surfaceOp: { op: 'replace', start: shadowed[0]!, end: shadowed.at(-1)! }, sourceEventSeqs: shadowed },
    )
  }
}

/** @param lengths events at which appending is measured. @param resumed lengths at which a log is resumed. Both ascending. */
export async function printStored(lengths: readonly number[], resumed: readonly number[]): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'dsh-bench-'))
  const ctx = new Context()
  try {
    await ctx.plugin(JsonlSessionPersistence, { dir })
    await ctx.plugin(SessionService)
    await printAppends(ctx, dir, lengths)
    await printLoads(ctx, dir, resumed)
  } finally {
    await ctx.fiber.dispose()
    rmSync(dir, { recursive: true })
  }
}

async function printAppends(ctx: Context, dir: string, lengths: readonly number[]): Promise<void> {
  const inMemory: string[] = []
  const buffered: string[] = []
  const flushed: string[] = []
  const plain: string[] = []
  const ratios: string[] = []
  const memory = new Player(emptySession())
  const stored = new Player(await ctx.get('sessions')!.create())
  for (const length of lengths) {
    for (const [player, figures] of [[memory, inMemory], [stored, buffered]] as const) {
      await grow(player, length)
      figures.push(fixed(await appendUs(player)))
    }
    const { oursMs, plainMs } = await flushMs(stored.session, dir)
    flushed.push(fixed(oursMs * 1000, 0))
    plain.push(fixed(plainMs * 1000, 0))
    ratios.push(fixed(oursMs / plainMs, 2))
  }
  await ctx.get('sessions')!.close(stored.session)
  line('events in the log', ...lengths)
  line('append + folds, in memory, µs an event', ...inMemory)
  line('append + folds, buffered for the file, µs', ...buffered)
  line('append and flush one event, µs (median)', ...flushed)
  line('peer: write + fdatasync of as much, µs', ...plain)
  line('flushed / peer', ...ratios)
}

async function grow(player: Player, length: number): Promise<void> {
  const { session } = player
  while (session.log.length < length) {
    for (let step = 0; step < MEASURED_STEPS && session.log.length < length; step++) player.playStep()
    await session.flush()
  }
}

/** The best of three; folds are read at every step, as a loop does. */
async function appendUs(player: Player): Promise<number> {
  const { session } = player
  const meter = tokenMeter()
  const readFolds = (): void => {
    session.deriveMessages()
    openCallsAt(session, session.surface.entries.length)
    meter.measure(session)
  }
  readFolds()
  let bestUs = Infinity
  for (let run = 0; run < 3; run++) {
    const before = session.log.length
    const ms = await elapsedMs(() => {
      for (let step = 0; step < MEASURED_STEPS; step++) {
        player.playStep()
        readFolds()
      }
    })
    bestUs = Math.min(bestUs, (ms * 1000) / (session.log.length - before))
    await session.flush()
  }
  return bestUs
}

/** Medians, taken in turns so that both meet the same disk. */
async function flushMs(session: Session, dir: string): Promise<{ oursMs: number; plainMs: number }> {
  const path = join(dir, 'plain')
  const handle = await open(path, 'w')
  const ours: number[] = []
  const plain: number[] = []
  let position = 0
  for (let count = 0; count < MEASURED_FLUSHES; count++) {
    const event = session.append('command/done', { commandId: `command-${count}`, text: RESULT })
    ours.push(await elapsedMs(() => session.flush()))
    const bytes = Buffer.from(`${JSON.stringify(event)}\n`)
    plain.push(await elapsedMs(async () => {
      await handle.write(bytes, 0, bytes.length, position)
      await handle.datasync()
    }))
    position += bytes.length
  }
  await handle.close()
  return { oursMs: median(ours), plainMs: median(plain) }
}

async function printLoads(ctx: Context, dir: string, lengths: readonly number[]): Promise<void> {
  const loads: Loaded[] = []
  const peers: Loaded[] = []
  let sizes = { bytes: 0, data: 0, text: 0, events: 1 }
  for (const length of lengths) {
    const player = new Player(await ctx.get('sessions')!.create({ id: `events-${length}` }))
    await grow(player, length)
    await ctx.get('sessions')!.close(player.session)
    if (sizes.bytes === 0) sizes = await sizesOf(join(dir, `events-${length}.jsonl`))
    loads.push(inChild(dir, `events-${length}`))
    peers.push(inChild(dir, `events-${length}`, 'plain'))
  }
  const mb = (bytes: number): string => fixed(bytes / 2 ** 20, 0)
  line('events in the file', ...lengths)
  line('surface entries', ...loads.map(({ entries }) => entries))
  line('resume + folds, ms', ...loads.map(({ ms }) => fixed(ms, 0)))
  line('peer: readline + JSON.parse, kept, ms', ...peers.map(({ ms }) => fixed(ms, 0)))
  line('resume / peer', ...loads.map(({ ms }, index) => fixed(ms / peers[index]!.ms, 2)))
  line('resume + folds, ms of processor time', ...loads.map(({ cpuMs }) => fixed(cpuMs, 0)))
  line('peer', ...peers.map(({ cpuMs }) => fixed(cpuMs, 0)))
  line('peak above the bare process, MiB', ...loads.map(({ peakBytes, beforeBytes }) => mb(peakBytes - beforeBytes)))
  line('peer', ...peers.map(({ peakBytes, beforeBytes }) => mb(peakBytes - beforeBytes)))
  line('in use once resumed, MiB', ...loads.map(({ keptBytes }) => fixed(keptBytes / 2 ** 20)))
  line('peer', ...peers.map(({ keptBytes }) => fixed(keptBytes / 2 ** 20)))
  line('bytes an event', fixed(sizes.bytes / sizes.events, 0))
  line('… beyond its data as JSON', fixed((sizes.bytes - sizes.data) / sizes.events))
  line('… beyond texts and arguments (target ≤ 160)', fixed((sizes.bytes - sizes.text) / sizes.events))
}

function inChild(dir: string, id: string, ...how: string[]): Loaded {
  const program = fileURLToPath(new URL('./stored-child.ts', import.meta.url))
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', program, dir, id, ...how], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })) as Loaded
}

/** What a file spends; `text` is what people, models and tools said, `data` the JSON around it too. */
async function sizesOf(path: string): Promise<{ bytes: number; data: number; text: number; events: number }> {
  const { events } = await readSessionFile(path)
  let [data, text] = [0, 0]
  for (const event of events) {
    data += Buffer.byteLength(JSON.stringify(event.data))
    if (event.type !== 'user/message' && event.type !== 'assistant/message' && event.type !== 'tool/result') continue
    for (const block of event.data.content) {
      if (block.type === 'text') text += Buffer.byteLength(block.text)
      else if (block.type === 'tool-call') text += Buffer.byteLength(block.name + block.arguments)
    }
  }
  return { bytes: statSync(path).size, data, text, events: events.length }
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!
}
