/**
 * Storage: a folder of session files, `<id>.jsonl` each.
 */
import { access, readdir, type FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { SessionEvent, SessionHeader, SessionHolder, SessionListing, SessionStorage, SessionStore } from '@deepseek-ai/dsh-session'
import { checkSessionId, SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { isSystemError, makeDirectory, publish, writeLines } from './files.ts'
import { titleOf, tokensOf } from './glance.ts'
import { encodeHeader } from './lines.ts'
import { acquireLock, holderOf } from './lock.ts'
import { Offsets } from './offsets.ts'
import { loadLog, openFile, readSessionHeader } from './session-file.ts'
import { JsonlStore } from './store.ts'
import { setAside } from './torn.ts'

const SUFFIX = '.jsonl'
const LOCK_SUFFIX = '.lock'

/** What a list reads of each file, from either end. */
const HEAD_BYTES = 256 << 10
const TAIL_BYTES = 256 << 10

export class JsonlStorage implements SessionStorage {
  private readonly dir: string
  private readonly report: (problem: string) => void
  private readonly stores = new Set<JsonlStore>()
  private closed = false

  /**
   * @param dir an absolute path; created, readable by its owner alone, with the first session.
   * @param report is told in words what could not be read or closed.
   */
  constructor(dir: string, report: (problem: string) => void) {
    this.dir = dir
    this.report = report
  }

  async create(header: SessionHeader): Promise<SessionStore> {
    checkSessionId(header.id)
    try {
      await makeDirectory(this.dir)
    } catch (cause) {
      throw writeFailed(this.dir, cause)
    }
    const path = this.pathOf(header.id)
    return this.hold(header.id, path, async release => {
      if (await exists(path)) throw new SessionPersistenceError('SESSION_EXISTS', `session ${header.id} exists already: ${path}`)
      let durableBytes = 0
      const handle = await publish(path, async file => {
        durableBytes = await writeLines(file, [encodeHeader(header)], 0)
      }).catch(cause => {
        throw writeFailed(path, cause)
      })
      return new JsonlStore({ path, handle, header, offsets: new Offsets(), durableBytes, notices: [], release })
    })
  }

  async open(id: string, take: (event: SessionEvent) => void = () => {}): Promise<SessionStore> {
    checkSessionId(id)
    const path = this.pathOf(id)
    const handle = await openFile(path, 'r+').catch(cause => {
      throw writeFailed(path, cause)
    })
    try {
      return await this.hold(id, path, async release => {
        const { header, offsets, torn, goodBytes } = await loadLog(handle, path, take)
        checkName(header, id, path)
        const notices = torn === null ? [] : [await setAside(handle, path, torn).catch(cause => {
          throw writeFailed(path, cause)
        })]
        return new JsonlStore({ path, handle, header, offsets, durableBytes: goodBytes, notices, release })
      })
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async list(): Promise<readonly SessionListing[]> {
    const listings: SessionListing[] = []
    for (const name of await this.fileNames()) {
      const path = join(this.dir, name)
      try {
        listings.push(await this.listing(path, name.slice(0, -SUFFIX.length)))
      } catch (error) {
        this.report(`${path} was left out of the list: ${messageOf(error)}`)
      }
    }
    return listings.sort((one, other) => other.modifiedAt - one.modifiedAt)
  }

  /** Closes every open store and opens none any more; what fails is reported. */
  async close(): Promise<void> {
    this.closed = true
    for (const result of await Promise.allSettled([...this.stores].map(store => store.close()))) {
      if (result.status === 'rejected') this.report(messageOf(result.reason))
    }
  }

  private pathOf(id: string): string {
    return join(this.dir, id + SUFFIX)
  }

  /** Runs `make` as the one writer of a session, here and elsewhere; it stays the one until the store it made is closed. */
  private async hold(id: string, path: string, make: (release: () => Promise<void>) => Promise<JsonlStore>): Promise<JsonlStore> {
    const attempt = await acquireLock(path + LOCK_SUFFIX).catch(cause => {
      throw writeFailed(path, cause)
    })
    if ('busy' in attempt) throw new SessionPersistenceError('SESSION_BUSY', busyMessage(id, path, attempt.busy))
    let store: JsonlStore | undefined
    const release = async (): Promise<void> => {
      if (store !== undefined) this.stores.delete(store)
      await attempt.held.release().catch(error => this.report(`${path}${LOCK_SUFFIX} could not be removed: ${messageOf(error)}`))
    }
    try {
      store = await make(release)
    } catch (error) {
      await release()
      throw error
    }
    this.stores.add(store)
    if (!this.closed) return store
    await store.close()
    throw new SessionPersistenceError('SESSION_CLOSED', `session ${id} cannot be opened: its storage was closed`)
  }

  private async holder(path: string): Promise<SessionHolder | null> {
    try {
      const found = await holderOf(path + LOCK_SUFFIX)
      return found === null ? null : { pid: found.pid, host: found.host, startedAt: found.startedAt }
    } catch (error) {
      this.report(`who holds ${path} cannot be told: ${messageOf(error)}`)
      return null
    }
  }

  private async fileNames(): Promise<string[]> {
    try {
      return (await readdir(this.dir)).filter(name => name.endsWith(SUFFIX))
    } catch (error) {
      if (isSystemError(error, 'ENOENT')) return []
      throw error
    }
  }

  private async listing(path: string, id: string): Promise<SessionListing> {
    const handle: FileHandle = await openFile(path, 'r')
    try {
      const header = await readSessionHeader(handle, path)
      checkName(header, id, path)
      const { mtimeMs, size } = await handle.stat()
      const title = titleOf(await textAt(handle, 0, Math.min(size, HEAD_BYTES)))
      const tokens = tokensOf(await textAt(handle, Math.max(0, size - TAIL_BYTES), size))
      const holder = await this.holder(path)
      return {
        header,
        modifiedAt: Math.floor(mtimeMs),
        bytes: size,
        ...(title === undefined ? {} : { title }),
        ...(tokens === undefined ? {} : { tokens }),
        ...(holder === null ? {} : { holder }),
      }
    } finally {
      await handle.close()
    }
  }
}

function busyMessage(id: string, path: string, { pid, host, startedAt }: SessionHolder): string {
  const here = pid === process.pid && host === hostname()
  const holder = `${here ? 'this process' : 'another process'} (pid ${pid} on ${host}, started ${new Date(startedAt).toISOString()})`
  return `session ${id} is open in ${holder}; close it there first. If that process is gone for certain, remove ${path}${LOCK_SUFFIX}.`
}

/** A file under another session's name would have two of them under one id. */
function checkName(header: SessionHeader, id: string, path: string): void {
  if (header.id === id) return
  throw new SessionPersistenceError('SESSION_DAMAGED', `${path}: line 1: it holds session ${header.id}. Nothing was changed; rename it to ${header.id}${SUFFIX}.`)
}

/** An error that speaks for itself stays as it is. */
function writeFailed(path: string, cause: unknown): SessionPersistenceError {
  if (cause instanceof SessionPersistenceError) return cause
  return new SessionPersistenceError('SESSION_WRITE_FAILED', `${path} could not be written: ${messageOf(cause)}`, { cause })
}

/** The text between two offsets, less where the file has become shorter. */
async function textAt(handle: FileHandle, from: number, to: number): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from)
  return buffer.toString('utf8', 0, bytesRead)
}

function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
