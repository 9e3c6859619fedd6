/**
 * Killer: runs a process of `child.ts`, ends it with SIGKILL and keeps what it said.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Seq } from '@deepseek-ai/dsh-session'
import type { Order, Stop } from './order.ts'
import type { StageInit } from './stage.ts'

/** Where it stops by itself; or so long after it was begun; or so long after it said so many lines. Milliseconds. */
export type KillPoint =
  | { readonly stop: Stop }
  | { readonly afterMs: number }
  | { readonly afterLines: number; readonly delayMs: number }

export interface LastWords {
  /** The hash of every event that it handed to its store, by seq. */
  readonly appended: ReadonlyMap<Seq, string>
  /** Everything up to here was said to be durable; -1 for nothing. */
  readonly acknowledgedSeq: Seq
}

const PROGRAM = fileURLToPath(new URL('./child.ts', import.meta.url))

/** @throws Error with its stderr when the process ends by itself. */
export async function runAndKill(init: StageInit, point: KillPoint): Promise<LastWords> {
  const order: Order = 'stop' in point ? { stop: point.stop } : {}
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ ...init, ...order })], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // One for all the processes beside each other: to start one is most of what a kill costs.
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(init.dir), 'compile-cache') },
  })
  let said = ''
  let lines = 0
  let complaint = ''
  let dying = false
  const kill = (): void => {
    dying = true
    child.kill('SIGKILL')
  }
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    said += text
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1
    if (dying) return
    if ('stop' in point) {
      if (said.endsWith('\n=\n')) kill()
    } else if ('afterLines' in point && lines >= point.afterLines) {
      dying = true
      void delay(point.delayMs).then(kill)
    }
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  if ('afterMs' in point) void delay(point.afterMs).then(kill)
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself (${code}): ${complaint}`)
  return lastWords(said)
}

function lastWords(said: string): LastWords {
  const appended = new Map<Seq, string>()
  let acknowledgedSeq = -1
  for (const line of said.slice(0, said.lastIndexOf('\n') + 1).split('\n')) {
    if (line.startsWith('!')) acknowledgedSeq = Math.max(acknowledgedSeq, Number(line.slice(1)))
    if (!line.startsWith('+')) continue
    const [seq, hash] = line.slice(1).split(' ') as [string, string]
    appended.set(Number(seq), hash)
  }
  return { appended, acknowledgedSeq }
}
