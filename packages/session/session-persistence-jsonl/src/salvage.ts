/**
 * Salvage: what a damaged session file still holds, as a session that can go on.
 */
import { realpath } from 'node:fs/promises'
import { completeInterruptedTurn, EventLog, Session, type SessionHeader } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { describeTail } from './lines.ts'
import { loadLog, openFile, readSessionHeader, writeSessionFile } from './session-file.ts'

export interface Salvage {
  readonly header: SessionHeader
  /** Events of the original that were kept, from the first on. */
  readonly keptEvents: number
  /** Events written behind them: `session/end-seed`, and what an interrupted turn still needs. */
  readonly addedEvents: number
  /** Why the rest was left out, in words for a person; null when nothing was. */
  readonly damage: string | null
}

/**
 * Writes the events of `path` up to its first damage to `out`, followed by `session/end-seed` and the closers of an interrupted
 * turn. `path` is not touched; `out` appears whole or not at all, in place of a file that is there.
 *
 * @throws SessionPersistenceError `SESSION_NOT_FOUND`, `SESSION_FOREIGN`, `SESSION_VERSION`, and `SESSION_DAMAGED` when not
 * even the header can be read; Error when both are one file, and errors of the file system as they are.
 */
export async function salvageSessionFile(path: string, out: string): Promise<Salvage> {
  const { header, log, damage } = await readWhatHolds(path)
  if (await realpath(out).catch(() => null) === await realpath(path)) throw new Error(`${out} is the file to salvage; it is not overwritten`)
  const keptEvents = log.length
  const session = new Session({ header, log, seed: [] })
  completeInterruptedTurn(session)
  await writeSessionFile(out, header, log.from(0))
  return { header, keptEvents, addedEvents: log.length - keptEvents, damage }
}

async function readWhatHolds(path: string): Promise<{ readonly header: SessionHeader; readonly log: EventLog; readonly damage: string | null }> {
  const handle = await openFile(path, 'r')
  const log = new EventLog()
  try {
    const { header, torn } = await loadLog(handle, path, event => log.load(event))
    return { header, log, damage: torn === null ? null : describeTail(torn) }
  } catch (error) {
    if (!(error instanceof SessionPersistenceError && error.code === 'SESSION_DAMAGED')) throw error
    const header = await readSessionHeader(handle, path).catch(() => {
      throw error // without a header nothing holds
    })
    return { header, log, damage: error.message }
  } finally {
    await handle.close()
  }
}
