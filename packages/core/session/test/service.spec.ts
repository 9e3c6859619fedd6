import { Context, Logger, type Exporter } from '@deepseek-ai/cordis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkLog, openTurn, Session, sessionInvariant, SessionService, type Fold } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { MemoryStorage } from './memory-storage.ts'
import { draw, TIME } from './notation.ts'

async function start({ stored = true } = {}) {
  const ctx = new Context()
  onTestFinished(() => ctx.fiber.dispose())
  const logged: string[] = []
  const exporter: Exporter = { levels: { default: 2 }, export: message => void logged.push(Logger.format(exporter, message)) }
  ctx.logger.exporter(exporter)
  let storage: MemoryStorage | undefined
  if (stored) {
    await ctx.plugin(MemoryStorage)
    storage = ctx.get('sessionPersistence') as unknown as MemoryStorage
  }
  const fiber = await ctx.plugin(SessionService)
  const heard: string[] = []
  ctx.on('session/created', session => void heard.push(`created ${session.log.length}`))
  ctx.on('session/event', (_session, event) => void heard.push(`event ${event.seq} ${event.type}`))
  ctx.on('session/flush', () => void heard.push('flush'))
  ctx.on('session/closed', () => void heard.push('closed'))
  return { ctx, fiber, sessions: ctx.sessions, storage: storage!, heard, logged }
}

const typesOf = (session: Session): string[] => [...session.log.from(0)].map(event => event.type)

describe('create', () => {
  it('makes an empty session that is there by its id and told of', async () => {
    const { sessions, heard, storage } = await start()
    const session = await sessions.create({ id: 'one', cwd: '/somewhere' })
    expect(session.header).toMatchObject({ id: 'one', cwd: '/somewhere' })
    expect(session.log.length).toBe(0)
    expect(sessions.get('one')).toBe(session)
    draw(session, 'T1 u')
    await sessions.flush(session)
    expect(heard).toEqual(['created 0', 'event 0 turn/start', 'event 1 user/message', 'flush'])
    expect(storage.durable('one')).toEqual(['turn/start', 'user/message'])
  })

  it('works without a store, in memory', async () => {
    const { sessions, heard } = await start({ stored: false })
    const session = await sessions.create()
    draw(session, 'u')
    await sessions.flush(session)
    expect((await sessions.list()).map(listing => listing.header)).toEqual([session.header])
    await sessions.close(session)
    expect(heard).toEqual(['created 0', 'event 0 user/message', 'flush', 'closed'])
    expect(await sessions.list()).toEqual([])
    await expect(sessions.resume(session.id)).rejects.toThrow(`session ${session.id} cannot be resumed: no session store is loaded`)
  })

  it.each([true, false])('refuses an id that is taken, also at the same time (stored: %s)', async stored => {
    const { sessions } = await start({ stored })
    const [first, second] = await Promise.allSettled([sessions.create({ id: 'one' }), sessions.create({ id: 'one' })])
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected'])
    await expect(sessions.create({ id: 'one' })).rejects.toThrow('session one is open already')
    expect(sessions.get('one')).toBe((first as PromiseFulfilledResult<Session>).value)
  })

  it('gives ids that differ', async () => {
    const { sessions } = await start()
    const [first, second] = [await sessions.create(), await sessions.create()]
    expect(first.id).not.toBe(second.id)
  })
})

