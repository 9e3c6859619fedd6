/**
 * Torn tails: what a crash left half written moves out of the way, into a file beside the session's.
 */
import { readFile, type FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { isSystemError, publish } from './files.ts'
import { describeTail, type TornTail } from './lines.ts'

/**
 * Moves the torn tail of `path` into `<path>.torn-<offset>` and cuts the file before it; durable once this resolves. A crash
 * in between leaves both, and the next call ends the same way. Returns a notice for a person.
 */
export async function setAside(handle: FileHandle, path: string, torn: TornTail): Promise<string> {
  const bytes = Buffer.alloc(torn.lengthBytes)
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, torn.offsetBytes + done)
    if (bytesRead === 0) throw new Error(`${path} became shorter while it was read; another program writes to it`)
    done += bytesRead
  }
  const sibling = await keepBeside(`${path}.torn-${torn.offsetBytes}`, bytes)
  await handle.truncate(torn.offsetBytes)
  await handle.sync()
  return `${path}: ${describeTail(torn)}; it is now in ${basename(sibling)}. Everything before it is kept.`
}

/** Keeps `bytes` under the first of the names `path`, `path.1`, `path.2`, … that is free or holds the same bytes already. */
async function keepBeside(path: string, bytes: Buffer): Promise<string> {
  for (let suffix = 0; ; suffix++) {
    const name = suffix === 0 ? path : `${path}.${suffix}`
    const existing = await readFile(name).catch(error => {
      if (isSystemError(error, 'ENOENT')) return null
      throw error
    })
    if (existing?.equals(bytes)) return name
    if (existing !== null) continue
    const handle = await publish(name, file => file.writeFile(bytes))
    await handle.close()
    return name
  }
}
