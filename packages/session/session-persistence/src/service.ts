/**
 * `ctx.sessionPersistence`: the one place where sessions are kept.
 *
 * A store subclasses this and passes the contract suite (`@deepseek-ai/dsh-session-persistence/contract`) unchanged.
 */
import { Context, Service } from '@deepseek-ai/cordis'
import type { SessionEvent, SessionHeader, SessionListing, SessionStorage, SessionStore } from '@deepseek-ai/dsh-session'

declare module '@deepseek-ai/cordis' {
  interface Context {
    sessionPersistence: SessionPersistence
  }
}

export abstract class SessionPersistence extends Service implements SessionStorage {
  constructor(ctx: Context) {
    super(ctx, 'sessionPersistence')
  }

  /**
   * A new, empty session, durable once this resolves.
   *
   * @throws SessionPersistenceError `SESSION_EXISTS`, `SESSION_ID_INVALID`, `SESSION_WRITE_FAILED`.
   */
  abstract create(header: SessionHeader): Promise<SessionStore>

  /**
   * The session with all its whole events; what a crash left half written is set aside and told in `notices`. Every event is
   * handed to `take` in order, in the one pass that also checks them.
   *
   * @throws SessionPersistenceError `SESSION_NOT_FOUND`, `SESSION_BUSY`, `SESSION_DAMAGED`, `SESSION_VERSION`,
   * `SESSION_FOREIGN`, `SESSION_ID_INVALID`, `SESSION_WRITE_FAILED` when it cannot be made the caller's to write, and what
   * `take` throws; an `InvalidEventError` of it becomes `SESSION_DAMAGED`. Nothing was changed then.
   */
  abstract open(id: string, take?: (event: SessionEvent) => void): Promise<SessionStore>

  /** Every readable session, the latest change first; one that cannot be read is reported in the log and left out. */
  abstract list(): Promise<readonly SessionListing[]>
}
