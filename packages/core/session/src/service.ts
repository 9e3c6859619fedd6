/**
 * `ctx.sessions`: sessions by id, stored where a store is loaded, with their events told to everybody.
 */
import { Context, Service } from '@deepseek-ai/cordis'
import { randomUUID } from 'node:crypto'
import type { Seq, SessionEvent } from './events.ts'
import { completeInterruptedTurn } from './repair.ts'
import { Session } from './session.ts'
import type { SessionHeader, SessionListing, SessionStorage, SessionStore } from './storage.ts'
import { turnFold } from './turns.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    sessions: SessionService
  }
  interface Events {
    /** A session is ready: created, resumed or forked. */
    'session/created'(session: Session): void
    /** An event was committed. A listener that throws is logged and does not stop the others; it may not append. */
    'session/event'(session: Session, event: SessionEvent): void
    /** Everything so far is durable. */
    'session/flush'(session: Session): void
    'session/closed'(session: Session): void
  }
}

interface OpenSession {
  readonly session: Session
  readonly store: SessionStore | undefined
}

export class SessionService extends Service {
  private readonly open = new Map<string, OpenSession>()

  constructor(ctx: Context) {
    super(ctx, 'sessions')
  }

  /** A new session. Its id must be unused; a random one by default. */
  async create(init: { readonly id?: string; readonly cwd?: string } = {}): Promise<Session> {
    const header: SessionHeader = {
      id: init.id ?? randomUUID(),
      createdAt: Date.now(),
      ...(init.cwd === undefined ? {} : { cwd: init.cwd }),
    }
    this.refuseOpen(header.id)
    return this.adopt(header, await this.storage?.create(header))
  }

  /**
   * Goes on with a stored session: inherited events, `session/end-seed`, then what completes an interrupted turn. A session
   * that is open here already is returned as it is.
   *
   * @throws Error when nothing stores sessions, and whatever the store says of the id.
   */
  async resume(id: string): Promise<Session> {
    const already = this.open.get(id)
    if (already !== undefined) return already.session
    if (this.storage === undefined) throw new Error(`session ${id} cannot be resumed: no session store is loaded`)
    const store = await this.storage.open(id)
    const session = this.adopt(store.header, store, store.read())
    completeInterruptedTurn(session)
    return session
  }

  /**
   * A new session that begins with the first `atSeq` events of `source` (all of them by default). The source is not changed.
   *
   * @throws Error when that place lies inside a turn or outside the log.
   */
  async fork(source: Session, atSeq: Seq = source.log.length): Promise<Session> {
    if (!Number.isInteger(atSeq) || atSeq < 0 || atSeq > source.log.length) {
      throw new Error(`session ${source.id} cannot be forked at ${atSeq}: it has ${source.log.length} events`)
    }
    const seed: SessionEvent[] = []
    let turns = turnFold.init()
    for (const event of source.log.from(0)) {
      if (event.seq === atSeq) break
      seed.push(event)
      turns = turnFold.apply(turns, event, null)
    }
    if (turns.turnOpen) throw new Error(`session ${source.id} cannot be forked at ${atSeq}: turn ${turns.turn} is open there`)
    const header: SessionHeader = {
      id: randomUUID(),
      createdAt: Date.now(),
      ...(source.header.cwd === undefined ? {} : { cwd: source.header.cwd }),
      parent: { id: source.id, seq: atSeq },
    }
    const store = await this.storage?.create(header)
    for (const event of seed) store?.append(event)
    return this.adopt(header, store, seed)
  }

  get(id: string): Session | undefined {
    return this.open.get(id)?.session
  }

  /** What the store holds; the sessions open here when nothing stores them. */
  async list(): Promise<readonly SessionListing[]> {
    if (this.storage !== undefined) return this.storage.list()
    return [...this.open.values()].map(({ session }) => ({ header: session.header, modifiedAt: session.header.createdAt, bytes: 0 }))
  }

  flush(session: Session): Promise<void> {
    return session.flush()
  }

  /** Makes everything durable and lets go of the session; appending to it is an error from then on. */
  async close(session: Session): Promise<void> {
    const entry = this.open.get(session.id)
    if (entry === undefined || entry.session !== session) return
    this.open.delete(session.id)
    session.close()
    try {
      await entry.store?.close()
    } finally {
      this.tell('session/closed', session)
    }
  }

  async *[Service.init](): AsyncGenerator<() => Promise<void>, void, void> {
    yield async () => {
      for (const { session } of [...this.open.values()]) await this.close(session)
    }
  }

  private get storage(): SessionStorage | undefined {
    return this.ctx.get('sessionPersistence') as SessionStorage | undefined
  }

  private refuseOpen(id: string): void {
    if (this.open.has(id)) throw new Error(`session ${id} is open already`)
  }

  private adopt(header: SessionHeader, store: SessionStore | undefined, seed?: Iterable<SessionEvent>): Session {
    for (const notice of store?.notices ?? []) this.ctx.logger('sessions').warn(notice)
    const session: Session = new Session({
      header,
      ...(seed === undefined ? {} : { seed }),
      ...(store === undefined ? {} : { sink: store }),
      observer: {
        event: event => this.tell('session/event', session, event),
        flushed: () => this.tell('session/flush', session),
      },
    })
    this.open.set(session.id, { session, store })
    this.tell('session/created', session)
    return session
  }

  /** Tells every listener, whatever the others do: `emit` would stop at the first that throws. */
  private tell(name: 'session/created' | 'session/event' | 'session/flush' | 'session/closed', ...args: unknown[]): void {
    for (const listener of this.ctx.events.dispatch('emit', [name, ...args])) {
      try {
        listener(...args)
      } catch (error) {
        this.ctx.logger('sessions').warn(`a listener of ${name} threw; it was ignored`, error)
      }
    }
  }
}
