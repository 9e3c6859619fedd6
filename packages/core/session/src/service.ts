/**
 * `ctx.sessions`: sessions by id, stored where a store is loaded, with their events told to everybody.
 */
import { Context, Service } from '@deepseek-ai/cordis'
import { randomUUID } from 'node:crypto'
import type { Seq, SessionEvent } from './events.ts'
import type { LogView } from './fold.ts'
import { registerInvariant, type SessionGuard } from './guard.ts'
import { sessionInvariant } from './invariants.ts'
import { EventLog } from './log.ts'
import { messagesFold } from './messages.ts'
import { completeInterruptedTurn } from './repair.ts'
import { Session, type SessionInit, type SessionObserver } from './session.ts'
import type { EventSource, SessionHeader, SessionListing, SessionStorage, SessionStore } from './storage.ts'
import { teller, traceOf, type Tell } from './tell.ts'
import { requestFold, turnFold, type FoldReader, type TurnState } from './turns.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    sessions: SessionService
  }
  interface Events {
    /**
     * An empty log is about to be filled. A fold that is read of it now sees each event as it passes; one that is first read
     * later may cost another pass over what is stored.
     */
    'session/loading'(log: FoldReader): void
    /** A session is ready: created, resumed or forked. Its log holds what came before, closers of an interrupted turn too. */
    'session/created'(session: Session): void
    /** An event was committed since. A listener that throws is logged and does not stop the others; it may not append. */
    'session/event'(session: Session, event: SessionEvent): void
    /** Everything so far is durable. */
    'session/flush'(session: Session): void
    'session/closed'(session: Session): void
  }
}

interface OpenSession {
  readonly session: Session
  readonly store: SessionStore | undefined
  /** Set once it is on its way out: nobody is told of it or given it any more. */
  closing?: Promise<void>
}

export class SessionService extends Service {
  private readonly open = new Map<string, OpenSession>()
  private readonly resuming = new Map<string, Promise<Session>>()
  private unloaded = false

  private readonly tell: Tell
  /** Tells of a session from `session/created` until it begins to close. */
  private readonly observer: SessionObserver
  private readonly guard: SessionGuard

  constructor(ctx: Context) {
    super(ctx, 'sessions')
    const { open } = this
    const tell = teller(ctx, 'sessions')
    const isOpen = (session: Session): boolean => {
      const entry = open.get(session.id)
      return entry?.session === session && entry.closing === undefined
    }
    this.tell = tell
    this.observer = {
      event: (event, session) => {
        if (isOpen(session)) tell('session/event', session, event)
      },
      flushed: session => {
        if (isOpen(session)) tell('session/flush', session)
      },
    }
    let guard: SessionGuard | undefined
    registerInvariant(ctx, sessionInvariant, registry => {
      guard = registry?.guard
    })
    this.guard = (event, change, session) => guard?.(event, change, session)
  }

  /** A new session. Its id must be unused; a random one by default. */
  async create(init: { readonly id?: string; readonly cwd?: string } = {}): Promise<Session> {
    const header: SessionHeader = {
      id: init.id ?? randomUUID(),
      createdAt: Date.now(),
      ...(init.cwd === undefined ? {} : { cwd: init.cwd }),
    }
    this.refuseOpen(header.id)
    const store = await this.storage?.create(header)
    return this.owning(header, store, async () => this.adopt({ header, log: this.newLog(store) }, store))
  }

  /**
   * Goes on with a stored session: inherited events, `session/end-seed`, then what completes an interrupted turn. A session
   * that is open here already is returned as it is, one that is closing is waited for.
   *
   * @throws Error when nothing stores sessions, and whatever the store says of the id.
   */
  async resume(id: string): Promise<Session> {
    const entry = this.open.get(id)
    if (entry?.closing !== undefined) {
      await Promise.allSettled([entry.closing]) // whoever closes it hears of a failure
      return this.resume(id)
    }
    if (entry !== undefined) return entry.session
    const already = this.resuming.get(id)
    if (already !== undefined) return already
    const resuming = this.load(id).finally(() => this.resuming.delete(id))
    this.resuming.set(id, resuming)
    return resuming
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
    const turns = turnsAt(source, atSeq)
    if (turns.turnOpen) throw new Error(`session ${source.id} cannot be forked at ${atSeq}: turn ${turns.turn} is open there`)
    const header: SessionHeader = {
      id: randomUUID(),
      createdAt: Date.now(),
      ...(source.header.cwd === undefined ? {} : { cwd: source.header.cwd }),
      parent: { id: source.id, seq: atSeq },
    }
    const store = await this.storage?.create(header)
    return this.owning(header, store, async () => {
      if (store !== undefined) await copy(prefix(source.log, atSeq), store)
      return this.adopt({ header, log: this.newLog(store), seed: prefix(source.log, atSeq) }, store)
    })
  }

