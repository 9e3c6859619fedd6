import fc from 'fast-check'
import assert from 'node:assert/strict'
import { expect, it } from 'vitest'
import { EventLog, InvalidEventError, type Seq, Session, type SessionEvent, type SurfacePlacement } from '../src/index.ts'
import { expectReplays } from '../src/testing.ts'
import { followingFold, historyFold, naiveHistory, naiveMessages, naiveSurface } from './model.ts'
import { eventsOf, TIME } from './notation.ts'

const CASES = 5_000

type Operation =
  | { readonly kind: 'append'; readonly what: Content; readonly sources: readonly number[] }
  | { readonly kind: 'replace'; readonly what: Content; readonly from: number; readonly span: number; readonly sources: Sources }
  /** Any number where a seq belongs, nearly always one that is refused. */
  | { readonly kind: 'wild replace'; readonly what: Content; readonly start: number; readonly end: number }
  /** A result takes the place of an entry, with data of its own or of what it replaces. */
  | { readonly kind: 'rewrite'; readonly at: number; readonly faithful: boolean }
  | { readonly kind: 'log only'; readonly type: 'turn/start' | 'step/start' | 'request/context'; readonly placed: boolean }
  | { readonly kind: 'refused data'; readonly what: 'undefined' | 'nan' | 'cycle' | 'no content' | 'no object' }
  | { readonly kind: 'fork'; readonly at: number }
  | { readonly kind: 'reload'; readonly recentEvents: number; readonly known: boolean }
  | { readonly kind: 'read'; readonly what: 'messages' | 'following' | 'history' }
  | { readonly kind: 'damaged seed'; readonly at: number; readonly how: 'gap' | 'no placement' | 'twice' | 'placed' }

type Content = 'user' | 'assistant' | 'empty assistant' | 'result'
type Sources = 'exact' | 'one more' | 'one missing' | 'one twice' | 'itself'

const content = fc.constantFrom<Content>('user', 'assistant', 'empty assistant', 'result')
const small = fc.nat({ max: 12 })
const operation = fc.oneof<[fc.WeightedArbitrary<Operation>, ...fc.WeightedArbitrary<Operation>[]]>(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('append'), what: content, sources: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(small, { maxLength: 2 })) }) },
  { weight: 6, arbitrary: fc.record({
    kind: fc.constant('replace'), what: content, from: small, span: fc.integer({ min: -1, max: 3 }),
    sources: fc.oneof({ weight: 4, arbitrary: fc.constant<Sources>('exact') }, fc.constantFrom<Sources>('one more', 'one missing', 'one twice', 'itself')),
  }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wild replace'), what: content, start: fc.integer({ min: -1, max: 14 }), end: fc.integer({ min: -1, max: 14 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('rewrite'), at: small, faithful: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({
    kind: fc.constant('log only'), type: fc.constantFrom('turn/start', 'step/start', 'request/context'),
    placed: fc.integer({ min: 0, max: 4 }).map(roll => roll === 0),
  }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('refused data'), what: fc.constantFrom('undefined', 'nan', 'cycle', 'no content', 'no object') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fork'), at: small }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reload'), recentEvents: fc.nat({ max: 3 }), known: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read'), what: fc.constantFrom('messages', 'following', 'history') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('damaged seed'), at: small, how: fc.constantFrom('gap', 'no placement', 'twice', 'placed') }) },
)

/** A session beside the naive list of its events, and all that was told to its sink and its observer. */
class Pair {
  readonly session: Session
  readonly events: SessionEvent[]
  readonly stored: string[]
  readonly told: Seq[] = []
  private readonly inherited: number

  /** @param log makes the log over what is stored; without it, all of it is in memory. */
  constructor(id: string, seed?: SessionEvent[], plain?: SessionEvent[], log?: (stored: string[]) => EventLog) {
    this.events = plain ?? []
    this.stored = this.events.map(event => JSON.stringify(event))
    this.session = new Session({
      header: { id, createdAt: TIME },
      ...(log === undefined ? {} : { log: log(this.stored) }),
      now: () => TIME + this.events.length,
      sink: { append: event => void this.stored.push(JSON.stringify(event)), flush: async () => {} },
      observer: { event: event => void this.told.push(event.seq), flushed: () => {} },
      ...(seed === undefined ? {} : { seed }),
    })
    if (seed !== undefined) this.events.push({ seq: this.events.length, time: TIME + this.events.length, type: 'session/end-seed', data: {} })
    this.inherited = this.events.length
    this.check()
  }

  get surface() {
    return naiveSurface(this.events)!
  }

