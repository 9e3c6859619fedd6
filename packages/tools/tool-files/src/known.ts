/**
 * Known: which state of a file a model has seen, so that it never writes over one that it has not.
 *
 * In memory, by session: after a resume nothing is known.
 */
import type { Session } from '@deepseek-ai/dsh-session'
import type { Stats } from 'node:fs'

/** A state of a file, compared by identity of text. */
export type Stamp = string

export function stampOf({ ino, mtimeMs, size }: Stats): Stamp {
  return `${ino}:${mtimeMs}:${size}`
}

export class KnownFiles {
  private readonly bySession = new WeakMap<Session, Map<string, Stamp>>()
  private readonly withoutSession = new Map<string, Stamp>()

  see(session: Session | undefined, path: string, stamp: Stamp): void {
    this.of(session).set(path, stamp)
  }

  stamp(session: Session | undefined, path: string): Stamp | undefined {
    return this.of(session).get(path)
  }

  private of(session: Session | undefined): Map<string, Stamp> {
    if (session === undefined) return this.withoutSession
    const known = this.bySession.get(session) ?? new Map<string, Stamp>()
    this.bySession.set(session, known)
    return known
  }
}
