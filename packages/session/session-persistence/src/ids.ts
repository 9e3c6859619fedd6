/**
 * Session ids: what can name a session in every store, files included.
 *
 * Pure.
 */
import { SessionPersistenceError } from './errors.ts'

/** Begins with a letter or digit, so that it is neither hidden nor a path; short enough for a file name with a suffix. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** @throws SessionPersistenceError `SESSION_ID_INVALID` naming the id. */
export function checkSessionId(id: string): void {
  if (SESSION_ID.test(id)) return
  throw new SessionPersistenceError(
    'SESSION_ID_INVALID',
    `${JSON.stringify(id)} cannot name a session: use 1 to 128 letters, digits, dots, dashes and underscores, beginning with a letter or digit`,
  )
}
