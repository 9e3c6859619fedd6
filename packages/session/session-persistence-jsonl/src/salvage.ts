/**
 * Salvage: what a damaged session file still holds, as a session that can go on.
 */
import { realpath } from 'node:fs/promises'
import { admit, completeInterruptedTurn, EventLog, InvalidEventError, Session, type SessionHeader } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import { chunksOf } from './files.ts'
import { describeTail, LogParser } from './lines.ts'
import { openFile, writeSessionFile } from './session-file.ts'

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
  const session = new Session({ header, seed: log.from(0) })
  completeInterruptedTurn(session)
  await writeSessionFile(out, header, session.log.from(0))
  return { header, keptEvents: log.length, addedEvents: session.log.length - log.length, damage }
}

async function readWhatHolds(path: string): Promise<{ readonly header: SessionHeader; readonly log: EventLog; readonly damage: string | null }> {
  const handle = await openFile(path, 'r')
  const parser = new LogParser(path)
  const log = new EventLog()
  try {
    for await (const chunk of chunksOf(handle)) {
      for (const event of parser.push(chunk)) admit(log, event)
    }
    const torn = parser.end()
    return { header: parser.header, log, damage: torn === null ? null : describeTail(torn) }
  } catch (error) {
    if (!isDamage(error)) throw error
    return { header: parser.header, log, damage: error.message }
  } finally {
    await handle.close()
  }
}

function isDamage(error: unknown): error is Error {
  return error instanceof InvalidEventError || (error instanceof SessionPersistenceError && error.code === 'SESSION_DAMAGED')
}