  /** Appends to both, or finds that the real one refuses what the naive one does. */
  append(type: SessionEvent['type'], data: unknown, placement: SurfacePlacement | undefined, bad = false): 'committed' | 'refused' {
    const append = () => (this.session.append as (...args: unknown[]) => SessionEvent)(type, data, placement)
    const seq = this.events.length
    const naive = bad ? null : structuredClone({ seq, time: TIME + seq, type, data, ...placement }) as SessionEvent
    if (naive === null || naiveSurface([...this.events, naive]) === null) {
      assert.throws(append, bad ? new RegExp(type) : refusal(seq, type))
      this.check()
      return 'refused'
    }
    const event = append()
    this.events.push(naive)
    assert.deepEqual(this.session.log.at(seq), event)
    assert.deepEqual(event, naive)
    assert(isDeepFrozen(event))
    this.check()
    return 'committed'
  }

  /** Everything that can be looked at without reading a fold. */
  check(): void {
    const { session, events } = this
    const { entries, generation } = this.surface
    assert.equal(session.log.length, events.length)
    assert.deepEqual(session.surface.entries, entries)
    assert.equal(session.surface.replaceGeneration, generation)
    for (const { seq } of events) assert.equal(session.surface.positionOf(seq) ?? -1, entries.indexOf(seq))
    assert.equal(this.stored.length, events.length)
    assert.equal(this.told.length, events.length - this.inherited)
  }

  /** Everything. */
  checkAll(): void {
    const { session, events } = this
    this.check()
    assert.deepEqual([...session.log.from(0)], events)
    for (const { seq } of events) {
      assert.deepEqual(session.log.at(seq), events[seq])
      assert(isDeepFrozen(session.log.at(seq)))
      if (seq % 4 === 0) assert.deepEqual([...session.log.from(seq)], events.slice(seq))
    }
    assert.deepEqual(this.stored.map(line => JSON.parse(line)), events)
    assert.deepEqual(this.told, events.slice(this.inherited).map(event => event.seq))
    for (const what of ['messages', 'following', 'history'] as const) this.read(what)
    expectReplays(session)
  }

  read(what: 'messages' | 'following' | 'history'): void {
    const { session, events, surface: { entries } } = this
    if (what === 'messages') assert.deepEqual(session.deriveMessages(), naiveMessages(events, entries))
    else if (what === 'following') assert.deepEqual(session.read(followingFold).entries, entries)
    else assert.equal(session.read(historyFold), naiveHistory(events))
  }
}

it(`${CASES} random histories are what a naive model says`, () => {
  const seen = { committed: 0, refused: 0, replaced: 0, forked: 0, damaged: 0 }
  fc.assert(fc.property(fc.array(operation, { minLength: 1, maxLength: 20, size: 'max' }), operations => {
    const drawn = eventsOf('u a(x) x= u')
    let pair = new Pair('first', drawn, structuredClone(drawn))
    const left: Pair[] = []
    for (const one of operations) pair = run(one, pair, left, seen)
    for (const one of [...left, pair]) one.checkAll()
    seen.replaced += pair.surface.generation
  }), { numRuns: CASES, seed: 2 })
  // The generator itself must not go quiet.
  expect(seen.committed).toBeGreaterThan(CASES * 2)
  expect(seen.refused).toBeGreaterThan(CASES)
  expect(seen.replaced).toBeGreaterThan(CASES / 2)
  expect(seen.forked).toBeGreaterThan(CASES / 4)
  expect(seen.damaged).toBeGreaterThan(CASES / 10)
})

interface Seen {
  committed: number
  refused: number
  replaced: number
  forked: number
  damaged: number
}