describe('resume', () => {
  it('goes on where a closed session was left', async () => {
    const { sessions, heard, storage } = await start()
    const first = await sessions.create({ id: 'one' })
    draw(first, 'T1 u S1 a s1 t1')
    await sessions.close(first)
    heard.length = 0
    const second = await sessions.resume('one')
    expect(second).not.toBe(first)
    expect([...second.log.from(0)].slice(0, 6)).toEqual([...first.log.from(0)])
    expect(typesOf(second).slice(6)).toEqual(['session/end-seed'])
    draw(second, 'T2')
    expect(heard).toEqual(['created 7', 'event 7 turn/start'])
    await sessions.close(second)
    expect(storage.durable('one')).toEqual(typesOf(second))
    expectReplays(second)
  })

  it('completes an interrupted turn, the end of the seed first, before anybody is told', async () => {
    const { sessions, ctx, heard, storage } = await start()
    const first = await sessions.create({ id: 'one' })
    draw(first, 'T1 u S1 a(x,y) x!')
    await sessions.flush(first)
    draw(first, 'x= y!')
    await sessions.close(first)
    storage.kept.get('one')!.durable.splice(5) // what came after the flush is lost
    ctx.on('session/created', session => void heard.push(`turn ${openTurn(session)}`))
    heard.length = 0
    const second = await sessions.resume('one')
    expect(typesOf(second).slice(5)).toEqual(['session/end-seed', 'tool/result', 'tool/result', 'step/end', 'turn/end'])
    expect(second.log.at(6).data).toMatchObject({ callId: 'x', error: { code: 'TOOL_OUTCOME_UNKNOWN' } })
    expect(second.log.at(7).data).toMatchObject({ callId: 'y', error: { code: 'TOOL_NOT_STARTED' } })
    expect(heard).toEqual(['created 10', 'turn null'])
    expect(checkLog(second.log.from(0), [sessionInvariant])).toEqual([])
    await sessions.flush(second)
    expect(storage.durable('one')).toEqual(typesOf(second))
  })

  it('returns the session that is open, and one for all who ask at the same time', async () => {
    const { sessions } = await start()
    const session = await sessions.create({ id: 'one' })
    expect(await sessions.resume('one')).toBe(session)
    await sessions.close(session)
    const [first, second] = await Promise.all([sessions.resume('one'), sessions.resume('one')])
    expect(first).toBe(second)
    expect(first).not.toBe(session)
  })

  it('waits for a session that is closing', async () => {
    const { sessions } = await start()
    const session = await sessions.create({ id: 'one' })
    draw(session, 'u')
    const closing = sessions.close(session)
    expect(sessions.get('one')).toBeUndefined()
    const resumed = await sessions.resume('one')
    await closing
    expect(typesOf(resumed)).toEqual(['user/message', 'session/end-seed'])
    expect(sessions.get('one')).toBe(resumed)
  })

  it('says what the store set aside', async () => {
    const { sessions, storage, logged } = await start()
    await sessions.close(await sessions.create({ id: 'one' }))
    storage.notices = ['a torn line of 100% was set aside in %s']
    await sessions.resume('one')
    expect(logged).toEqual(['a torn line of 100% was set aside in %s'])
  })

  it('takes each event once, shows it to every fold that was read while it loaded, and reads nothing twice', async () => {
    const { sessions, ctx, storage } = await start()
    const count: Fold<number> = { init: () => 0, apply: seen => seen + 1 }
    ctx.on('session/loading', log => void log.read(count))
    const first = await sessions.create({ id: 'one' })
    for (let turn = 1; turn <= 300; turn++) draw(first, `T${turn} u t${turn}`)
    draw(first, 'T301 S1 a(x)')
    await sessions.close(first)
    const second = await sessions.resume('one')
    expect(typesOf(second).slice(-4)).toEqual(['session/end-seed', 'tool/result', 'step/end', 'turn/end'])
    storage.reads.length = 0
    expect(second.read(count)).toBe(907)
    expect(second.deriveMessages().length).toBe(302)
    expect(openTurn(second)).toBeNull()
    expect(storage.reads).toEqual([])
    expect(second.log.at(0)).toEqual(first.log.at(0))
    expect(storage.reads).toEqual([0, 0])
    expectReplays(second)
  })

  it('of a log that no session can hold lets go of the store', async () => {
    const { sessions, storage, heard } = await start()
    await sessions.close(await sessions.create({ id: 'one' }))
    heard.length = 0
    const { durable } = storage.kept.get('one')!
    durable.push('{"seq":5,"time":1,"type":"turn/start","data":{"turn":1}}')
    await expect(sessions.resume('one')).rejects.toThrow('event 0 (turn/start) is refused: it is numbered 5, and 0 comes next')
    expect(sessions.get('one')).toBeUndefined()
    expect(heard).toEqual([])
    durable.pop()
    expect(typesOf(await sessions.resume('one'))).toEqual(['session/end-seed'])
  })

  it('of an unknown id fails with what the store says', async () => {
    const { sessions } = await start()
    await expect(sessions.resume('nobody')).rejects.toThrow('session nobody is not there')
  })
})

