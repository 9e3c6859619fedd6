/**
 * Locks between processes: a file that names its holder, and exists while the holder has it.
 *
 * Why there is never more than one holder:
 *
 * - A lock file appears complete or not at all: it is written and fsynced under another name, then linked to its own, and
 *   link(2) fails where the name is taken. Of any number who try, one succeeds.
 * - Only its holder removes it. So the file of a dead holder stays until somebody *takes it over*.
 * - Who takes over first acquires a second lock beside it, the *guard*, by these same rules. Under the guard the file is read
 *   again; only if the same dead holder's token is still in it does a rename put the new file in its place. Nobody else can
 *   replace it in between: a link fails while the name exists, its holder is dead, and every other taker needs the guard. A
 *   taker that was slow finds another token and backs off.
 * - A taker that dies leaves a guard with a dead holder, which is taken over likewise, one level up.
 *
 * A holder is dead only if that is certain (`isDead`). Nothing is refreshed and nothing expires: a process that sleeps for a
 * week still holds what it holds.
 */
import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, unlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isSystemError } from './files.ts'
import { isDead, parseHolder, thisHolder, type Holder } from './holder.ts'

/** Rounds of an attempt; each but the last means that somebody else got on. */
const MAX_ROUNDS = 40
/** A guard is held for a few file operations. With the rounds above, nobody waits longer than 0.4 s for one. */
const GUARD_WAIT_MS = 10

export interface HeldLock {
  /** Removes the lock; does nothing when it is gone or somebody else's. */
  release(): Promise<void>
}

export type LockAttempt = { readonly held: HeldLock } | { readonly busy: Holder }

interface LockFile {
  readonly holder: Holder
  /** Unlike that of every other acquisition. */
  readonly token: string
}

/**
 * Acquires the lock `path` for this process, or tells who has it, which may be this process too. A dead holder is taken over.
 *
 * @throws Error when there is a file of this name that is no lock, and errors of the file system as they are.
 */
export async function acquireLock(path: string): Promise<LockAttempt> {
  const token = randomUUID()
  const temporary = `${path}.tmp-${token}`
  let busy = thisHolder()
  try {
    await writeDurably(temporary, `${JSON.stringify({ ...busy, token })}\n`)
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (await linked(temporary, path)) return { held: heldLock(path, token) }
      const found = await readLock(path)
      if (found === null) continue // let go of in this moment
      if (!isDead(found.holder)) return { busy: found.holder }
      const outcome = await takeOver(path, found.token, temporary)
      if (outcome === 'taken') return { held: heldLock(path, token) }
      if (outcome === 'changed') continue
      busy = outcome.guardedBy
      await delay(GUARD_WAIT_MS)
    }
    return { busy }
  } finally {
    await unlink(temporary).catch(ignoreAbsent)
  }
}

/** Who holds the lock `path` at this moment, as far as can be seen from here; null when nobody does. Never waits for anyone. */
export async function holderOf(path: string): Promise<Holder | null> {
  const found = await readLock(path)
  return found === null || isDead(found.holder) ? null : found.holder
}

/** Puts `replacement` in the place of the lock with this token, if it is still there. */
async function takeOver(path: string, deadToken: string, replacement: string): Promise<'taken' | 'changed' | { readonly guardedBy: Holder }> {
  const guard = await acquireLock(`${path}.guard`)
  if ('busy' in guard) return { guardedBy: guard.busy }
  try {
    if ((await readLock(path))?.token !== deadToken) return 'changed'
    await rename(replacement, path)
    return 'taken'
  } finally {
    await guard.held.release()
  }
}

function heldLock(path: string, token: string): HeldLock {
  return {
    async release() {
      if ((await readLock(path))?.token === token) await unlink(path).catch(ignoreAbsent)
    },
  }
}

/** Whether `path` was free and is now another name of `target`. */
async function linked(target: string, path: string): Promise<boolean> {
  try {
    await link(target, path)
    return true
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false
    throw error
  }
}

async function readLock(path: string): Promise<LockFile | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return null
    throw error
  }
  const lock = parseLock(text)
  if (lock === null) throw new Error(`${path} is no lock that this version wrote; remove it if no other process uses what it locks`)
  return lock
}

function parseLock(text: string): LockFile | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const holder = parseHolder(value)
  const { token } = Object(value) as { readonly token?: unknown }
  return holder === null || typeof token !== 'string' ? null : { holder, token }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function ignoreAbsent(error: unknown): void {
  if (!isSystemError(error, 'ENOENT')) throw error
}
