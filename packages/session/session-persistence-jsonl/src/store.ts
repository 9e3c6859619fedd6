/**
 * Store: one open session file and its only writer.
 */
import type { FileHandle } from 'node:fs/promises'
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { Seq, SessionEvent, SessionHeader, SessionStore } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { SyncReader } from './files.ts'
import { encodeEvent, LineSplitter, textOf } from './lines.ts'
import type { Offsets } from './offsets.ts'
import { eventCount, LineWriter } from './writer.ts'

export interface JsonlStoreInit {
  readonly path: string
  /** Open for reading and writing; the store closes it. */
  readonly handle: FileHandle
  readonly header: SessionHeader
  /** Of the events in the file, all of them durable. The store goes on with the list. */
  readonly offsets: Offsets
  readonly durableBytes: number
  readonly notices: readonly string[]
  /** Called once, when the file is closed. */
  readonly release: () => Promise<void>
}

export class JsonlStore implements SessionStore {
  readonly header: SessionHeader
  readonly notices: readonly string[]
  private readonly path: string
  private readonly handle: FileHandle
  private readonly reader: SyncReader
  private readonly writer: LineWriter
  private readonly release: () => Promise<void>
  /** Where the line of each event begins, of those too that are not written yet. */
  private readonly offsets: Offsets
  /** Where the next line will begin. */
  private endBytes: number
  private closing: Promise<void> | undefined

  constructor(init: JsonlStoreInit) {
    this.header = init.header
    this.notices = init.notices
    this.path = init.path
    this.handle = init.handle
    this.reader = new SyncReader(init.path, init.handle)
    this.writer = new LineWriter(init.path, init.handle, init.durableBytes)
    this.release = init.release
    this.offsets = init.offsets
    this.endBytes = init.durableBytes
  }

  append(event: SessionEvent): void {
    if (this.closing !== undefined) {
      throw new SessionPersistenceError('SESSION_CLOSED', `session ${this.header.id} is closed; open it again to append ${event.type}`)
    }
    const next = this.offsets.length
    if (event.seq !== next) {
      throw new SessionPersistenceError('SESSION_OUT_OF_ORDER', `session ${this.header.id}: event ${event.seq} (${event.type}) was appended where ${next} comes next`)
    }
    const line = encodeEvent(event)
    this.writer.append(line)
    this.offsets.push(this.endBytes)
    this.endBytes += Buffer.byteLength(line)
  }

  /** One event, flushed or not: a read of its line, and its parsing. */
  at(seq: Seq): SessionEvent {
    const { length } = this.offsets
    if (!Number.isInteger(seq) || seq < 0 || seq >= length) throw new RangeError(`session ${this.header.id} has no event ${seq}: it has ${length} events, numbered from 0`)
    const { pendingLines } = this.writer
    const firstPending = length - pendingLines.length
    if (seq >= firstPending) return JSON.parse(pendingLines[seq - firstPending]!) as SessionEvent
    const end = seq + 1 < length ? this.offsets.at(seq + 1) : this.endBytes
    return this.parse(this.reader.bytes(this.offsets.at(seq), end), seq)
  }

  /** The events from `from` on, flushed or not, as they are when iteration begins: one pass over the file from there. */
  *read(from: Seq = 0): Generator<SessionEvent> {
    const { durableBytes } = this.writer
    const pending = this.writer.pendingLines.slice()
    const firstPending = this.offsets.length - pending.length

    let seq = from
    if (seq < firstPending) {
      const splitter = new LineSplitter()
      for (const chunk of this.reader.chunks(this.offsets.at(seq), durableBytes)) {
        for (const line of splitter.push(chunk)) yield this.parse(line, seq++)
      }
    }
    for (const line of pending.slice(seq - firstPending)) yield JSON.parse(line) as SessionEvent
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
      throw new SessionPersistenceError('SESSION_WRITE_FAILED', `session ${this.header.id} was closed, and what was appended last is lost, ${eventCount(lost)}: ${messageOf(cause)}`, { cause })
    } finally {
      await this.handle.close()
      await this.release()
    }
  }

  /** What was written is no longer there: said as clearly as when a session is opened. */
  private parse(line: Uint8Array, seq: Seq): SessionEvent {
    let event: SessionEvent | undefined
    try {
      event = JSON.parse(textOf(line)) as SessionEvent
    } catch {
      // told below
    }
    if (event?.seq === seq) return event
    throw new SessionPersistenceError('SESSION_DAMAGED', `${this.path}: event ${seq} is no longer at offset ${this.offsets.at(seq)}; another program changed the file`)
  }
}