describe('fork', () => {
  it('begins with what its source had, and neither changes the other', async () => {
    const { sessions, heard, storage } = await start()
    const source = await sessions.create({ id: 'one', cwd: '/somewhere' })
    draw(source, 'T1 u S1 a s1 t1')
    heard.length = 0
    const fork = await sessions.fork(source)
    expect(fork.header).toMatchObject({ cwd: '/somewhere', parent: { id: 'one', seq: 6 } })
    expect(fork.log.at(1)).toBe(source.log.at(1))
    expect(typesOf(fork)).toEqual([...typesOf(source), 'session/end-seed'])
    expect(heard).toEqual(['created 7'])
    draw(fork, 'T2')
    draw(source, 'u[1..3]')
    expect(source.log.length).toBe(7)
    expect(fork.surface.entries).toEqual([1, 3])
    await sessions.close(fork)
    expect(storage.durable(fork.id)).toEqual(typesOf(fork))
    const resumed = await sessions.resume(fork.id)
    expect(resumed.header).toEqual(fork.header)
    expectReplays(resumed)
  })

  it('may begin at any place between turns, and at no other', async () => {
    const { sessions } = await start({ stored: false })
    const source = await sessions.create({ id: 'one' })
    draw(source, 'u T1 u S1 a(x) x= s1 t1 u T2 t2')
    for (let seq = 0; seq <= source.log.length; seq++) {
      const turn = seq >= 2 && seq <= 7 ? 1 : seq === 10 ? 2 : null
      if (turn === null) {
        const fork = await sessions.fork(source, seq)
        expect(fork.header.parent).toEqual({ id: 'one', seq })
        expect(fork.log.length).toBe(seq + 1)
      } else {
        await expect(sessions.fork(source, seq)).rejects.toThrow(`session one cannot be forked at ${seq}: turn ${turn} is open there`)
      }
    }
  })

  it.each([-1, 2, 0.5, Number.NaN])('refuses place %d of a log of one event, and creates nothing', async seq => {
    const { sessions, storage } = await start()
    const source = await sessions.create({ id: 'one' })
    draw(source, 'u')
    await expect(sessions.fork(source, seq)).rejects.toThrow(`session one cannot be forked at ${seq}: it has 1 events`)
    expect(storage.kept.size).toBe(1)
  })

  it('takes the surface as it was there, not as it is', async () => {
    const { sessions } = await start()
    const source = await sessions.create()
    draw(source, 'u u u u[0..1]')
    expect((await sessions.fork(source, 3)).surface.entries).toEqual([0, 1, 2])
    expect((await sessions.fork(source, 4)).surface.entries).toEqual([3, 2])
  })

  it('copies a long log without holding it', async () => {
    const { sessions, storage } = await start()
    const source = await sessions.create({ id: 'one' })
    for (let turn = 1; turn <= 2_000; turn++) draw(source, `T${turn} u t${turn}`)
    const fork = await sessions.fork(source, 5_999)
      .catch((error: Error) => error.message)
    expect(fork).toBe('session one cannot be forked at 5999: turn 2000 is open there')
    const whole = await sessions.fork(source)
    expect(storage.durable(whole.id).length).toBe(4_096)
    await sessions.close(whole)
    expect(storage.durable(whole.id)).toEqual([...typesOf(source), 'session/end-seed'])
  })

  it('works on a closed source', async () => {
    const { sessions } = await start()
    const source = await sessions.create()
    draw(source, 'u')
    await sessions.close(source)
    expect((await sessions.fork(source)).surface.entries).toEqual([0])
  })
})

describe('observers', () => {
  it('that throw or reject are logged, and the others still hear', async () => {
    const { sessions, ctx, heard, logged } = await start()
    ctx.on('session/event', () => { throw new Error('a bug at 100%') }, { prepend: true })
    ctx.on('session/event', async () => { throw new Error('a late bug') }, { prepend: true })
    const session = await sessions.create()
    draw(session, 'u')
    await Promise.resolve()
    expect(heard).toEqual(['created 0', 'event 0 user/message'])
    expect(logged.length).toBe(2)
    expect(logged[0]).toContain('a listener of session/event failed and was ignored: Error: a bug at 100%')
    expect(logged[1]).toContain('a late bug')
  })

  it.each(['session/created', 'session/flush', 'session/closed'] as const)('of %s are contained too', async name => {
    const { sessions, ctx, heard, logged } = await start()
    ctx.on(name, () => { throw new Error('a bug') }, { prepend: true })
    const session = await sessions.create()
    await sessions.flush(session)
    await sessions.close(session)
    expect(heard).toEqual(['created 0', 'flush', 'closed'])
    expect(logged.length).toBe(1)
    expect(logged[0]).toContain(`a listener of ${name} failed`)
  })

  it('may not append to the session they are told of, but to another', async () => {
    const { sessions, ctx } = await start()
    const [one, other] = [await sessions.create({ id: 'one' }), await sessions.create({ id: 'other' })]
    const refusals: unknown[] = []
    ctx.on('session/event', session => {
      if (session !== one) return
      draw(other, 'u')
      try {
        draw(one, 'u')
      } catch (error) {
        refusals.push(String(error))
      }
    })
    draw(one, 'T1')
    expect(refusals).toEqual(['Error: an observer of session one may not append user/message while it is being told of an event'])
    expect([one.log.length, other.log.length]).toEqual([1, 1])
  })

  it('may read folds, flush and go away while they are told', async () => {
    const { sessions, ctx } = await start()
    const session = await sessions.create()
    const counts: number[] = []
    const off = ctx.on('session/event', () => {
      off()
      void sessions.flush(session)
      counts.push(session.deriveMessages().length)
    })
    draw(session, 'u u')
    expect(counts).toEqual([1])
  })

  it('hear of sessions that a plugin opened, also when it is gone', async () => {
    const { ctx, heard } = await start()
    let session: Session | undefined
    const opener = await ctx.plugin({
      inject: ['sessions'],
      async apply(inner: Context) {
        session = await inner.sessions.create({ id: 'one' })
      },
    })
    await opener.dispose()
    draw(session!, 'u')
    await session!.flush()
    await ctx.sessions.close(session!)
    expect(heard).toEqual(['created 0', 'event 0 user/message', 'flush', 'closed'])
  })
})

