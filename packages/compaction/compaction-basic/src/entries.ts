/**
 * Entries: a span of the surface as summarizers read it.
 *
 * Pure.
 */
import { isCompactCheckpointSource } from '@deepseek-ai/dsh-compaction'
import { isPersonSource, isSurfaceEvent, messageOfEvent, type Seq, type Session, type SurfaceEvent } from '@deepseek-ai/dsh-session'
import type { DigestEntry } from './digest.ts'
import type { Span } from './transaction.ts'

/**
 * The messages of a span with their seqs and origins; entries that derive no message are left out.
 *
 * @param sentAs what to read in the place of an entry, by seq: what it was when it was last sent.
 */
export function spanEntries(session: Session, { from, to }: Span, sentAs: ReadonlyMap<Seq, Seq>): DigestEntry[] {
  const found: DigestEntry[] = []
  for (let position = from; position < to; position++) {
    const seq = session.surface.entries[position]!
    const sentSeq = sentAs.get(seq)
    const event = session.log.at(sentSeq ?? seq)
    if (!isSurfaceEvent(event)) continue
    const message = sentSeq === undefined ? session.messageAt(position) : messageOfEvent(event)
    if (message !== null) found.push({ seq: event.seq, message, from: originOf(event) })
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
