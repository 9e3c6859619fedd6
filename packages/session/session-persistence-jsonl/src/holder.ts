/**
 * Holders: which process a lock belongs to, and whether that process is gone for certain.
 *
 * A number alone names no process, since numbers are used again: where `/proc` tells when a process started (in ticks since
 * boot), number and start together do, until the next boot. What cannot be seen from here (another host, another container)
 * is never taken for dead.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'
import type { SessionHolder } from '@deepseek-ai/dsh-session'
import { isSystemError } from './files.ts'

export interface Holder extends SessionHolder {
  /** Of this boot of the machine, and the three below where the system has a `/proc`. */
  readonly bootId?: string
  /** Process numbers mean the same within one of these. */
  readonly pidNamespace?: string
  /** Clock ticks between boot and the start of the process. */
  readonly processStart?: string
}

/** This process. */
export function thisHolder(): Holder {
  const bootId = unlessUnknown(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  const pidNamespace = unlessUnknown(() => readlinkSync('/proc/self/ns/pid'))
  const processStart = processStatus(process.pid)?.start
  return {
    pid: process.pid,
    host: hostname(),
    startedAt: Math.round(performance.timeOrigin),
    ...(bootId === undefined ? {} : { bootId }),
    ...(pidNamespace === undefined ? {} : { pidNamespace }),
    ...(processStart === undefined ? {} : { processStart }),
  }
}

/** A holder as it was written down; null for anything else. */
export function parseHolder(value: unknown): Holder | null {
  const { pid, host, startedAt, bootId, pidNamespace, processStart } = Object(value) as Record<string, unknown>
  if (!Number.isSafeInteger(pid) || (pid as number) <= 0 || typeof host !== 'string' || !Number.isFinite(startedAt)) return null
  return {
    pid: pid as number,
    host,
    startedAt: startedAt as number,
    ...(typeof bootId === 'string' ? { bootId } : {}),
    ...(typeof pidNamespace === 'string' ? { pidNamespace } : {}),
    ...(typeof processStart === 'string' ? { processStart } : {}),
  }
}

/** Whether nobody can be there any more: certain when true, while false may also mean that it cannot be seen from `here`. */
export function isDead(holder: Holder, here: Holder = thisHolder()): boolean {
  if (holder.host !== here.host) return false
  if (holder.bootId !== here.bootId) return holder.bootId !== undefined && here.bootId !== undefined
  if (holder.pidNamespace !== here.pidNamespace) return false
  if (!hasProcess(holder.pid)) return true
  const status = processStatus(holder.pid)
  if (status === null) return false
  return status.ended || (holder.processStart !== undefined && holder.processStart !== status.start)
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isSystemError(error, 'ESRCH') // another user's process may not be signalled, and is there
  }
}

/** Null where the system does not tell. A process that ended and was not waited for yet still has a number. */
function processStatus(pid: number): { readonly start: string; readonly ended: boolean } | null {
  const line = unlessUnknown(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (line === undefined) return null
  // proc(5): the name in parentheses may hold anything; state and start are the 1st and the 20th field behind it.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return { start: fields[19] ?? '', ended: fields[0] === 'Z' || fields[0] === 'X' }
}

/** Undefined where a file of `/proc` is missing or may not be read: then it tells nothing. */
function unlessUnknown<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
