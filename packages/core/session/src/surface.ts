/**
 * Surface: the ordered list of events that the model sees.
 *
 * Pure. An append adds an entry at the end; a replace puts one entry in the place of a span:
 *
 *     entries      4   7   9  12  15                 seqs, in surface order
 *     position     0   1   2   3   4
 *     replace {start: 4, end: 9} by 20
 *     entries     20  12  15                         12 is now at position 1, and 20 stands before it
 *
 * `plan` judges a candidate and changes nothing; `commit` carries out a plan and cannot fail.
 */
import { isSurfaceType, type Position, type Seq, type SessionEvent, type SurfaceEvent } from './events.ts'
import type { LogView, SurfaceChange } from './fold.ts'
import { InvalidEventError, shown } from './shape.ts'

export class Surface {
  /** Live seqs in surface order. */
  readonly entries: readonly Seq[]
  private readonly order: Seq[]
  /** seq → slot; an entry's position is its slot minus `origin`. Only what stands behind a replaced span gets a new slot. */
  private readonly slots = new Map<Seq, number>()
  private origin = 0
  private generation = 0

  constructor() {
    this.order = []
    this.entries = this.order
  }

  /** Grows by one with every replace. */
  get replaceGeneration(): number {
    return this.generation
  }

  positionOf(seq: Seq): Position | undefined {
    const slot = this.slots.get(seq)
    return slot === undefined ? undefined : slot - this.origin
  }

  /**
   * What committing `event` would do, or null when the model does not see it.
   *
   * @param log where the events of current entries are read.
   * @throws InvalidEventError naming the type, the seq and the offending value.
   */
  plan(event: SessionEvent, log: Pick<LogView, 'at'>): SurfaceChange | null {
    const refuse = (reason: string): never => {
      throw new InvalidEventError(event.type, event.seq, reason)
    }
    if (!isSurfaceType(event.type)) {
      for (const key of ['surfaceOp', 'sourceEventSeqs'] as const) {
        if (key in event) refuse(`it carries ${key} ${shown(event[key])}, and only user/message, assistant/message and tool/result may`)
      }
      return null
    }
    const { surfaceOp: op, sourceEventSeqs: sources } = event as SurfaceEvent
    const named = sources === undefined ? [] : checkSources(sources, event.seq, refuse)
    if (op === 'append') return { at: this.order.length, removed: [] }
    if (op === null || typeof op !== 'object' || op.op !== 'replace') {
      return refuse(`surfaceOp must be 'append' or {op: 'replace', start, end}, not ${shown(op)}`)
    }
    const start = this.positionOf(op.start)
    const end = this.positionOf(op.end)
    if (start === undefined) return refuse(`start ${shown(op.start)} is no current entry of the surface`)
    if (end === undefined) return refuse(`end ${shown(op.end)} is no current entry of the surface`)
    if (start > end) return refuse(`start ${op.start} at position ${start} stands behind end ${op.end} at position ${end}`)
    const removed = this.order.slice(start, end + 1)
    const unnamed = firstUnnamed(removed, named)
    if (unnamed !== null) refuse(`sourceEventSeqs must list every shadowed seq, and ${unnamed} is missing`)
    if (event.type === 'tool/result') checkRewrite(event as SessionEvent<'tool/result'>, removed, log, refuse)
    return { at: start, removed }
  }

  /** Carries out a plan made for the surface as it is now. */
  commit(seq: Seq, change: SurfaceChange): void {
    const { at, removed } = change
    if (removed.length === 0) {
      this.slots.set(seq, this.order.length + this.origin)
      this.order.push(seq)
      return
    }
    this.generation += 1
    const shift = removed.length - 1
    this.order.splice(at, removed.length, seq)
    if (removed.length > this.order.length) {
      // Most of the surface left: what stayed is the smaller part to write down.
      this.slots.clear()
      this.reslot(0, this.order.length)
      return
    }
    for (const gone of removed) this.slots.delete(gone)
    if (at === 0) {
      // Everything behind a replaced head moves by the same amount: move the origin instead of the entries.
      this.origin += shift
      this.reslot(0, 1)
    } else {
      this.reslot(at, shift === 0 ? at + 1 : this.order.length)
    }
  }

  private reslot(from: Position, to: Position): void {
    for (let position = from; position < to; position++) this.slots.set(this.order[position]!, position + this.origin)
  }
}

/** The seqs an event says it was made from: each earlier than itself and named once. */
function checkSources(sources: readonly Seq[], seq: Seq, refuse: (reason: string) => never): readonly Seq[] {
  if (!Array.isArray(sources)) return refuse(`sourceEventSeqs must be a list of seqs, not ${shown(sources)}`)
  // A set is needed only where they do not ascend: a checkpoint of a long conversation names a hundred thousand.
  let seen: Set<Seq> | null = null
  let previous = -1
  for (const [index, source] of (sources as readonly Seq[]).entries()) {
    if (!Number.isInteger(source) || source < 0 || source >= seq) refuse(`sourceEventSeqs holds ${shown(source)}, which is no earlier seq`)
    if (seen === null && source <= previous) seen = new Set(sources.slice(0, index))
    if (seen?.has(source)) refuse(`sourceEventSeqs holds ${source} twice`)
    seen?.add(source)
    previous = source
  }
  return sources
}

/** The first of `removed` that is not among `named`; one pass where they stand there in their order, as they mostly do. */
function firstUnnamed(removed: readonly Seq[], named: readonly Seq[]): Seq | null {
  let next = 0
  for (const seq of removed) {
    while (next < named.length && named[next] !== seq) next += 1
    if (next === named.length) {
      const all = new Set(named)
      return removed.find(each => !all.has(each)) ?? null
    }
  }
  return null
}

/** A rewritten result stands for one result, and only its content may differ. */
function checkRewrite(
  event: SessionEvent<'tool/result'>,
  removed: readonly Seq[],
  log: Pick<LogView, 'at'>,
  refuse: (reason: string) => never,
): void {
  if (removed.length !== 1) refuse(`a tool/result may replace one tool/result only, not ${removed.length} entries`)
  const original = log.at(removed[0]!)
  if (original.type !== 'tool/result') return refuse(`a tool/result may replace only a tool/result, and ${original.seq} is ${original.type}`)
  const now: Record<string, unknown> = event.data
  const before: Record<string, unknown> = original.data
  for (const key of Object.keys({ ...before, ...now })) {
    if (key === 'content' || canonical(now[key]) === canonical(before[key])) continue
    refuse(`only the content of a rewritten tool/result may differ from ${original.seq}: ${key} is ${shown(now[key])}, not ${shown(before[key])}`)
  }
}

/** JSON with sorted keys, so that equal values have equal texts; undefined for undefined. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part)
}
