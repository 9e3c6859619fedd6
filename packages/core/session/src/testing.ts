/**
 * `expectReplays`: live state equals replayed state, the law that every story ends in.
 */
import { deepStrictEqual } from 'node:assert/strict'
import { EventLog } from './log.ts'
import { derivedMessages, messagesFold } from './messages.ts'
import { admit, type Session } from './session.ts'

/**
 * Rebuilds everything from the session's log as a reader of its file would (through JSON) and compares the surface, the
 * messages and the state of every fold that was ever read.
 *
 * @throws AssertionError showing the difference.
 */
export function expectReplays(session: Session): void {
  const replayed = new EventLog()
  for (const event of session.log.from(0)) admit(replayed, JSON.parse(JSON.stringify(event)))
  deepStrictEqual(replayed.surface.entries, session.surface.entries, 'surface entries')
  deepStrictEqual(replayed.surface.replaceGeneration, session.surface.replaceGeneration, 'replaceGeneration')
  for (const [position, seq] of session.surface.entries.entries()) {
    deepStrictEqual(session.surface.positionOf(seq), position, `position of ${seq}`)
    deepStrictEqual(replayed.surface.positionOf(seq), position, `replayed position of ${seq}`)
  }
  deepStrictEqual(derivedMessages(replayed.read(messagesFold)), session.deriveMessages(), 'messages')
  for (const fold of session.folds()) deepStrictEqual(replayed.read(fold), session.read(fold), 'a fold')
}
