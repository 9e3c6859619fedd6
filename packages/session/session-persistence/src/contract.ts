/**
 * The contract of a store, as a suite that every store runs.
 *
 * `sessionPersistenceContract('jsonl', makeStorage)` in a spec file is all it takes.
 */
import { InvalidEventError, type SessionEvent, type SessionHeader, type SessionStorage, type SessionStore } from '@deepseek-ai/dsh-session'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

export interface StorageUnderTest {
  /** Empty. */
  readonly storage: SessionStorage
  /** A storage over a copy of all that is stored at this moment: what a new process finds when this one dies here. */
  crash(): Promise<SessionStorage>
  /** Lets go of everything, copies included. */
  dispose(): Promise<void>
}

const header: SessionHeader = { id: 'first', createdAt: 1_700_000_000_000 }

const message = (seq: number, text: string): SessionEvent => ({
  seq,
  time: 1_700_000_000_000 + seq,
  type: 'user/message',
  data: { content: [{ type: 'text', text }], source: { kind: 'user' } },
  surfaceOp: 'append',
})
const messages = (count: number, from = 0): SessionEvent[] =>
  Array.from({ length: count }, (_, index) => message(from + index, `message ${from + index}`))

/** Events whose text is a trap for a store that keeps lines, code points or JavaScript objects. */
const awkward: SessionEvent[] = [
  'two\nlines\r\nand\u2028a separator\u2029',
  'quotes " \\ and \u0000 controls',
  '😀 中文 \ud800 lone',
  '',
  'x'.repeat(3_000_000),
].map((text, seq) => message(seq, text))

/** An event of a package that this process did not load. */
const unknownEvent = (seq: number): SessionEvent =>
  JSON.parse(`{"seq":${seq},"time":1,"type":"weather/report","data":{"__proto__":{"b":1},"10":[],"a":1e21,"é":null},"note":"kept"}`) as SessionEvent

const fill = (store: SessionStore, events: Iterable<SessionEvent>): void => {
  for (const event of events) store.append(event)
}
const all = (store: SessionStore): SessionEvent[] => [...store.read()]
const code = (name: string): unknown => expect.objectContaining({ code: name })

