/**
 * Lines: a session file as text. The first line is the header, every other line one event, each ended by `\n`.
 *
 *     {"type":"session","version":1,"id":"…","createdAt":…}⏎   line 1
 *     {"seq":0,"time":…,"type":"turn/start","data":{…}}⏎       line 2
 *     {"seq":1,"time":…,"type":"user/mess                       line 3, torn
 *
 * Pure. A crash can only tear the end of the file, because lines are written in order: what is wrong in the last line, or in
 * a tail of NUL bytes, was never acknowledged and is *torn*. What is wrong before the last line is *damage*.
 */
import { isUtf8 } from 'node:buffer'
import type { Seq, SessionEvent, SessionHeader } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError, type SessionPersistenceErrorCode } from '@deepseek-ai/dsh-session-persistence'

const FORMAT_VERSION = 1

/** No header comes near this; a first line longer than this many bytes belongs to some other kind of file. */
const MAX_HEADER_BYTES = 1 << 20

const NEWLINE = 0x0a

export function encodeHeader(header: SessionHeader): string {
  const { id, createdAt, cwd, parent } = header
  return `${JSON.stringify({ type: 'session', version: FORMAT_VERSION, id, createdAt, cwd, parent })}\n`
}

/** Events keep the order of their keys, so what was read is written back byte for byte. */
export function encodeEvent(event: SessionEvent): string {
  return `${JSON.stringify(event)}\n`
}

/** Cuts chunks into lines. The bytes of a line are valid until the next `push`. */
export class LineSplitter {
  /** The line whose end has not come yet. */
  private pieces: Uint8Array[] = []
  /** Bytes of that line so far. */
  pendingBytes = 0

  /** The bytes after the last newline. */
  pending(): Uint8Array {
    return Buffer.concat(this.pieces)
  }

  /** Yields each line that the chunk completes, without its newline. The chunk may be reused afterwards. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end)
      start = end + 1
      yield this.pendingBytes === 0 ? piece : Buffer.concat([...this.takePending(), piece])
    }
    if (start === chunk.length) return
    this.pieces.push(Buffer.from(chunk.subarray(start)))
    this.pendingBytes += chunk.length - start
  }

  private takePending(): Uint8Array[] {
    const pieces = this.pieces
    this.pieces = []
    this.pendingBytes = 0
    return pieces
  }
}

/** The part of a file, up to its end, that a crash left half written. */
export interface TornTail {
  readonly offsetBytes: number
  readonly lengthBytes: number
  /** From 1. */
  readonly line: number
  readonly reason: string
}

/** In words for a person; a clause to be continued. */
export function describeTail(torn: TornTail): string {
  return `the end was torn (line ${torn.line}, ${torn.lengthBytes} bytes from offset ${torn.offsetBytes}: ${torn.reason})`
}

/** Reads a session file from its first chunk to its last. */
export class LogParser {
  private readonly source: string
  private readonly splitter = new LineSplitter()
  private parsedHeader: SessionHeader | undefined
  /** Complete lines so far, the suspect included. */
  private lines = 0
  /** A complete line that is no JSON: torn if nothing but NUL bytes follows it, else damage. */
  private suspect: { readonly line: number; readonly reason: string; bytes: number } | undefined
  /** Bytes of the accepted lines: where the next one begins. */
  goodBytes = 0
  /** Where the line of the event last yielded begins. */
  eventOffsetBytes = 0
  /** Events so far. */
  private nextSeq: Seq = 0

  /** @param source names the file in errors. */
  constructor(source: string) {
    this.source = source
  }

  /** @throws SessionPersistenceError `SESSION_DAMAGED` when not even the first line is complete. */
  get header(): SessionHeader {
    if (this.parsedHeader === undefined) throw failure(this.source, 'SESSION_DAMAGED', 1, 'the session header is missing or incomplete', RESTORE)
    return this.parsedHeader
  }

