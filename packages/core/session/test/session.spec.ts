import { describe, expect, it } from 'vitest'
import { type EventSink, type Fold, isSurfaceEvent, Session, type SessionEvent, type SessionObserver } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { draw, eventsOf, sessionOf, TIME } from './notation.ts'

const header = { id: 'one', createdAt: TIME }

/** A session that keeps what its sink and its observer were told, in the order in which it happened. */
function watched(init: { seed?: SessionEvent[]; sink?: Partial<EventSink>; observer?: Partial<SessionObserver> } = {}) {
  const heard: string[] = []
  const session = new Session({
    header,
    now: () => TIME,
    ...(init.seed === undefined ? {} : { seed: init.seed }),
    sink: {
      append(event) {
        init.sink?.append?.(event)
        heard.push(`sink ${event.seq}`)
      },
      async flush() {
        await init.sink?.flush?.()
        heard.push('sink flush')
      },
    },
    observer: {
      event(event) {
        heard.push(`observer ${event.seq}`)
        init.observer?.event?.(event, session)
      },
      flushed: () => void heard.push('observer flushed'),
    },
  })
  return { session, heard }
}

describe('append', () => {
  it('numbers, dates and freezes the event, and takes a copy of the data', () => {
    let time = TIME
    const session = new Session({ header, now: () => time++ })
    const content = [{ type: 'text' as const, text: 'as said' }]
    const source = { kind: 'user', tags: ['a'] }
    const event = session.append('user/message', { content, source }, { surfaceOp: 'append' })
    content[0]!.text = 'changed later'
    source.tags.push('b')
    expect(event).toEqual({
      seq: 0, time: TIME, type: 'user/message', surfaceOp: 'append',
      data: { content: [{ type: 'text', text: 'as said' }], source: { kind: 'user', tags: ['a'] } },
    })
    expect(session.append('turn/start', { turn: 1 })).toEqual({ seq: 1, time: TIME + 1, type: 'turn/start', data: { turn: 1 } })
    expect(() => Object.assign(event.data.source, { kind: 'other' })).toThrow(TypeError)
    expect(() => (event.data.content as unknown[]).push({})).toThrow(TypeError)
  })

  it('goes to the sink first, then to the log, then to the observer', () => {
    const lengths: number[] = []
    const { session, heard } = watched({
      sink: { append: () => void lengths.push(session.log.length) },
      observer: { event: () => void lengths.push(session.log.length) },
    })
    session.append('turn/start', { turn: 1 })
    expect(heard).toEqual(['sink 0', 'observer 0'])
    expect(lengths).toEqual([0, 1])
  })

  it('does not happen where the sink refuses it', () => {
    let full = false
    const { session, heard } = watched({ sink: { append() { if (full) throw new Error('disk full') } } })
    draw(session, 'u')
    full = true
    expect(() => draw(session, 'u')).toThrow('disk full')
    full = false
    draw(session, 'u')
    expect(session.surface.entries).toEqual([0, 1])
    expect(heard).toEqual(['sink 0', 'observer 0', 'sink 1', 'observer 1'])
    expectReplays(session)
  })

  it('is refused to an observer that is being told, and only then', () => {
    let faults = 0
    const { session } = watched({
      observer: {
        event() {
          expect(() => session.append('turn/start', { turn: 2 })).toThrow('an observer of session one may not append turn/start')
          faults += 1
        },
      },
    })
    session.append('turn/start', { turn: 1 })
    session.append('turn/end', { turn: 1, reason: 'completed' })
    expect(faults).toBe(2)
    expect(session.log.length).toBe(2)
  })

  it('sets nothing but a placement through its third argument', () => {
    const session = sessionOf('u')
    const surface = { surfaceOp: 'append', seq: 7, time: 0, type: 'turn/start', data: {}, note: 'no' } as const
    const event = session.append('user/message', { content: [], source: { kind: 'user' } }, surface)
    expect(event).toEqual({ seq: 1, time: TIME, type: 'user/message', data: { content: [], source: { kind: 'user' } }, surfaceOp: 'append' })
  })

  it.each<[string, unknown, string]>([
    ['null', null, 'its data is null, not an object'],
    ['a list', [], 'its data is [], not an object'],
    ['nothing', undefined, 'user/message data is undefined'],
    ['an undefined part', { content: [], source: { kind: undefined } }, 'user/message data.source.kind is undefined'],
    ['no content', { source: { kind: 'user' } }, 'its content is undefined, not a list of blocks'],
    ['a block without a type', { content: [{ text: 'hi' }] }, 'its content[0] is {"text":"hi"}, not a block'],
  ])('refuses what a reload would refuse: %s for data', (_name, data, text) => {
    const { session, heard } = watched()
    expect(() => session.append('user/message', data as never, { surfaceOp: 'append' })).toThrow(text)
    expect([session.log.length, session.surface.entries.length, heard.length]).toEqual([0, 0, 0])
  })

  it('refuses a time that is none', () => {
    const session = new Session({ header, now: () => Number.NaN })
    expect(() => session.append('turn/start', { turn: 1 })).toThrow('event 0 (turn/start) is refused: its time is null, not a number of milliseconds')
  })

  it('is over once the session is closed; reading is not', async () => {
    const { session, heard } = watched()
    draw(session, 'u')
    session.close()
    expect(() => draw(session, 'u')).toThrow('session one is closed; resume it to append user/message')
    expect(session.deriveMessages().length).toBe(1)
    await session.flush()
    expect(heard).toEqual(['sink 0', 'observer 0', 'sink flush', 'observer flushed'])
  })
})

