/**
 * A process to be killed: plays turns on one session until somebody kills it, and tells of every event and every flush.
 *
 *     +SEQ HASH    an event is about to be handed to the store
 *     !SEQ         flushed: everything up to SEQ is said to be durable
 *     =            stopped where it was asked to stop, for good
 *
 * Each is one synchronous write to a pipe, made before the process goes on, so what it said survives it.
 *
 * A stop is exact. `appended`: the event was handed to the store and the thread stands; nothing written since can hold it.
 * `durable`: nothing behind the event reaches the store, and the thread stands once it was flushed; this is how the file looks
 * when a crash parts one batch of lines from the next, or a batch in its middle.
 */
import type { SessionEvent, SessionStore } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import { hash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { stage, type StageInit } from './stage.ts'
import { momentOf, type Order } from './order.ts'

/** Turns after which a process that nobody killed gives up. */
const MAX_TURNS = 400

const { stop, ...init } = JSON.parse(process.argv[2]!) as Order & StageInit

/** By number: `process.stdout` would make the pipe refuse what it has no room for, where this waits until somebody has read. */
const STDOUT = 1

function tell(line: string): void {
  writeSync(STDOUT, `${line}\n`)
}

function standStill(): never {
  tell('=')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  throw new Error('nobody can wake this thread')
}

/** The same store, with a look at what goes in and what it promises. */
function watched<S extends SessionStore>(store: S): S {
  const append = store.append.bind(store)
  const flush = store.flush.bind(store)
  let last = -1
  let stopSeq = Infinity
  store.append = (event: SessionEvent) => {
    tell(`+${event.seq} ${hash('sha256', JSON.stringify(event), 'base64url')}`)
    if (event.seq > stopSeq) return
    append(event)
    last = event.seq
    if (stop === undefined || stop.moment !== momentOf(event)) return
    if (stop.when === 'appended') standStill()
    stopSeq = event.seq
  }
  store.flush = async () => {
    const taken = last
    await flush()
    if (taken >= 0) tell(`!${taken}`)
    if (taken === stopSeq) standStill()
  }
  return store
}

class WatchedPersistence extends JsonlSessionPersistence {
  override async create(...args: Parameters<JsonlSessionPersistence['create']>): Promise<SessionStore> {
    return watched(await super.create(...args))
  }

  override async open(...args: Parameters<JsonlSessionPersistence['open']>): Promise<SessionStore> {
    return watched(await super.open(...args))
  }
}

const { catchUp, playTurn } = await stage(init, WatchedPersistence)
flushCompileCache() // a process that is killed would leave none to the next one
await catchUp()
for (let turn = 0; turn < MAX_TURNS; turn++) await playTurn()
throw new Error(`nobody killed this process in ${MAX_TURNS} turns`)