  /**
   * The events whose lines the chunk completes.
   *
   * @throws SessionPersistenceError `SESSION_DAMAGED` with line number and reason; `SESSION_FOREIGN` and `SESSION_VERSION`
   * for the first line. The parser is of no use afterwards.
   */
  *push(chunk: Uint8Array): Generator<SessionEvent> {
    for (const line of this.splitter.push(chunk)) {
      this.lines += 1
      const event = this.take(line)
      if (event !== null) yield event
    }
    if (this.parsedHeader === undefined) checkHeaderLength(this.splitter.pendingBytes, this.source)
  }

  /** Call once after the last chunk. @throws as `push` does. */
  end(): TornTail | null {
    const rest = this.splitter.pending()
    if (this.parsedHeader === undefined && !looksLikeHeaderStart(rest)) throw foreign(this.source, 'it does not begin with a session header')
    if (this.suspect !== undefined) {
      this.acceptOnlyNul(rest)
      const { line, reason, bytes } = this.suspect
      return { offsetBytes: this.goodBytes, lengthBytes: bytes + rest.length, line, reason }
    }
    if (rest.length === 0) return null
    const reason = isNul(rest) ? 'it is filled with NUL bytes' : 'it has no end'
    return { offsetBytes: this.goodBytes, lengthBytes: rest.length, line: this.lines + 1, reason }
  }

  private take(line: Uint8Array): SessionEvent | null {
    if (this.suspect !== undefined) {
      this.acceptOnlyNul(line)
      this.suspect.bytes += line.length + 1
      return null
    }
    if (this.parsedHeader === undefined) {
      this.parsedHeader = parseHeader(line, this.source)
      this.goodBytes += line.length + 1
      return null
    }
    let value: unknown
    try {
      value = parseJson(line)
    } catch (error) {
      this.suspect = { line: this.lines, reason: line.length > 0 && isNul(line) ? 'it is filled with NUL bytes' : (error as Error).message, bytes: line.length + 1 }
      return null
    }
    const fault = faultOfEvent(value, this.nextSeq)
    if (fault !== null) throw failure(this.source, 'SESSION_DAMAGED', this.lines, fault, RESTORE)
    this.eventOffsetBytes = this.goodBytes
    this.goodBytes += line.length + 1
    this.nextSeq += 1
    return value as SessionEvent
  }

  /** What to throw when the event last yielded is one that no session can hold. */
  damaged(cause: Error): SessionPersistenceError {
    return failure(this.source, 'SESSION_DAMAGED', this.lines, cause.message, RESTORE, { cause })
  }

