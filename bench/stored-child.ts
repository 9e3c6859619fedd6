/**
 * One measurement in a process of its own, so that its peak is its own: `FOLDER ID` resumes a stored session with a meter and
 * a compaction engine loaded, and `FOLDER ID plain` parses the same file into an array. One line of JSON on stdout.
 */
import { Context } from '@deepseek-ai/cordis'
import { openCallsAt } from '@deepseek-ai/dsh-compaction'
import { latestHeader, openTurn, SessionService, type Session } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import { TokenMeterService } from '@deepseek-ai/dsh-token-meter'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { elapsedMs } from './measure.ts'

export interface Loaded {
  readonly ms: number
  /** Of processor time, of all threads: what a busy machine does not change. */
  readonly cpuMs: number
  /** Resident memory at its highest, and what of it was there before; heap and buffers in use afterwards. */
  readonly peakBytes: number
  readonly beforeBytes: number
  readonly keptBytes: number
  readonly events: number
  readonly entries: number
}

const [dir, id, how] = process.argv.slice(2) as [string, string, string?]

function used(): number {
  globalThis.gc!()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

async function measured(load: () => Promise<{ events: number; entries: number }>): Promise<Loaded> {
  const before = used()
  const beforeBytes = process.memoryUsage.rss()
  let sizes = { events: 0, entries: 0 }
  const cpuBefore = process.cpuUsage()
  const ms = await elapsedMs(async () => {
    sizes = await load()
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  return { ms, cpuMs: (user + system) / 1000, peakBytes: process.resourceUsage().maxRSS * 1024, beforeBytes, keptBytes: used() - before, ...sizes }
}

async function resumed(): Promise<Loaded> {
  const ctx = new Context()
  await ctx.plugin(JsonlSessionPersistence, { dir })
  for (const part of [SessionService, TokenMeterService]) await ctx.plugin(part)
  ctx.on('session/loading', log => void openCallsAt(log, 0))
  let session: Session | undefined
  const loaded = await measured(async () => {
    session = await ctx.get('sessions')!.resume(id)
    ctx.get('tokenMeter')!.measure(session)
    session.deriveMessages()
    openTurn(session)
    latestHeader(session)
    return { events: session.log.length, entries: session.surface.entries.length }
  })
  await ctx.fiber.dispose()
  return loaded
}

const kept: unknown[] = []

async function parsed(): Promise<Loaded> {
  return measured(async () => {
    for await (const text of createInterface({ input: createReadStream(join(dir, `${id}.jsonl`)) })) kept.push(JSON.parse(text))
    return { events: kept.length - 1, entries: 0 }
  })
}

process.stdout.write(JSON.stringify(how === 'plain' ? await parsed() : await resumed()))
