/**
 * What a program costs that does the obvious and no more: an array of messages that it copies, prices and joins anew each
 * time, and a file of lines. The measure of speed where there is no library to install, and for durable steps and for reading
 * a log the floor beneath everybody.
 */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { createReadStream, createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Contender, Sampler } from './contender.ts'
import { elapsedMs, LoopClock, median, microsecondsEach } from './measure.ts'
import { longConversation, stepEntries, SUMMARY, toolLoop, type Entry } from './workload.ts'

const plain: Contender = {
  figures: { check, 'check-in-loop': check, append, derive, cold, compact, loop, durable },
  store: { write, read },
}
export default plain

function price(entry: Entry): number {
  return Math.ceil(entry.text.length / 4) + 4 + (entry.role === 'assistant' ? entry.calls.reduce((sum, call) => sum + call.arguments.length, 0) : 0)
}

function priceAll(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + price(entry), 0)
}

function check(size: number): Sampler {
  const entries = [...toolLoop(size)]
  return () => microsecondsEach(() => priceAll(entries))
}

function append(size: number): Sampler {
  let entries: readonly Entry[] = [...toolLoop(size)]
  let step = 0
  return async () =>
    (await microsecondsEach(() => {
      entries = [...entries, ...structuredClone(stepEntries(`call-${(step += 1)}`))]
      priceAll(entries)
    })) / 2
}

function derive(size: number): Sampler {
  const entries = [...toolLoop(size)]
  let messages: unknown
  return async () => {
    const samples: number[] = []
    for (let count = 0; count < 50; count++) {
      entries.push(...stepEntries(`call-${count}`))
      samples.push(await elapsedMs(() => (messages = entries.map(entry => ({ ...entry })))))
    }
    if (messages === undefined) throw new Error('nothing was derived')
    return median(samples) * 1000
  }
}

function cold(size: number): Sampler {
  const lines = [...toolLoop(size)].map(entry => structuredClone(entry))
  return () =>
    elapsedMs(() => {
      const open = new Set<string>()
      for (const entry of lines) {
        if (entry.role === 'assistant') for (const call of entry.calls) open.add(call.id)
        else if (entry.role === 'tool') open.delete(entry.callId)
      }
      return priceAll(lines.map(entry => ({ ...entry })))
    })
}

/** The head as text, which the model answers with a summary, and the tail. */
function compact(size: number): Sampler {
  const entries = [...toolLoop(size)]
  return () =>
    elapsedMs(() => {
      const prompt = entries.slice(0, -20).map(entry => `${entry.role}: ${entry.text}`).join('\n')
      if (prompt.length < size) throw new Error('nothing was compacted')
      return [{ role: 'user', text: SUMMARY }, ...entries.slice(-20)]
    })
}

function loop(steps: number): Sampler {
  return async () => {
    const clock = new LoopClock()
    let entries: readonly Entry[] = [...toolLoop(2 * steps)]
    for (let step = 0; clock.again(); step++) {
      for (const entry of stepEntries(`call-${step}`)) entries = [...entries, await Promise.resolve(entry)]
      priceAll(entries)
    }
    return clock.stepsPerSecond()
  }
}

/** What the disk allows: each entry of a step is written and waited for, and nothing else is done. */
function durable(): Sampler {
  return async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
    const clock = new LoopClock()
    const handle = await open(join(dir, 'log'), 'a')
    for (let step = 0; clock.again(); step++) {
      for (const entry of stepEntries(`call-${step}`)) {
        await handle.write(`${JSON.stringify(entry)}\n`)
        await handle.datasync()
      }
    }
    await handle.close()
    await rm(dir, { recursive: true })
    return clock.stepsPerSecond()
  }
}

async function write(dir: string, steps: number, compacted: boolean): Promise<{ path: string; events: number; textBytes: number }> {
  const path = join(dir, 'long')
  await writeFile(path, '')
  const file = createWriteStream(path)
  let [events, textBytes] = [0, 0]
  for (const item of longConversation(steps, compacted)) {
    events += 1
    if (!('shadow' in item)) textBytes += Buffer.byteLength(item.text)
    if (!file.write(`${JSON.stringify(item)}\n`)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
  return { path, events, textBytes }
}

async function read(dir: string): Promise<unknown> {
  const kept: unknown[] = []
  for await (const line of createInterface({ input: createReadStream(join(dir, 'long')) })) kept.push(JSON.parse(line))
  return kept
}
