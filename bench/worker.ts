/**
 * A contender in a process of its own: `worker.ts MODULE` answers requests, one line of JSON each way; `worker.ts MODULE read
 * DIR` reads a stored conversation once, so that its peak of memory is its own.
 */
import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import type { Contender, Sampler } from './contender.ts'
import { elapsedMs } from './measure.ts'
import { tried, type Trial } from './trial.ts'

export type Request = { readonly figure: string; readonly size: number } | { readonly trial: Trial }

export type Answer = { readonly values: Values } | { readonly absent: true } | { readonly error: string }

/** By unit or name of the unit's kind: `value`, and of a stored log `peakMiB`, `keptMiB`, `bytes`. */
export interface Values {
  readonly [name: string]: number
}

/** Libraries print what they like on stdout and stderr. */
const ANSWERS_FD = 3
const [module, ...how] = process.argv.slice(2) as [string, ...string[]]
const { default: contender } = (await import(pathToFileURL(module).href)) as { default: Contender }
if (how[0] === 'read') writeSync(ANSWERS_FD, JSON.stringify(await readOnce(how[1]!)))
else await serve()

async function serve(): Promise<void> {
  let prepared: { key: string; sample: () => Promise<Values>; close?: () => Promise<void> } | undefined
  tell({ values: {}, name: contender.name })
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    if ('trial' in request) {
      tell(await judged(request.trial))
      continue
    }
    const { figure, size } = request
    const key = `${figure} ${size}`
    try {
      if (prepared?.key !== key) {
        await prepared?.close?.()
        prepared = undefined
        globalThis.gc!()
        const next = figure === 'resume' || figure === 'open' ? await storedSampler(size, figure === 'resume') : await figureSampler(figure, size)
        if (next === undefined) {
          tell({ absent: true })
          continue
        }
        prepared = { key, ...next }
      }
      globalThis.gc!()
      tell({ values: await prepared.sample() })
    } catch (error) {
      prepared = undefined
      tell({ error: error instanceof Error ? error.message : String(error) })
    }
  }
  await prepared?.close?.()
}

function tell(answer: object): void {
  writeSync(ANSWERS_FD, `${JSON.stringify(answer)}\n`)
}

async function judged(trial: Trial): Promise<Answer> {
  if (contender.converse === undefined) return { absent: true }
  try {
    return { values: { ...(await tried(contender.converse, trial)) } }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

async function figureSampler(figure: string, size: number): Promise<{ sample: () => Promise<Values> } | undefined> {
  const sampler: Sampler | undefined = await contender.figures[figure]?.(size)
  return sampler && { sample: async () => ({ value: await sampler() }) }
}

async function storedSampler(steps: number, compacted: boolean): Promise<{ sample: () => Promise<Values>; close: () => Promise<void> } | undefined> {
  if (contender.store === undefined) return undefined
  const dir = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
  const { path, events, textBytes } = await contender.store.write(dir, steps, compacted)
  const overhead = ((await stat(path)).size - textBytes) / events
  return {
    sample: async () => {
      const { output } = spawnSync(process.execPath, ['--expose-gc', import.meta.filename, module, 'read', dir], { encoding: 'utf8', stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
      return { ...(JSON.parse(output[ANSWERS_FD]!) as Values), events, overheadBytes: overhead }
    },
    close: () => rm(dir, { recursive: true }),
  }
}

async function readOnce(dir: string): Promise<Values> {
  const usedBytes = (): number => {
    globalThis.gc!()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = usedBytes()
  const rss = process.memoryUsage.rss()
  let kept: unknown
  const value = await elapsedMs(async () => {
    kept = await contender.store!.read(dir)
  })
  const peak = process.resourceUsage().maxRSS * 1024
  const values = { value, peakMiB: (peak - rss) / 2 ** 20, keptMiB: (usedBytes() - before) / 2 ** 20 }
  if (kept === undefined) throw new Error('nothing was read')
  return values
}
