/**
 * Errors of a store: one class, told apart by code.
 *
 * Pure.
 */

export type SessionPersistenceErrorCode =
  /** Somebody writes to this session already; the message names the process. */
  | 'SESSION_BUSY'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_EXISTS'
  /** The id cannot name a session; a store may have to make a file name of it. */
  | 'SESSION_ID_INVALID'
  /** What is stored is not what was written; the message names the place. Nothing was changed. */
  | 'SESSION_DAMAGED'
  /** It is a session, in a format that this version cannot read. */
  | 'SESSION_VERSION'
  /** It is no session at all. */
  | 'SESSION_FOREIGN'
  /** Not durable. The events are kept and written by the next flush that succeeds. */
  | 'SESSION_WRITE_FAILED'
  /** A caller's bug: the store was let go of. */
  | 'SESSION_CLOSED'
  /** A caller's bug: an event that is not the next one. */
  | 'SESSION_OUT_OF_ORDER'

export class SessionPersistenceError extends Error {
  override readonly name = 'SessionPersistenceError'
  readonly code: SessionPersistenceErrorCode

  constructor(code: SessionPersistenceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
