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
import type { Contender, Sampler, Store } from './contender.ts'
import { elapsedMs } from './measure.ts'
import { tried, type Trial } from './trial.ts'

/** A figure is prepared before it is sampled, each time that it or its size changes. */
export type Request = { readonly prepare: string; readonly size: number } | 'sample' | { readonly trial: Trial }

export type Answer = { readonly values: Values } | { readonly absent: true } | { readonly error: string }

/** The figure itself is `value`; of a stored conversation there is more. */
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
  let prepared: Prepared | undefined
  tell({ values: {} })
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    try {
      if (request === 'sample') {
        globalThis.gc!()
        tell({ values: await prepared!.sample() })
      } else if ('trial' in request) {
        tell(contender.converse === undefined ? { absent: true } : { values: { ...(await tried(contender.converse, request.trial)) } })
      } else {
        await prepared?.close?.()
        prepared = undefined
        prepared = await prepare(request.prepare, request.size)
        tell(prepared === undefined ? { absent: true } : { values: {} })
      }
    } catch (error) {
      tell({ error: error instanceof Error ? error.message : String(error) })
    }
  }
  await prepared?.close?.()
}

interface Prepared {
  sample(): Promise<Values>
  close?(): Promise<void>
}

function tell(answer: object): void {
  writeSync(ANSWERS_FD, `${JSON.stringify(answer)}\n`)
}

async function prepare(figure: string, size: number): Promise<Prepared | undefined> {
  if (figure === 'resume' || figure === 'open') return contender.store && prepareStored(contender.store, size, figure === 'resume')
  const sampler: Sampler | undefined = await contender.figures[figure]?.(size)
  return sampler && { sample: async () => ({ value: await sampler() }) }
}

async function prepareStored(store: Store, steps: number, compacted: boolean): Promise<Prepared> {
  const dir = await mkdtemp(join(tmpdir(), 'dsh-bench-'))
  const { path, events, textBytes } = await store.write(dir, steps, compacted)
  const overheadBytes = (await stat(path)).size - textBytes
  return {
    sample: async () => {
      const { output } = spawnSync(process.execPath, ['--expose-gc', import.meta.filename, module, 'read', dir], { encoding: 'utf8', stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
      return { ...(JSON.parse(output[ANSWERS_FD]!) as Values), overheadBytesAnEvent: overheadBytes / events, overheadBytesAStep: overheadBytes / steps }
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
