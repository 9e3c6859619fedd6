/**
 * Facts: what a digest knows about a conversation, section by section.
 *
 * Facts are gathered in the order of the conversation. What is said again is one item that moves to the newest place and
 * counts its occurrences, so an item's place is always where it was touched last. Gathering is associative: the facts of
 * A, written down and read back, followed by B, are the facts of A followed by B.
 */
import type { Seq } from '@deepseek-ai/dsh-session'

/** A place in the log: one event, or from a call to its result. */
export interface Span {
  readonly from: Seq
  readonly to: Seq
}

/** Where something occurred: how often, the first place and the three latest ones. */
export interface Occurrences {
  readonly count: number
  readonly spans: readonly Span[]
}

/** Written `answered 40` (by the statement at seq 40), `passed 51` (the same call succeeded there), `failed 3×`. */
export interface Mark {
  readonly word: 'answered' | 'passed' | 'failed'
  readonly value: number
}

export interface Item {
  readonly text: string
  readonly at: Occurrences
  /** How it ended, or for a todo that it is in progress; one line. */
  readonly outcome?: string
  readonly mark?: Mark
}

export const SECTIONS = [
  'requests', 'instructions', 'checkpoints', 'context', 'written', 'read', 'commands', 'searches', 'errors', 'answers', 'todos', 'statements',
] as const
export type Section = typeof SECTIONS[number]

/** How a failed call's outcome begins. */
const FAILED_OUTCOME = /^(?:failed|exit -?[1-9])/

const MAX_SPANS = 4
const MAX_TODOS = 50
const MAX_STATEMENTS = 8

export class Facts {
  private readonly sections = new Map<Section, Map<string, Item>>(SECTIONS.map(section => [section, new Map()]))
  private readonly leftOut = new Map<Section, number>()
  private readonly unanswered = new Set<string>()
  private readonly unfixed = new Map<string, Set<string>>()

  /** Oldest first, by the last time they were touched. */
  items(section: Section): readonly Item[] {
    return [...this.sections.get(section)!.values()]
  }

  /** Items that an earlier digest had no room for. */
  leftOutOf(section: Section): number {
    return this.leftOut.get(section) ?? 0
  }

  leaveOut(section: Section, count: number): void {
    this.leftOut.set(section, this.leftOutOf(section) + count)
  }

  get isEmpty(): boolean {
    return SECTIONS.every(section => this.sections.get(section)!.size === 0)
  }

  add(section: Section, item: Item): void {
    if (item.text === '') return
    const items = this.sections.get(section)!
    if (section === 'read' && this.sections.get('written')!.has(item.text)) return
    if (section === 'written') this.sections.get('read')!.delete(item.text)
    const key = section === 'errors' ? `${item.text}\n${item.outcome ?? ''}` : item.text
    const earlier = items.get(key)
    items.delete(key)
    items.set(key, earlier ? joined(section, earlier, item) : item)
    if (section === 'requests') this.unanswered[item.mark ? 'delete' : 'add'](key)
    if (section === 'errors') this.trackError(item, key)
    if (section === 'todos') dropOldest(items, MAX_TODOS)
    if (section === 'statements') dropOldest(items, MAX_STATEMENTS)
  }

  clear(section: Section): void {
    this.sections.get(section)!.clear()
  }

  removeTodo(matches: (text: string) => boolean): void {
    const todos = this.sections.get('todos')!
    for (const text of todos.keys()) if (matches(text)) todos.delete(text)
  }

  /** An answer without calls ends the work on every request so far. */
  answer(seq: Seq): void {
    this.markAll('requests', this.unanswered, { word: 'answered', value: seq })
    this.unanswered.clear()
  }

  /** The same call succeeded: its errors are history. */
  pass(subject: string, seq: Seq): void {
    const keys = this.unfixed.get(subject)
    if (!keys) return
    this.markAll('errors', keys, { word: 'passed', value: seq })
    this.unfixed.delete(subject)
  }

  private trackError(item: Item, key: string): void {
    const keys = this.unfixed.get(item.text) ?? new Set()
    keys[item.mark ? 'delete' : 'add'](key)
    this.unfixed.set(item.text, keys)
  }

  private markAll(section: Section, keys: ReadonlySet<string>, mark: Mark): void {
    const items = this.sections.get(section)!
    for (const key of keys) items.set(key, { ...items.get(key)!, mark })
  }
}

export function once(from: Seq, to: Seq = from): Occurrences {
  return { count: 1, spans: [{ from, to }] }
}

function joined(section: Section, earlier: Item, later: Item): Item {
  const spans = [...earlier.at.spans, ...later.at.spans]
  const bounded = spans.length > MAX_SPANS ? [spans[0]!, ...spans.slice(1 - MAX_SPANS)] : spans
  const failed = section === 'commands' ? failures(earlier) + failures(later) : 0
  const mark = failed > 0 ? { word: 'failed' as const, value: failed } : later.mark
  return {
    text: later.text,
    at: { count: earlier.at.count + later.at.count, spans: bounded },
    ...(later.outcome !== undefined && { outcome: later.outcome }),
    ...(mark && { mark }),
  }
}

/** A command that occurred once needs no mark: its outcome tells. */
function failures({ mark, at, outcome }: Item): number {
  if (mark?.word === 'failed') return mark.value
  return at.count === 1 && outcome !== undefined && FAILED_OUTCOME.test(outcome) ? 1 : 0
}

function dropOldest(items: Map<string, Item>, limit: number): void {
  for (const key of items.keys()) {
    if (items.size <= limit) return
    items.delete(key)
  }
}
