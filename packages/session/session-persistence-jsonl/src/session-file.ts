/**
 * Session files anywhere, for tools: read without touching them, or written whole.
 */
import { open, realpath, stat, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidEventError, type SessionEvent, type SessionHeader } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { chunksOf, isSystemError, publish, writeLines } from './files.ts'
import { checkHeaderLength, describeTail, encodeEvent, encodeHeader, LineSplitter, LogParser, parseHeader, type TornTail } from './lines.ts'
import { Offsets } from './offsets.ts'

export interface SessionFile {
  readonly header: SessionHeader
  readonly events: readonly SessionEvent[]
  /** What was left out of `events`, in words for a person. */
  readonly notices: readonly string[]
}

/**
 * Reads a session file. Nothing is changed on disk, a torn tail included.
 *
 * @throws SessionPersistenceError `SESSION_NOT_FOUND`, `SESSION_FOREIGN` (some other kind of file), `SESSION_VERSION`,
 * `SESSION_DAMAGED`; any other error of the file system as it is.
 */
export async function readSessionFile(path: string): Promise<SessionFile> {
  const handle = await openFile(path, 'r')
  try {
    const events: SessionEvent[] = []
    const { header, torn } = await loadLog(handle, path, event => events.push(event))
    return { header, events, notices: torn === null ? [] : [`${path}: ${describeTail(torn)}; it was left out`] }
  } finally {
    await handle.close()
  }
}

/**
 * Writes a session file whole, replacing one that is there; the old file stays until the new one is durable.
 *
 * @throws Error when `path` is something else than a file, and errors of the file system as they are.
 */
export async function writeSessionFile(path: string, header: SessionHeader, events: Iterable<SessionEvent>): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path))
  const existing = await stat(target).catch(() => null)
  if (existing !== null && !existing.isFile()) throw new Error(`${path} is not a regular file; a session cannot be written in its place`)
  const handle = await publish(target, async temporary => {
    await writeLines(temporary, linesOf(header, events), 0)
  })
  await handle.close()
}

/** Reads the first line alone. @throws as `readSessionFile`. */
export async function readSessionHeader(handle: FileHandle, path: string): Promise<SessionHeader> {
  const splitter = new LineSplitter()
  for await (const chunk of chunksOf(handle)) {
    for (const line of splitter.push(chunk)) return parseHeader(line, path)
    checkHeaderLength(splitter.pendingBytes, path)
  }
  return parseHeader(splitter.pending(), path)
}

export interface LoadedLog {
  readonly header: SessionHeader
  readonly offsets: Offsets
  readonly torn: TornTail | null
  /** Where the next line belongs. */
  readonly goodBytes: number
}

/**
 * Reads a log from its first byte to its last and hands every event on.
 *
 * @throws as `readSessionFile`; an `InvalidEventError` of `take` is damage, too, and any other error of it passes as it is.
 */
export async function loadLog(handle: FileHandle, path: string, take: (event: SessionEvent) => void): Promise<LoadedLog> {
  const parser = new LogParser(path)
  const offsets = new Offsets()
  for await (const chunk of chunksOf(handle)) {
    for (const event of parser.push(chunk)) {
      offsets.push(parser.eventOffsetBytes)
      try {
        take(event)
      } catch (error) {
        throw error instanceof InvalidEventError ? parser.damaged(error) : error
      }
    }
  }
  const torn = parser.end()
  return { header: parser.header, offsets, torn, goodBytes: parser.goodBytes }
}

/** Opens a file. @throws SessionPersistenceError `SESSION_NOT_FOUND` when there is none. */
export async function openFile(path: string, flags: 'r' | 'r+'): Promise<FileHandle> {
  try {
    return await open(path, flags)
  } catch (cause) {
    if (!isSystemError(cause, 'ENOENT')) throw cause
    throw new SessionPersistenceError('SESSION_NOT_FOUND', `there is no session file ${path}`, { cause })
  }
}

function* linesOf(header: SessionHeader, events: Iterable<SessionEvent>): Generator<string> {
  yield encodeHeader(header)
  for (const event of events) yield encodeEvent(event)
}
