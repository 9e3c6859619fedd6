/**
 * Files: reading in chunks, and writes that survive power loss.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { mkdir, open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

const CHUNK_BYTES = 1 << 20

/** Characters of one write: lines are joined up to this many; a longer line is one write. */
const CHUNK_CHARS = 1 << 20

/** The file from its beginning, in chunks that are valid until the next one is asked for; that one is read meanwhile. */
export async function* chunksOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  const read = (buffer: Buffer<ArrayBuffer>, position: number) => handle.read(buffer, 0, buffer.length, position)
  let next = Buffer.allocUnsafe(CHUNK_BYTES)
  let position = 0
  let reading = read(Buffer.allocUnsafe(CHUNK_BYTES), 0)
  try {
    for (;;) {
      const { bytesRead, buffer } = await reading
      if (bytesRead === 0) return
      position += bytesRead
      reading = read(next, position)
      yield buffer.subarray(0, bytesRead)
      next = buffer
    }
  } finally {
    await reading.catch(() => {}) // whoever stops early need not hear of what it did not ask for
  }
}

/** Reads of one file without waiting: through the handle while that is open, through the file's name afterwards. */
export class SyncReader {
  private readonly path: string
  private readonly handle: FileHandle
  private readonly inode: number

  constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
    this.inode = fstatSync(handle.fd).ino
  }

  /** The bytes between two offsets. @throws Error naming the file when they cannot be had. */
  bytes(from: number, to: number): Buffer {
    const buffer = Buffer.allocUnsafe(to - from)
    for (let done = 0; done < buffer.length;) {
      const bytesRead = this.read(buffer.subarray(done), from + done)
      if (bytesRead === 0) throw new Error(`${this.path} ends before offset ${to}; another program changed it`)
      done += bytesRead
    }
    return buffer
  }

  /** The same in chunks, each valid until the next one is asked for. */
  *chunks(from: number, to: number): Generator<Uint8Array> {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, to - from))
    for (let position = from; position < to;) {
      const bytesRead = this.read(buffer.subarray(0, Math.min(buffer.length, to - position)), position)
      if (bytesRead === 0) throw new Error(`${this.path} ends before offset ${to}; another program changed it`)
      position += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }

  private read(buffer: Uint8Array, position: number): number {
    if (this.handle.fd !== -1) return readSync(this.handle.fd, buffer, 0, buffer.length, position)
    const fd = openSync(this.path, 'r')
    try {
      if (fstatSync(fd).ino !== this.inode) throw new Error(`${this.path}: another file has taken its place`)
      return readSync(fd, buffer, 0, buffer.length, position)
    } finally {
      closeSync(fd)
    }
  }
}

/** Bytes up to which a write is made at once: it goes to memory, and another thread would take longer to hear of it. */
const SMALL_WRITE_BYTES = 1 << 16

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
  const isSmall = bytes.length <= SMALL_WRITE_BYTES
  for (let done = 0; done < bytes.length;) {
    done += isSmall
      ? writeSync(handle.fd, bytes, done, bytes.length - done, offsetBytes + done)
      : (await handle.write(bytes, done, bytes.length - done, offsetBytes + done)).bytesWritten
  }
  return offsetBytes + bytes.length
}

/**
 * Brings a whole file into being under `path`, replacing one that is there: nobody ever sees a part of it, and once this
 * resolves it survives power loss. The handle, open for reading and writing, is the caller's to close.
 */
export async function publish(path: string, write: (handle: FileHandle) => Promise<void>): Promise<FileHandle> {
  const temporary = `${path}.tmp-${randomUUID()}`
  const handle = await open(temporary, 'wx+', 0o600)
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