describe('close', () => {
  it('makes everything durable, once, and refuses appends from the call on', async () => {
    const { sessions, heard, storage } = await start()
    const session = await sessions.create({ id: 'one' })
    draw(session, 'u')
    const both = [sessions.close(session), sessions.close(session)]
    expect(() => draw(session, 'u')).toThrow('session one is closed')
    await both[1]
    expect(storage.durable('one')).toEqual(['user/message'])
    await both[0]
    await sessions.close(session)
    expect(heard).toEqual(['created 0', 'event 0 user/message', 'closed'])
    expect(sessions.get('one')).toBeUndefined()
    await session.flush()
    expect(heard.length).toBe(3)
  })

  it('says what could not be made durable, and is closed nevertheless', async () => {
    const { sessions, heard, storage } = await start()
    const session = await sessions.create({ id: 'one' })
    storage.flushFault = new Error('disk gone')
    await expect(sessions.close(session)).rejects.toThrow('disk gone')
    expect(heard.at(-1)).toBe('closed')
    expect(await sessions.resume('one')).toBeInstanceOf(Session)
  })

  it('leaves a session alone that is not open here', async () => {
    const { sessions, heard } = await start()
    const session = await sessions.create({ id: 'one' })
    await sessions.close(new Session({ header: { id: 'one', createdAt: TIME } }))
    expect(sessions.get('one')).toBe(session)
    expect(heard).toEqual(['created 0'])
  })
})

describe('unloading', () => {
  it('closes every session, also when one of them cannot be closed cleanly', async () => {
    const { sessions, fiber, heard, storage, logged } = await start()
    for (const id of ['one', 'two', 'three']) draw(await sessions.create({ id }), 'u')
    storage.flushFault = new Error('disk gone')
    await fiber.dispose()
    expect(heard.filter(line => line === 'closed').length).toBe(3)
    expect([...storage.kept.values()].map(({ writer }) => writer)).toEqual([null, null, null])
    expect(['one', 'two', 'three'].flatMap(id => storage.durable(id)).length).toBe(2)
    expect(logged.length).toBe(1)
    expect(logged[0]).toMatch(/session one was not closed cleanly: Error: disk gone/)
  })

  it('lets no session slip in, and leaves no store open', async () => {
    const { sessions, fiber, storage } = await start()
    const late = sessions.create({ id: 'late' })
    await Promise.all([fiber.dispose(), expect(late).rejects.toThrow('session late cannot be opened: the session service was unloaded meanwhile')])
    expect(storage.kept.get('late')!.writer).toBeNull()
  })

  it('leaves no listener and no service behind', async () => {
    const { ctx, fiber } = await start()
    await fiber.dispose()
    expect(ctx.get('sessions')).toBeUndefined()
    await ctx.plugin(SessionService)
    await ctx.sessions.create({ id: 'again' })
    expect(ctx.sessions.get('again')).toBeInstanceOf(Session)
  })
})

it('list shows what the store holds, open or not', async () => {
  const { sessions } = await start()
  const [one, two] = [await sessions.create({ id: 'one' }), await sessions.create({ id: 'two' })]
  await sessions.close(one)
  expect((await sessions.list()).map(listing => listing.header)).toEqual([one.header, two.header])
})