  get(id: string): Session | undefined {
    const entry = this.open.get(id)
    return entry?.closing === undefined ? entry?.session : undefined
  }

  /** What the store holds; the sessions open here when nothing stores them. */
  async list(): Promise<readonly SessionListing[]> {
    if (this.storage !== undefined) return this.storage.list()
    return [...this.open.values()].map(({ session }) => ({ header: session.header, modifiedAt: session.header.createdAt, bytes: 0 }))
  }

  flush(session: Session): Promise<void> {
    return session.flush()
  }

  /**
   * Makes everything durable and lets go of the session; appending to it is an error from this call on. Again, or of a session
   * that is not open here, it does nothing more.
   *
   * @throws Error when something could not be made durable; the session is closed nevertheless.
   */
  async close(session: Session): Promise<void> {
    const entry = this.open.get(session.id)
    if (entry?.session === session) await (entry.closing ??= this.letGo(entry))
  }

  async *[Service.init](): AsyncGenerator<() => Promise<void>, void, void> {
    yield async () => {
      this.unloaded = true
      const sessions = [...this.open.values()].map(({ session }) => session)
      const outcomes = await Promise.allSettled(sessions.map(session => this.close(session)))
      outcomes.forEach((outcome, index) => {
        if (outcome.status === 'rejected') this.warn(`session ${sessions[index]!.id} was not closed cleanly`, outcome.reason)
      })
    }
  }

  private get storage(): SessionStorage | undefined {
    return this.ctx.get('sessionPersistence') as SessionStorage | undefined
  }

  private refuseOpen(id: string): void {
    if (this.open.has(id)) throw new Error(`session ${id} is open already`)
  }

  /** A log that reads back from `source` what it lets go of. */
  private newLog(source: EventSource | undefined): EventLog {
    const log = new EventLog(source === undefined ? {} : { source })
    for (const fold of [turnFold, requestFold, messagesFold]) log.read<unknown>(fold)
    this.tell('session/loading', log)
    return log
  }

  private async load(id: string): Promise<Session> {
    if (this.storage === undefined) throw new Error(`session ${id} cannot be resumed: no session store is loaded`)
    const opened: { store?: SessionStore } = {}
    const log = this.newLog({ at: seq => opened.store!.at(seq), read: from => opened.store!.read(from) })
    const store = await this.storage.open(id, event => log.load(event))
    opened.store = store
    return this.owning(store.header, store, async () => this.adopt({ header: store.header, log, seed: [] }, store))
  }

  /** Runs `task`, which hands the store on to a session; whatever goes wrong in it, the store is let go of. */
  private async owning(header: SessionHeader, store: SessionStore | undefined, task: () => Promise<Session>): Promise<Session> {
    try {
      return await task()
    } catch (error) {
      await store?.close().catch((reason: unknown) => this.warn(`the store of session ${header.id} was not closed cleanly`, reason))
      throw error
    }
  }

  private adopt(init: Pick<SessionInit, 'header' | 'log' | 'seed'>, store: SessionStore | undefined): Session {
    const { id } = init.header
    if (this.unloaded) throw new Error(`session ${id} cannot be opened: the session service was unloaded meanwhile`)
    this.refuseOpen(id)
    for (const notice of store?.notices ?? []) this.ctx.logger('sessions').warn('%s', notice)
    const session = new Session({ ...init, ...(store === undefined ? {} : { sink: store }), guard: this.guard, observer: this.observer })
    completeInterruptedTurn(session)
    this.open.set(id, { session, store })
    this.tell('session/created', session)
    return session
  }

  private async letGo({ session, store }: OpenSession): Promise<void> {
    session.close()
    try {
      await store?.close()
    } finally {
      this.open.delete(session.id)
      this.tell('session/closed', session)
    }
  }

  private warn(what: string, error: unknown): void {
    this.ctx.logger('sessions').warn('%s: %s', what, traceOf(error))
  }
}

/** The state of turns after the first `length` events. */
function turnsAt(source: Session, length: number): TurnState {
  if (length === source.log.length) return source.read(turnFold)
  let state = turnFold.init()
  for (const event of prefix(source.log, length)) state = turnFold.apply(state, event, null)
  return state
}

function* prefix(log: LogView, length: number): Generator<SessionEvent> {
  if (length === 0) return
  for (const event of log.from(0)) {
    yield event
    if (event.seq + 1 === length) return
  }
}

/** Events that may wait in memory for their flush while a log is copied. */
const COPY_BATCH_EVENTS = 4_096

async function copy(events: Iterable<SessionEvent>, store: SessionStore): Promise<void> {
  for (const event of events) {
    store.append(event)
    if ((event.seq + 1) % COPY_BATCH_EVENTS === 0) await store.flush()
  }
}
