/**
 * Files: reading in chunks, and writes that survive power loss.
 */
import { randomUUID } from 'node:crypto'
import { readSync } from 'node:fs'
import { mkdir, open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

const CHUNK_BYTES = 1 << 20

/** Characters of one write: lines are joined up to this many; a longer line is one write. */
const CHUNK_CHARS = 1 << 20

/** The file from its beginning, in chunks that are valid until the next one is asked for. */
export async function* chunksOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** The first `lengthBytes` of a file, as `chunksOf` but without waiting. Ends early where the file does. */
export function* chunksOfSync(handle: FileHandle, lengthBytes: number): Generator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, lengthBytes))
  for (let position = 0; position < lengthBytes;) {
    const bytesRead = readSync(handle.fd, buffer, 0, Math.min(buffer.length, lengthBytes - position), position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Writes the lines in order from `offsetBytes` on; resolves to the offset behind the last. Not durable before a sync. */
export async function writeLines(handle: FileHandle, lines: Iterable<string>, offsetBytes: number): Promise<number> {
  let chunk: string[] = []
  let chars = 0
  let end = offsetBytes
  for (const line of lines) {
    if (chars + line.length > CHUNK_CHARS && chunk.length > 0) {
      end = await writeAll(handle, Buffer.from(chunk.join('')), end)
      chunk = []
      chars = 0
    }
    chunk.push(line)
    chars += line.length
  }
  return chunk.length === 0 ? end : writeAll(handle, Buffer.from(chunk.join('')), end)
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, offsetBytes: number): Promise<number> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offsetBytes + done)
    done += bytesWritten
  }
  return offsetBytes + bytes.length
}

/**
 * Brings a whole file into being under `path`, replacing one that is there: nobody ever sees a part of it, and once this
 * resolves it survives power loss. The handle, open for reading and writing, is the caller's to close.
 */
export async function publish(path: string, write: (handle: FileHandle) => Promise<void>): Promise<FileHandle> {
  const temporary = `${path}.tmp-${randomUUID()}`
  const handle = await open(temporary, 'wx+')
  try {
    await write(handle)
    await handle.sync()
    await rename(temporary, path)
    await syncDirectory(dirname(path))
    return handle
  } catch (error) {
    await handle.close()
    await unlink(temporary).catch(() => {}) // it may bear its final name already, and the first error is the one to tell
    throw error
  }
}

/** Creates a directory, readable by its owner alone, and the way to it; durable once this resolves. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let created = path; ; created = dirname(created)) {
    await syncDirectory(dirname(created))
    if (created === first) return
  }
}

/** Makes names in a directory durable. Windows cannot open a directory and needs no such call. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether a file system call failed with one of these codes, such as `ENOENT`. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code as string)
}
