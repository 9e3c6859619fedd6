/**
 * Entries: a span of the surface as summarizers read it.
 *
 * Pure.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import { isPersonSource, isSurfaceEvent, type Session, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import type { DigestEntry } from './digest.ts'
import type { Span } from './transaction.ts'

/** The messages of a span with their seqs and origins; entries that derive no message are left out. */
export function spanEntries(session: Session, { from, to }: Span): DigestEntry[] {
  const found: DigestEntry[] = []
  for (let position = from; position < to; position++) {
    const message = session.messageAt(position)
    const event = session.log.at(session.surface.entries[position]!)
    if (message !== null && isSurfaceEvent(event)) found.push({ seq: event.seq, message, from: originOf(event) })
  }
  return found
}

function originOf(event: SurfaceEvent): DigestEntry['from'] {
  switch (event.type) {
    case 'assistant/message':
      return 'assistant'
    case 'tool/result':
      return 'tool'
    case 'user/message':
      if (isCompactCheckpointSource(event.data.source)) return 'checkpoint'
      return isPersonSource(event.data.source) ? 'person' : 'context'
  }
}
