/**
 * A store in memory for whole compositions, which can be told what to refuse.
 */
import type { SessionEvent, SessionHeader, SessionStore } from '@deepseek-ai/dsh-session'
import { MemoryStorage } from '../packages/core/session/test/memory-storage.ts'

export class Store extends MemoryStorage {
  /** Events that the disk has no room for. */
  refuses: (event: SessionEvent) => boolean = () => false
  failsFlush = false

  override async open(...args: Parameters<MemoryStorage['open']>): Promise<SessionStore> {
    const store = await super.open(...args)
    return {
      ...store,
      append: event => {
        if (this.refuses(event)) throw new Error(`no room for ${event.type}`)
        store.append(event)
      },
      flush: async () => {
        if (this.failsFlush) throw new Error('the disk is gone')
        await store.flush()
      },
    }
  }

  /** Keeps `events` as what another process left behind. */
  leave(header: SessionHeader, events: Iterable<SessionEvent>): void {
    this.kept.set(header.id, { header, durable: Array.from(events, event => JSON.stringify(event)), writer: null })
  }
}

export default Store