  private acceptOnlyNul(bytes: Uint8Array): void {
    if (!isNul(bytes)) throw failure(this.source, 'SESSION_DAMAGED', this.suspect!.line, this.suspect!.reason, RESTORE)
  }
}

/**
 * The first line of a session file.
 *
 * @throws SessionPersistenceError `SESSION_FOREIGN`, `SESSION_VERSION` or `SESSION_DAMAGED`, naming `source` and the fault.
 */
export function parseHeader(line: Uint8Array, source: string): SessionHeader {
  let value: unknown
  try {
    value = parseJson(line)
  } catch (error) {
    throw foreign(source, (error as Error).message)
  }
  if (!isRecord(value) || value['type'] !== 'session' || typeof value['createdAt'] !== 'number') {
    throw foreign(source, 'it does not begin with a session header')
  }
  const { version, id, createdAt, cwd, parent } = value
  if (version !== FORMAT_VERSION) {
    const newer = typeof version === 'number' && version > FORMAT_VERSION
    const what = `it is in format ${JSON.stringify(version)}, and this version reads format ${FORMAT_VERSION}`
    throw failure(source, 'SESSION_VERSION', 1, what, `Nothing was changed. ${newer ? 'Update to read it.' : 'Use the version that wrote it.'}`)
  }
  const damaged = (what: string) => failure(source, 'SESSION_DAMAGED', 1, `the session header has ${what}`, RESTORE)
  if (typeof id !== 'string') throw damaged('no id')
  if (cwd !== undefined && typeof cwd !== 'string') throw damaged('a cwd that is no text')
  const header = { id, createdAt, ...(cwd === undefined ? {} : { cwd }) }
  if (parent === undefined) return header
  if (!isRecord(parent) || typeof parent['id'] !== 'string' || !isSeq(parent['seq'])) throw damaged('a parent without id and seq')
  return { ...header, parent: { id: parent['id'], seq: parent['seq'] } }
}

/** @throws SessionPersistenceError `SESSION_FOREIGN` when a first line without an end is too long to be a header. */
export function checkHeaderLength(pendingBytes: number, source: string): void {
  if (pendingBytes > MAX_HEADER_BYTES) throw foreign(source, 'its first line is too long to be a session header')
}

const RESTORE = 'Nothing was changed. Restore the file from a backup, or keep the events before this line: dsh check --salvage OUT writes them to a new file.'

function foreign(source: string, reason: string): SessionPersistenceError {
  return failure(source, 'SESSION_FOREIGN', 1, reason, 'The file is no session log; nothing was changed.')
}

function failure(source: string, code: SessionPersistenceErrorCode, line: number, what: string, advice: string, options?: ErrorOptions): SessionPersistenceError {
  return new SessionPersistenceError(code, `${source}: line ${line}: ${what}. ${advice}`, options)
}

/** The text of a line; bytes that are no UTF-8 become U+FFFD. */
export function textOf(line: Uint8Array): string {
  return Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8')
}

/** @throws SyntaxError with a reason for people. */
function parseJson(line: Uint8Array): unknown {
  const text = textOf(line)
  if (text.includes('\ufffd') && !isUtf8(line)) throw new SyntaxError('it is not UTF-8')
  try {
    return JSON.parse(text)
  } catch {
    throw new SyntaxError('it is not JSON')
  }
}

/** What makes this value no event numbered `seq`; null when nothing does. Its type may be unknown, its data is opaque. */
function faultOfEvent(value: unknown, seq: Seq): string | null {
  if (!isRecord(value)) return 'it is not an event'
  if (value['seq'] !== seq) return faultOfOrder(value['seq'], seq)
  if (!Number.isFinite(value['time'])) return `event ${seq} has no time`
  if (typeof value['type'] !== 'string' || value['type'] === '') return `event ${seq} has no type`
  if (!isRecord(value['data'])) return `event ${seq} (${value['type']}) has no data`
  const { surfaceOp, sourceEventSeqs } = value
  if (surfaceOp !== undefined && surfaceOp !== 'append') {
    const replaces = isRecord(surfaceOp) && surfaceOp['op'] === 'replace' && isSeq(surfaceOp['start']) && isSeq(surfaceOp['end'])
    if (!replaces) return `event ${seq} (${value['type']}) has the surfaceOp ${JSON.stringify(surfaceOp)}, which is neither an append nor a replace`
  }
  if (sourceEventSeqs !== undefined && !(Array.isArray(sourceEventSeqs) && sourceEventSeqs.every(isSeq))) {
    return `event ${seq} (${value['type']}) has sourceEventSeqs that are no seqs`
  }
  return null
}

/** Names both neighbours: what stands here and what stands before it. */
function faultOfOrder(found: unknown, expected: Seq): string {
  const before = expected === 0 ? 'no event' : `event ${expected - 1}`
  if (!isSeq(found)) return `an event numbered ${JSON.stringify(found)} follows ${before}`
  if (found < expected) return `event ${found} follows ${before}: it is doubled or out of order`
  const missing = found - expected === 1 ? `event ${expected} is missing` : `events ${expected} to ${found - 1} are missing`
  return `event ${found} follows ${before}: ${missing}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSeq(value: unknown): value is Seq {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isNul(bytes: Uint8Array): boolean {
  return bytes.every(byte => byte === 0)
}

/** Whether a file that ends inside its first line can have been meant as a session. */
function looksLikeHeaderStart(bytes: Uint8Array): boolean {
  const expected = '{"type":"session"'
  const start = Buffer.from(bytes.subarray(0, expected.length)).toString('latin1')
  return isNul(bytes) || expected.startsWith(start)
}