describe('flush', () => {
  it('tells the observer once the sink is done', async () => {
    const { session, heard } = watched()
    await session.flush()
    expect(heard).toEqual(['sink flush', 'observer flushed'])
  })

  it('passes a failure on and tells nobody that it worked', async () => {
    const { session, heard } = watched({ sink: { flush: () => Promise.reject(new Error('disk gone')) } })
    await expect(session.flush()).rejects.toThrow('disk gone')
    expect(heard).toEqual([])
  })

  it('resolves at once where nothing stores', async () => {
    await new Session({ header }).flush()
  })
})

describe('a seed', () => {
  it('is followed by session/end-seed, which alone goes to the sink; the observer hears of what comes later', () => {
    const seed = eventsOf('T1 u S1 a s1 t1')
    const { session, heard } = watched({ seed })
    expect([...session.log.from(0)]).toEqual([...seed, { seq: 6, time: TIME, type: 'session/end-seed', data: {} }])
    draw(session, 'u')
    expect(heard).toEqual(['sink 6', 'sink 7', 'observer 7'])
    expectReplays(session)
  })

  it('may be empty, and is then still a seed', () => {
    expect([...watched({ seed: [] }).session.log.from(0)].map(event => event.type)).toEqual(['session/end-seed'])
    expect(watched().session.log.length).toBe(0)
  })

  it('may be read as it is needed', () => {
    const seed = eventsOf('u a u[0..1]')
    const session = new Session({ header, seed: seed.values() })
    expect(session.surface.entries).toEqual([2])
    expect(session.surface.replaceGeneration).toBe(1)
  })

  it('shares the frozen events of another session, and copies those that can change', () => {
    const first = sessionOf('u')
    expect(new Session({ header, seed: first.log.from(0) }).log.at(0)).toBe(first.log.at(0))
    const seed = eventsOf('u')
    const session = new Session({ header, seed })
    Object.assign(seed[0]!.data, { content: [] })
    expect(session.log.at(0)).toEqual(first.log.at(0))
    expect(Object.isFrozen(session.log.at(0).data)).toBe(true)
  })

  it('keeps an event of an unknown type whole, with keys that nobody here knows', () => {
    const text = '{"seq":0,"time":1,"type":"weather/report","data":{"__proto__":{"b":1},"é":null},"note":"kept"}'
    const session = new Session({ header, seed: [JSON.parse(text) as SessionEvent] })
    expect(JSON.stringify(session.log.at(0))).toBe(text)
    expect(isSurfaceEvent(session.log.at(0))).toBe(false)
    expectReplays(session)
  })

  it.each<[string, (events: SessionEvent[]) => unknown[], string]>([
    ['out of order', ([first, second, ...rest]) => [second, first, ...rest], 'event 0 (user/message) is refused: it is numbered 1, and 0 comes next'],
    ['with a surface event that has no place', ([first]) => [first, { seq: 1, time: 1, type: 'user/message', data: { content: [] } }], "event 1 (user/message) is refused: surfaceOp must be 'append'"],
    ['with a place for what no model sees', ([first]) => [{ ...first, surfaceOp: 'append' }], 'event 0 (turn/start) is refused: it carries surfaceOp "append"'],
    ['with a value that JSON has not', ([first]) => [{ ...first, data: { turn: 1n } }], 'event 0.data.turn is the bigint 1'],
  ])('is refused %s', (_name, damage, text) => {
    expect(() => new Session({ header, seed: damage(eventsOf('T1 u t1')) as SessionEvent[] })).toThrow(text)
  })
})