export function sessionPersistenceContract(name: string, makeStorage: () => Promise<StorageUnderTest>): void {
  describe(`${name} keeps the contract of session persistence`, () => {
    let under: StorageUnderTest
    let storage: SessionStorage
    beforeEach(async () => {
      under = await makeStorage()
      storage = under.storage
    })
    afterEach(() => under.dispose())

    /** What a new process reads of the first session when this one dies now. */
    const afterCrash = async (): Promise<SessionEvent[]> => all(await (await under.crash()).open(header.id))

    describe('what is written comes back', () => {
      it('creates an empty session that survives at once', async () => {
        const full: SessionHeader = { ...header, cwd: '/somewhere', parent: { id: 'parent', seq: 7 } }
        const store = await storage.create(full)
        expect(store.header).toEqual(full)
        expect(store.notices).toEqual([])
        expect(all(store)).toEqual([])
        const reloaded = await (await under.crash()).open(full.id)
        expect(reloaded.header).toEqual(full)
        expect(reloaded.notices).toEqual([])
        expect(all(reloaded)).toEqual([])
      })

      it('keeps every event equal and in order', async () => {
        const store = await storage.create(header)
        fill(store, messages(100))
        await store.flush()
        expect(await afterCrash()).toEqual(messages(100))
      })

      it('keeps text that is awkward in lines, code points or JSON', async () => {
        const store = await storage.create(header)
        fill(store, awkward)
        await store.flush()
        expect(await afterCrash()).toEqual(awkward)
      })

      it('keeps an event of an unknown type as it is, to the byte', async () => {
        const store = await storage.create(header)
        store.append(unknownEvent(0))
        await store.flush()
        expect(JSON.stringify(await afterCrash())).toBe(JSON.stringify([unknownEvent(0)]))
      })

      it('goes on where the session was left', async () => {
        const first = await storage.create(header)
        fill(first, messages(3))
        await first.close()
        const second = await storage.open(header.id)
        fill(second, messages(3, 3))
        await second.close()
        const third = await storage.open(header.id)
        expect(all(third)).toEqual(messages(6))
      })
    })

    describe('flush is the promise', () => {
      it('covers everything appended before it, however many flushes overlap', async () => {
        const store = await storage.create(header)
        const promises: Promise<unknown>[] = []
        for (const event of messages(30)) {
          store.append(event)
          promises.push(store.flush().then(async () => {
            const survived = await afterCrash()
            expect(survived.length).toBeGreaterThan(event.seq)
            expect(survived).toEqual(messages(survived.length))
          }))
        }
        await Promise.all(promises)
      })

      it('leaves nothing but whole events in order when the process dies without one', async () => {
        const store = await storage.create(header)
        fill(store, messages(50))
        void store.flush()
        fill(store, messages(50, 50))
        const survived = await afterCrash()
        expect(survived).toEqual(messages(survived.length))
        await store.close()
      })

      it('resolves with nothing to do', async () => {
        const store = await storage.create(header)
        await store.flush()
        await store.flush()
        expect(await afterCrash()).toEqual([])
      })

      it('is part of close', async () => {
        const store = await storage.create(header)
        fill(store, messages(5))
        await store.close()
        expect(await afterCrash()).toEqual(messages(5))
      })
    })

    describe('read is a view of what was appended', () => {
      const lengths = [0, 1, 4]
      it('yields the events from any seq on, flushed or not, as often as asked', async () => {
        const store = await storage.create(header)
        fill(store, messages(3))
        await store.flush()
        fill(store, messages(3, 3))
        for (const from of [0, 1, 2, 3, 4, 5, 6, 7, 0]) expect([...store.read(from)]).toEqual(messages(6).slice(from))
        await store.flush()
        expect(all(store)).toEqual(messages(6))
      })

      it.each(lengths)('yields the same after opening %d stored events, again and again', async count => {
        const first = await storage.create(header)
        fill(first, messages(count))
        await first.close()
        const store = await storage.open(header.id)
        const partial = store.read()[Symbol.iterator]()
        partial.next()
        expect(all(store)).toEqual(messages(count))
        fill(store, messages(2, count))
        expect(all(store)).toEqual(messages(count + 2))
        expect([...store.read(count)]).toEqual(messages(2, count))
      })
    })

    describe('at is one event of what was appended', () => {
      it('answers for any seq, flushed or not, and after closing', async () => {
        const store = await storage.create(header)
        fill(store, [...awkward, unknownEvent(awkward.length)])
        await store.flush()
        fill(store, messages(3, awkward.length + 1))
        const expected = [...awkward, unknownEvent(awkward.length), ...messages(3, awkward.length + 1)]
        const everySeq = (of: SessionStore): SessionEvent[] => expected.map((_, seq) => of.at(seq))
        expect(everySeq(store)).toEqual(expected)
        await store.close()
        expect(everySeq(store)).toEqual(expected)
        expect(all(store)).toEqual(expected)
        expect(everySeq(await storage.open(header.id))).toEqual(expected)
      })

      it('gives the caller an object of its own', async () => {
        const store = await storage.create(header)
        fill(store, messages(1))
        expect(store.at(0)).not.toBe(store.at(0))
        Object.assign(store.at(0), { type: 'spoilt' })
        expect(store.at(0)).toEqual(message(0, 'message 0'))
      })

      it.each([-1, 2, 0.5, Number.NaN])('names an event %d that is not there', async seq => {
        const store = await storage.create(header)
        fill(store, messages(2))
        expect(() => store.at(seq)).toThrow(RangeError)
        expect(() => store.at(seq)).toThrow(`no event ${seq}`)
      })
    })

    describe('opening', () => {
      const stored = async (count: number): Promise<void> => {
        const store = await storage.create(header)
        fill(store, messages(count))
        await store.close()
      }

      it('hands over every event once, in order', async () => {
        await stored(5)
        const taken: SessionEvent[] = []
        const store = await storage.open(header.id, event => void taken.push(event))
        expect(taken).toEqual(messages(5))
        fill(store, messages(1, 5))
        expect(all(store)).toEqual(messages(6))
        expect(taken).toHaveLength(5)
      })

      it('fails with what the taker throws, and lets go of the session', async () => {
        await stored(5)
        const refusal = new Error('not this one')
        await expect(storage.open(header.id, event => { if (event.seq === 3) throw refusal })).rejects.toBe(refusal)
        expect(all(await storage.open(header.id))).toEqual(messages(5))
      })

      it('calls an event damage that no log can hold', async () => {
        await stored(5)
        const refusal = new InvalidEventError('user/message', 3, 'it is odd')
        await expect(storage.open(header.id, event => { if (event.seq === 3) throw refusal })).rejects.toMatchObject({
          code: 'SESSION_DAMAGED', cause: refusal, message: expect.stringContaining(refusal.message),
        })
        expect(all(await storage.open(header.id))).toEqual(messages(5))
      })
    })

    describe('one writer', () => {
      it('refuses a second one, naming the process, until the first is closed', async () => {
        const store = await storage.create(header)
        await expect(storage.open(header.id)).rejects.toMatchObject({ code: 'SESSION_BUSY', message: expect.stringContaining(String(process.pid)) })
        expect(await storage.list()).toMatchObject([{ header, holder: { pid: process.pid, startedAt: expect.any(Number) } }])
        await store.close()
        expect((await storage.list())[0]).not.toHaveProperty('holder')
        const reopened = await storage.open(header.id)
        await expect(storage.open(header.id)).rejects.toEqual(code('SESSION_BUSY'))
        await reopened.close()
      })

      it('lets exactly one of two simultaneous callers in', async () => {
        const created = await Promise.allSettled([storage.create(header), storage.create(header)])
        expect(created.map(result => result.status).sort()).toEqual(['fulfilled', 'rejected'])
        for (const result of created) if (result.status === 'fulfilled') await result.value.close()
        const opened = await Promise.allSettled([storage.open(header.id), storage.open(header.id)])
        expect(opened.map(result => result.status).sort()).toEqual(['fulfilled', 'rejected'])
      })

      it('refuses an event that is not the next one, and keeps nothing of it', async () => {
        const store = await storage.create(header)
        fill(store, messages(2))
        for (const seq of [0, 1, 3, -1]) expect(() => store.append(message(seq, 'stray'))).toThrow(code('SESSION_OUT_OF_ORDER'))
        await store.flush()
        expect(await afterCrash()).toEqual(messages(2))
      })

      it('refuses events once closed; closing and flushing again are harmless', async () => {
        const store = await storage.create(header)
        fill(store, messages(1))
        await store.close()
        expect(() => store.append(message(1, 'late'))).toThrow(code('SESSION_CLOSED'))
        await store.close()
        await store.flush()
        expect(await afterCrash()).toEqual(messages(1))
      })
    })

    describe('ids', () => {
      it('tells a session that is not there from one that is', async () => {
        await expect(storage.open('absent')).rejects.toEqual(code('SESSION_NOT_FOUND'))
        await (await storage.create(header)).close()
        await expect(storage.create(header)).rejects.toEqual(code('SESSION_EXISTS'))
        await expect(storage.open('absent')).rejects.toEqual(code('SESSION_NOT_FOUND'))
      })

      it.each(['', '.', '..', 'a/b', 'a\\b', '../first', '/first', 'a\0b', ' a', 'a b', 'é', 'x'.repeat(129)])('refuses %j', async id => {
        await expect(storage.create({ ...header, id })).rejects.toEqual(code('SESSION_ID_INVALID'))
        await expect(storage.open(id)).rejects.toEqual(code('SESSION_ID_INVALID'))
      })
    })

    describe('list', () => {
      it('is empty at first', async () => {
        expect(await storage.list()).toEqual([])
      })

      it('shows every session, open or closed, with its size', async () => {
        const headers = ['a', 'b', 'c'].map((id, index): SessionHeader => ({ ...header, id, parent: { id: 'p', seq: index } }))
        for (const [index, one] of headers.entries()) {
          const store = await storage.create(one)
          fill(store, messages(index * 10))
          if (one.id === 'b') await store.flush()
          else await store.close()
        }
        const listed = [...await storage.list()].sort((one, other) => one.header.id.localeCompare(other.header.id))
        expect(listed.map(listing => listing.header)).toEqual(headers)
        expect(listed[1]!.bytes).toBeGreaterThan(listed[0]!.bytes)
        expect(listed[2]!.bytes).toBeGreaterThan(listed[1]!.bytes)
        for (const { modifiedAt } of listed) expect(modifiedAt).toBeGreaterThan(header.createdAt)
      })
    })
  })
}
