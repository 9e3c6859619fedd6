/**
 * Writer: lines go into a file whole, in order, and durably on `flush`.
 *
 *     file     ████████████ durable ░░░░░░░░░░ being written
 *     queue                         [ batch … ][ appended meanwhile … ]
 *
 * The queue holds every line that is not durable yet, and gives one up only after its fsync. A commit takes the whole queue;
 * what is appended while it runs goes out with the next one. After a failed write or fsync the file goes back to the durable
 * offset, and the next flush writes the same lines again, in order: the page cache cannot be trusted with what an fsync
 * refused.
 */
import { fstatSync, statSync, type Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { writeLines } from './files.ts'

/** As a person reads it. */
export function eventCount(count: number): string {
  return count === 1 ? '1 event' : `${count} events`
}

export class LineWriter {
  private readonly path: string
  private readonly handle: FileHandle
  private queue: string[] = []
  private durable: number
  /** The file may hold bytes behind the durable offset that nobody may rely on. */
  private soiled = false
  private running: Promise<void> | undefined
  /** The commit after the running one; not begun, so it takes whatever is appended until then. */
  private waiting: Promise<void> | undefined

  /**
   * @param handle open for writing on `path`; the caller closes it after the last flush.
   * @param durableBytes the length of the file, all of it durable.
   */
  constructor(path: string, handle: FileHandle, durableBytes: number) {
    this.path = path
    this.handle = handle
    this.durable = durableBytes
  }

  /** Bytes of the file that survive power loss. */
  get durableBytes(): number {
    return this.durable
  }

  /** The lines behind the durable ones, in order. Grows with `append`, replaced when lines become durable. */
  get pendingLines(): readonly string[] {
    return this.queue
  }

  /** @param line with its newline. */
  append(line: string): void {
    this.queue.push(line)
  }

  /**
   * Resolves once every line appended so far is durable.
   *
   * @throws SessionPersistenceError `SESSION_WRITE_FAILED` with its cause; no line is forgotten.
   */
  flush(): Promise<void> {
    if (this.waiting !== undefined) return this.waiting
    if (this.running === undefined) return this.start()
    this.waiting = this.running.then(() => this.start(), () => this.start())
    return this.waiting
  }

  private start(): Promise<void> {
    this.waiting = undefined
    this.running = this.commit().finally(() => {
      this.running = undefined
    })
    return this.running
  }

  private async commit(): Promise<void> {
    const batch = this.queue.slice()
    if (batch.length === 0) return
    try {
      if (this.soiled) await this.rewind()
      const own = fstatSync(this.handle.fd)
      this.checkLength(own)
      this.soiled = true
      const end = await writeLines(this.handle, batch, this.durable)
      await this.handle.datasync() // with the new length; only times may be lost
      this.checkName(own)
      this.durable = end
      this.queue = this.queue.slice(batch.length)
      this.soiled = false
    } catch (cause) {
      if (this.soiled) await this.rewind().catch(() => {}) // still soiled then, so the next commit begins with it
      throw new SessionPersistenceError(
        'SESSION_WRITE_FAILED',
        `${this.path}: ${eventCount(batch.length)} could not be stored: ${messageOf(cause)}. They are kept in memory; the next flush tries again.`,
        { cause },
      )
    }
  }

  private async rewind(): Promise<void> {
    await this.handle.truncate(this.durable)
    this.soiled = false
  }

  /** Whoever else appends to the file would be overwritten. */
  private checkLength({ size }: Stats): void {
    if (size !== this.durable) throw new Error(`it has ${size} bytes where ${this.durable} were written; another program changed it`)
  }

  /** A handle outlives its file's name, and writes to a nameless file succeed: they would be lost without an error. */
  private checkName(own: Stats): void {
    const named = statSync(this.path)
    if (named.ino !== own.ino || named.dev !== own.dev) throw new Error('another file has taken its place')
  }
}
