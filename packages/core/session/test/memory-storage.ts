/**
 * A store in memory with the manners of one on disk: text lines, one writer a session, and only what was flushed survives.
 */
import { Context, Service } from '@deepseek-ai/cordis'
import type { SessionEvent, SessionHeader, SessionListing, SessionStorage, SessionStore } from '../src/index.ts'

interface Kept {
  readonly header: SessionHeader
  readonly durable: string[]
  writer: SessionStore | null
}

export class MemoryStorage extends Service implements SessionStorage {
  readonly kept = new Map<string, Kept>()
  /** Thrown by the next flush. */
  flushFault: Error | null = null
  notices: string[] = []
  /** The seqs that were read back one by one, and `all` for every pass. */
  readonly reads: (number | 'all')[] = []

  constructor(ctx: Context) {
    super(ctx, 'sessionPersistence')
  }

  async create(header: SessionHeader): Promise<SessionStore> {
    if (this.kept.has(header.id)) throw new Error(`session ${header.id} exists`)
    this.kept.set(header.id, { header, durable: [], writer: null })
    return this.open(header.id)
  }

  async open(id: string, take: (event: SessionEvent) => void = () => {}): Promise<SessionStore> {
    const kept = this.kept.get(id)
    if (kept === undefined) throw new Error(`session ${id} is not there`)
    if (kept.writer !== null) throw new Error(`session ${id} is busy`)
    for (const line of kept.durable) take(JSON.parse(line) as SessionEvent)
    const pending: string[] = []
    const { reads } = this
    const flush = async (): Promise<void> => {
      await Promise.resolve()
      const fault = this.flushFault
      this.flushFault = null
      if (fault !== null) throw fault
      kept.durable.push(...pending.splice(0))
    }
    const store: SessionStore = {
      header: kept.header,
      notices: this.notices,
      append: event => void pending.push(JSON.stringify(event)),
      at: seq => {
        reads.push(seq)
        return JSON.parse([...kept.durable, ...pending][seq]!) as SessionEvent
      },
      * read(from = 0) {
        reads.push('all')
        for (const line of [...kept.durable, ...pending].slice(from)) yield JSON.parse(line) as SessionEvent
      },
      flush,
      async close() {
        try {
          await flush()
        } finally {
          kept.writer = null
        }
      },
    }
    kept.writer = store
    return store
  }

  async list(): Promise<readonly SessionListing[]> {
    return [...this.kept.values()].map(({ header, durable }) => ({ header, modifiedAt: header.createdAt, bytes: durable.join('').length }))
  }

  /** The types of what would survive now. */
  durable(id: string): string[] {
    return this.kept.get(id)!.durable.map(line => (JSON.parse(line) as SessionEvent).type)
  }

  /** The process that writes to a session dies: its lock goes, and what it did not flush. */
  crash(id: string): void {
    this.kept.get(id)!.writer = null
  }
}