describe('the log', () => {
  it('is a view: it grows with the session, also while it is read', () => {
    const session = sessionOf('u')
    const { log } = session
    const seqs: number[] = []
    for (const { seq } of log.from(0)) {
      seqs.push(seq)
      if (seq < 3) draw(session, 'u')
    }
    expect(seqs).toEqual([0, 1, 2, 3])
    expect(log.length).toBe(4)
    expect([...log.from(3)]).toEqual([log.at(3)])
    expect([...log.from(4)]).toEqual([])
  })

  it.each([-1, 2, 0.5, Number.NaN])('has no event %d, and says how many it has', seq => {
    expect(() => sessionOf('u u').log.at(seq)).toThrow(new RangeError(`no event ${seq}: the log has 2 events, numbered from 0`))
  })
})

describe('a fold', () => {
  const counting = (): Fold<{ applied: number }> => ({
    init: () => ({ applied: 0 }),
    apply(state) {
      state.applied += 1
      return state
    },
  })

  it('costs the events it has not seen', () => {
    const session = sessionOf('u u u')
    const fold = counting()
    expect(session.read(fold).applied).toBe(3)
    expect(session.read(fold).applied).toBe(3)
    draw(session, 'T1 u')
    expect(session.read(fold).applied).toBe(5)
    expect(session.read(counting()).applied).toBe(5)
    expect([...session.folds()].length).toBe(2)
  })

  it('sees no event that was refused', () => {
    const session = sessionOf('u')
    const fold = counting()
    session.read(fold)
    expect(() => draw(session, 'u[7..7]')).toThrow()
    expect(session.read(fold).applied).toBe(1)
  })

  it('may return a new state each time', () => {
    const sum: Fold<number> = { init: () => 0, apply: (state, event) => state + event.seq }
    const session = sessionOf('u u u')
    expect(session.read(sum)).toBe(3)
    draw(session, 'u')
    expect(session.read(sum)).toBe(6)
  })

  it('sees where each change fell, however late it is read', () => {
    const changes: Fold<string[]> = {
      init: () => [],
      apply: (state, _event, change) => [...state, change === null ? '-' : `${change.at}:${change.removed.join()}`],
    }
    const drawing = 'u T1 u u[0..2] u u[4..4] u[3..5] u'
    const whole = sessionOf(drawing).read(changes)
    expect(whole).toEqual(['0:', '-', '1:', '0:0,2', '1:', '1:4', '0:3,5', '1:'])
    const session = sessionOf('')
    for (const word of drawing.split(' ')) {
      draw(session, word)
      session.read(changes)
    }
    expect(session.read(changes)).toEqual(whole)
  })
})

describe('expectReplays', () => {
  it('finds a fold that depends on when it is read', () => {
    let reads = 0
    const fold: Fold<number> = { init: () => ++reads, apply: state => state }
    const session = sessionOf('u')
    session.read(fold)
    expect(() => expectReplays(session)).toThrow('a fold')
  })

  it('finds a state that an event does not explain', () => {
    const fold: Fold<{ seen: number }> = { init: () => ({ seen: 0 }), apply: state => ({ seen: state.seen + 1 }) }
    const session = sessionOf('u u')
    session.read(fold).seen = 7
    expect(() => expectReplays(session)).toThrow('a fold')
  })

  it('finds messages that were tampered with', () => {
    const session = sessionOf('u u')
    ;(session.deriveMessages() as unknown[]).pop()
    expect(() => expectReplays(session)).toThrow('messages')
  })
})

it('the header is a frozen copy', () => {
  const given = { id: 'one', createdAt: TIME, cwd: '/somewhere', parent: { id: 'zero', seq: 3 } }
  const session = new Session({ header: given })
  given.parent.seq = 9
  expect(session.header).toEqual({ id: 'one', createdAt: TIME, cwd: '/somewhere', parent: { id: 'zero', seq: 3 } })
  expect(session.id).toBe('one')
  expect(() => Object.assign(session.header, { id: 'two' })).toThrow(TypeError)
})
