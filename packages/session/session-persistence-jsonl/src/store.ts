/**
 * Store: one open session file and its only writer.
 */
import type { FileHandle } from 'node:fs/promises'
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { Seq, SessionEvent, SessionHeader, SessionStore } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { chunksOfSync } from './files.ts'
import { encodeEvent, LineSplitter, textOf } from './lines.ts'
import { LineWriter } from './writer.ts'

export interface JsonlStoreInit {
  readonly path: string
  /** Open for reading and writing; the store closes it. */
  readonly handle: FileHandle
  readonly header: SessionHeader
  /** What the file holds, all of it durable; the store empties the list as it hands them out. */
  readonly events: SessionEvent[]
  readonly durableBytes: number
  readonly notices: readonly string[]
  /** Called once, when the file is closed. */
  readonly release: () => Promise<void>
}

export class JsonlStore implements SessionStore {
  readonly header: SessionHeader
  readonly notices: readonly string[]
  private readonly handle: FileHandle
  private readonly writer: LineWriter
  private readonly release: () => Promise<void>
  private nextSeq: Seq
  /** What opening parsed, until the first read takes it: a log is not held twice. */
  private loaded: SessionEvent[] | undefined
  private closing: Promise<void> | undefined

  constructor(init: JsonlStoreInit) {
    this.header = init.header
    this.notices = init.notices
    this.handle = init.handle
    this.writer = new LineWriter(init.path, init.handle, init.durableBytes)
    this.release = init.release
    this.nextSeq = init.events.length
    this.loaded = init.events
  }

  append(event: SessionEvent): void {
    this.refuseClosed('append to')
    if (event.seq !== this.nextSeq) {
      throw new SessionPersistenceError('SESSION_OUT_OF_ORDER', `session ${this.header.id}: event ${event.seq} (${event.type}) was appended where ${this.nextSeq} comes next`)
    }
    this.writer.append(encodeEvent(event))
    this.nextSeq += 1
  }

  /**
   * The events from `from` on, flushed or not, as they are when iteration begins. The first read after opening hands over
   * what opening parsed; later ones read the file again.
   */
  *read(from: Seq = 0): Generator<SessionEvent> {
    this.refuseClosed('read')
    const loaded = this.loaded ?? []
    this.loaded = undefined
    const { durableBytes } = this.writer
    const pending = this.writer.pendingLines.slice()
    const firstPending = this.nextSeq - pending.length

    let next = Math.max(from, loaded.length)
    loaded.reverse()
    for (let event = loaded.pop(); event !== undefined; event = loaded.pop()) {
      if (event.seq >= from) yield event
    }
    if (next < firstPending) {
      let seq = -1 // the header's line
      const splitter = new LineSplitter()
      for (const chunk of chunksOfSync(this.handle, durableBytes)) {
        for (const line of splitter.push(chunk)) {
          if (seq >= next) yield JSON.parse(textOf(line)) as SessionEvent
          seq += 1
        }
      }
      next = firstPending
    }
    for (const line of pending.slice(next - firstPending)) yield JSON.parse(line) as SessionEvent
  }

  flush(): Promise<void> {
    return this.closing ?? this.writer.flush()
  }

  /**
   * Flushes and lets go of the file, whether or not the flush succeeds.
   *
   * @throws SessionPersistenceError `SESSION_WRITE_FAILED` telling how many events are lost; again on every later call.
   */
  close(): Promise<void> {
    this.closing ??= this.shut()
    return this.closing
  }

  private async shut(): Promise<void> {
    try {
      await this.writer.flush()
    } catch (cause) {
      const lost = this.writer.pendingLines.length
      throw new SessionPersistenceError('SESSION_WRITE_FAILED', `session ${this.header.id} was closed, and its last ${lost} events are lost: ${messageOf(cause)}`, { cause })
    } finally {
      this.loaded = undefined
      await this.handle.close()
      await this.release()
    }
  }

  private refuseClosed(act: string): void {
    if (this.closing === undefined) return
    throw new SessionPersistenceError('SESSION_CLOSED', `session ${this.header.id} is closed; open it again to ${act} it`)
  }
}
