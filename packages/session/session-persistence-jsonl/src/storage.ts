/**
 * Storage: a folder of session files, `<id>.jsonl` each.
 */
import { access, readdir, realpath, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { SessionHeader, SessionListing, SessionStorage, SessionStore } from '@deepseek-ai/dsh-session'
import { checkSessionId, SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { isSystemError, makeDirectory, publish, writeLines } from './files.ts'
import { encodeHeader } from './lines.ts'
import { loadLog, openFile, readSessionHeader } from './session-file.ts'
import { JsonlStore } from './store.ts'
import { setAside } from './torn.ts'

const SUFFIX = '.jsonl'

/** Paths that this process writes to, whichever storage opened them: one writer a session is a law of the process. */
const writing = new Set<string>()

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
    return this.hold(header.id, async (path, release) => {
      if (await exists(path)) throw new SessionPersistenceError('SESSION_EXISTS', `session ${header.id} exists already: ${path}`)
      let durableBytes = 0
      const handle = await publish(path, async file => {
        durableBytes = await writeLines(file, [encodeHeader(header)], 0)
      }).catch(cause => {
        throw writeFailed(path, cause)
      })
      return new JsonlStore({ path, handle, header, events: [], durableBytes, notices: [], release })
    })
  }

  async open(id: string): Promise<SessionStore> {
    checkSessionId(id)
    return this.hold(id, async (path, release) => {
      const handle = await openFile(path, 'r+')
      try {
        const { header, events, torn, goodBytes } = await loadLog(handle, path)
        checkName(header, id, path)
        const notices = torn === null ? [] : [await setAside(handle, path, torn)]
        return new JsonlStore({ path, handle, header, events, durableBytes: goodBytes, notices, release })
      } catch (error) {
        await handle.close()
        throw error
      }
    })
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

  /** Runs `make` as the one writer of a session; it stays the one until the store it made is closed. */
  private async hold(id: string, make: (path: string, release: () => void) => Promise<JsonlStore>): Promise<JsonlStore> {
    const folder = await realpath(this.dir).catch(() => this.dir)
    const path = join(folder, id + SUFFIX)
    if (writing.has(path)) {
      throw new SessionPersistenceError('SESSION_BUSY', `session ${id} is open already in this process (pid ${process.pid}); close it there first`)
    }
    writing.add(path)
    let store: JsonlStore | undefined
    const release = () => {
      writing.delete(path)
      if (store !== undefined) this.stores.delete(store)
    }
    try {
      store = await make(path, release)
    } catch (error) {
      release()
      throw error
    }
    this.stores.add(store)
    if (!this.closed) return store
    await store.close()
    throw new SessionPersistenceError('SESSION_CLOSED', `session ${id} cannot be opened: its storage was closed`)
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
      return { header, modifiedAt: Math.floor(mtimeMs), bytes: size }
    } finally {
      await handle.close()
    }
  }
}

/** A file under another session's name would have two of them under one id. */
function checkName(header: SessionHeader, id: string, path: string): void {
  if (header.id === id) return
  throw new SessionPersistenceError('SESSION_DAMAGED', `${path}: line 1: it holds session ${header.id}. Nothing was changed; rename it to ${header.id}${SUFFIX}.`)
}

function writeFailed(path: string, cause: unknown): SessionPersistenceError {
  return new SessionPersistenceError('SESSION_WRITE_FAILED', `${path} could not be written: ${messageOf(cause)}`, { cause })
}

function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
