/**
 * Grants: which scopes a person allowed for the rest of a session.
 *
 * Pure. They are events of the session's log, so they hold after a resume; a fork inherits those of the part it copies.
 */
import type { Fold, FoldReader } from '@deepseek-ai/dsh-session'

declare module '@deepseek-ai/dsh-session' {
  interface SessionEventMap {
    /** From here on, calls that ask with this scope run without a question. */
    'permission/granted': { readonly scope: string }
  }
}

const grantsFold: Fold<Set<string>> = {
  init: () => new Set(),
  apply: (scopes, event) => (event.type === 'permission/granted' ? scopes.add(event.data.scope) : scopes),
}

export function isGranted(session: FoldReader, scope: string): boolean {
  return session.read(grantsFold).has(scope)
}
