/**
 * Groups: the process groups that commands began, for as long as anything of them may be there.
 *
 * However the process goes, they go with it: those that are left when it exits are ended by force, since nobody can wait then.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Between asking a group to end and ending it. */
export const KILL_GRACE_MS = 2_000
const POLL_MS = 20

export class Groups {
  private readonly begun = new Set<number>()
  private readonly onExit = (): void => this.signal('SIGKILL')

  /** A group's number is free for others once it is gone, so those are forgotten now. */
  add(group: number): void {
    this.forgetGone()
    if (this.begun.size === 0) process.on('exit', this.onExit)
    this.begun.add(group)
  }

  delete(group: number): void {
    this.begun.delete(group)
    if (this.begun.size === 0) process.off('exit', this.onExit)
  }

  /** Asks all of them to end, and ends those that do not. */
  async end(): Promise<void> {
    this.forgetGone()
    this.signal('SIGTERM')
    for (let waitedMs = 0; this.begun.size > 0 && waitedMs < KILL_GRACE_MS; waitedMs += POLL_MS) {
      await delay(POLL_MS)
      this.forgetGone()
    }
    this.signal('SIGKILL')
    for (const group of this.begun) this.delete(group)
  }

  private signal(signal: NodeJS.Signals): void {
    for (const group of this.begun) signalGroup(group, signal)
  }

  private forgetGone(): void {
    for (const group of this.begun) if (!isThere(group)) this.delete(group)
  }
}

/** Whether anything of it runs. A signal also reaches processes that have ended while nobody collects them, as in many containers. */
export function isThere(group: number): boolean {
  if (!signalGroup(group, 0)) return false
  const stats = processStats()
  return stats.length === 0 || stats.some(stat => {
    const [, state, pgrp] = /^\d+ \(.*\) (\S) \d+ (\d+) /s.exec(stat) ?? []
    return Number(pgrp) === group && state !== 'Z' && state !== 'X'
  })
}

/** One line a process, where the system has them. */
function processStats(): string[] {
  try {
    return readdirSync('/proc').filter(name => /^\d+$/.test(name)).flatMap(pid => {
      try {
        return [readFileSync(`/proc/${pid}/stat`, 'utf8')]
      } catch {
        return [] // gone meanwhile
      }
    })
  } catch {
    return []
  }
}

/** False when there is no such group, or none of it may be signalled; signal 0 only asks. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}