/** Carries out one operation; the pair to go on with. */
function run(operation: Operation, pair: Pair, left: Pair[], seen: Seen): Pair {
  const { entries } = pair.surface
  const count = (outcome: 'committed' | 'refused'): void => void (seen[outcome] += 1)
  switch (operation.kind) {
    case 'append': {
      const [type, data] = dataOf(operation.what, pair)
      const { sources } = operation
      count(pair.append(type, data, { surfaceOp: 'append', ...(sources.length === 0 ? {} : { sourceEventSeqs: [...sources] }) }))
      return pair
    }
    case 'replace': {
      const [type, data] = dataOf(operation.what, pair)
      if (entries.length === 0) return pair
      const from = operation.from % entries.length
      const to = (from + operation.span + entries.length) % entries.length
      count(pair.append(type, data, {
        surfaceOp: { op: 'replace', start: entries[from]!, end: entries[to]! },
        sourceEventSeqs: sourcesOf(operation.sources, entries.slice(from, to + 1), pair.events.length),
      }))
      return pair
    }
    case 'wild replace': {
      const [type, data] = dataOf(operation.what, pair)
      const { start, end } = operation
      count(pair.append(type, data, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: entries }))
      return pair
    }
    case 'rewrite': {
      const seq = entries[operation.at % entries.length]
      if (seq === undefined) return pair
      const original = pair.events[seq]!
      const [type, fresh] = dataOf('result', pair)
      const data = operation.faithful && original.type === 'tool/result' ? { ...original.data, content: [] } : fresh
      count(pair.append(type, data, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] }))
      return pair
    }
    case 'log only':
      count(pair.append(operation.type, { turn: 1, step: 1 }, operation.placed ? { surfaceOp: 'append' } : undefined))
      return pair
    case 'refused data': {
      const cyclic: Record<string, unknown> = {}
      cyclic['self'] = { cyclic }
      const data = {
        'undefined': { content: [{ type: 'text', text: undefined }] },
        'nan': { content: [], source: { kind: 'user', at: Number.NaN } },
        'cycle': { content: [], source: cyclic },
        'no content': { source: { kind: 'user' } },
        'no object': 'text',
      }[operation.what]
      count(pair.append('user/message', data, { surfaceOp: 'append' }, true))
      return pair
    }
    case 'fork': {
      const at = operation.at % (pair.events.length + 1)
      const seed = [...pair.session.log.from(0)].slice(0, at)
      left.push(pair)
      seen.forked += 1
      return new Pair(`${pair.session.id}.${at}`, seed, structuredClone(pair.events.slice(0, at)))
    }
    case 'reload':
      left.push(pair)
      return new Pair(pair.session.id, [], structuredClone(pair.events), stored => loaded(stored, operation))
    case 'read':
      pair.read(operation.what)
      return pair
    case 'damaged seed': {
      const at = operation.at % (pair.events.length + 1)
      const seed = damaged(structuredClone(pair.events), at, operation.how)
      if (seed === null) return pair
      const fault = operation.how === 'twice' ? at + 1 : at
      assert.throws(() => new Session({ header: pair.session.header, seed }), refusal(fault, seed[fault]!.type))
      seen.damaged += 1
      return pair
    }
  }
}

/** A log loaded from lines of JSON that keeps as little in memory as it may; where folds are `known`, they see the events as they pass. */
function loaded(stored: string[], { recentEvents, known }: { readonly recentEvents: number; readonly known: boolean }): EventLog {
  const parse = (line: string): SessionEvent => JSON.parse(line)
  const log = new EventLog({
    source: { at: seq => parse(stored[seq]!), read: (from = 0) => stored.slice(from).map(parse) },
    recentEvents,
  })
  if (known) for (const fold of [followingFold, historyFold]) log.read<unknown>(fold)
  for (const line of stored) log.load(parse(line))
  return log
}

function dataOf(what: Content, pair: Pair): [type: SessionEvent['type'], data: object] {
  const text = [{ type: 'text', text: `${what} ${pair.events.length}` }]
  if (what === 'user') return ['user/message', { content: text, source: { kind: 'user' } }]
  if (what === 'result') return ['tool/result', { turn: 1, step: 1, callId: `call ${pair.events.length}`, content: text, isError: true }]
  return ['assistant/message', { turn: 1, step: 1, content: what === 'assistant' ? text : [], provider: 'p', model: 'm', finish: 'stop' }]
}

function sourcesOf(how: Sources, shadowed: Seq[], seq: Seq): Seq[] {
  switch (how) {
    case 'exact':
      return shadowed
    case 'one more': {
      const others = [...Array(seq).keys()].filter(other => !shadowed.includes(other))
      return [...others.slice(0, 1), ...shadowed]
    }
    case 'one missing':
      return shadowed.slice(1)
    case 'one twice':
      return [...shadowed, ...shadowed.slice(0, 1)]
    case 'itself':
      return [...shadowed, seq]
  }
}

/** `events` with one fault at `at`; null where there is no such fault to make. */
function damaged(events: SessionEvent[], at: number, how: 'gap' | 'no placement' | 'twice' | 'placed'): SessionEvent[] | null {
  const event = events[at] as { seq: number; surfaceOp?: unknown } | undefined
  if (event === undefined) return null
  if (how === 'twice') return events.toSpliced(at, 0, events[at]!)
  if (how === 'gap') event.seq += 1
  else if (how === 'placed') {
    if (event.surfaceOp !== undefined) return null
    event.surfaceOp = 'append'
  } else {
    if (event.surfaceOp === undefined) return null
    delete event.surfaceOp
  }
  return events
}

function refusal(seq: Seq, type: string): (error: unknown) => boolean {
  return error => error instanceof InvalidEventError && error.seq === seq && error.message.startsWith(`event ${seq} (${type}) is refused: `)
}

function isDeepFrozen(value: unknown): boolean {
  return value === null || typeof value !== 'object' || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))
}
