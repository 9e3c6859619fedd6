/**
 * Budget: which facts are written when not all of them fit.
 *
 * Every section fills newest first, as fast as its weight says, until the whole is full: what a short section leaves free
 * goes to the others by itself. A request counts twice, once for its opening words and once for the rest of it, so that
 * an old request shrinks long before it disappears.
 *
 *     weight     opening words of requests  todos   …   searches
 *                ████████████████████████   ██████████████████
 *                full words of requests     ████████     ▏ level: what lies left of it is kept
 *
 * Pure. `estimate` may be any function of a text; the only thing relied on is its answer for the text that is returned.
 */
import type { Facts, Item, Section } from './digest-facts.ts'
import { SECTIONS } from './digest-facts.ts'
import { writeFacts, writeItem } from './digest-format.ts'
import { clip } from './text.ts'

export type Estimate = (text: string) => number

const WEIGHT: Readonly<Record<Section, number>> = {
  checkpoints: 60,   // one of them stands for everything before it
  requests: 40,
  todos: 40,
  instructions: 12,
  statements: 10,
  answers: 8,
  commands: 8,
  errors: 6,
  written: 6,
  context: 3,
  read: 2,
  searches: 1,
}
const FULL_REQUEST_WEIGHT = 14

const OPENING_CHARS = 200
/** No single item takes more than this part of the budget. */
const MAX_ITEM_SHARE = 0.25

/** The facts as text of at most `budgetTokens`; empty when there are none, or not even the newest one fits. */
export function fitFacts(facts: Facts, budgetTokens: number, estimate: Estimate): string {
  if (facts.isEmpty) return ''
  const whole = writeFacts(section => ({ items: facts.items(section), leftOut: facts.leftOutOf(section) }))
  if (estimate(whole) <= budgetTokens) return whole

  const bounded = new Map(SECTIONS.map(section => [section, newestWithin(facts.items(section), section, budgetTokens, estimate)]))
  const steps = fillingOrder(bounded, estimate)
  const write = (stepCount: number) => writeSteps(facts, bounded, steps.slice(0, stepCount))

  // Invariant: the text of `fits` steps fits, that of `tooMany` steps does not.
  let fits = 0
  let tooMany = steps.length + 1
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1
    if (estimate(write(middle)) <= budgetTokens) fits = middle
    else tooMany = middle
  }
  return fits === 0 ? '' : write(fits)
}

interface Step {
  readonly section: Section
  /** The opening words of a request, or the whole item. */
  readonly form: 'opening' | 'whole'
  /** Fill level at which it is taken. */
  readonly level: number
}

/** The newest items that could fit if their section stood alone, each clipped to its share; newest first. */
function newestWithin(items: readonly Item[], section: Section, budgetTokens: number, estimate: Estimate): Item[] {
  const kept: Item[] = []
  const maxTokens = budgetTokens * MAX_ITEM_SHARE
  let tokens = 0
  for (let index = items.length - 1; index >= 0; index--) {
    const item = clipToTokens(items[index]!, maxTokens, estimate)
    tokens += estimate(writeItem(section, section === 'requests' ? opening(item) : item))
    if (tokens > budgetTokens && kept.length > 0) break
    kept.push(item)
  }
  return kept
}

function fillingOrder(bounded: ReadonlyMap<Section, readonly Item[]>, estimate: Estimate): Step[] {
  const steps: Step[] = []
  const fill = (section: Section, form: Step['form'], weight: number, costs: Iterable<number>) => {
    let filled = 0
    for (const cost of costs) steps.push({ section, form, level: (filled += cost) / weight })
  }
  for (const [section, items] of bounded) {
    const whole = items.map(item => estimate(writeItem(section, item)))
    if (section !== 'requests') fill(section, 'whole', WEIGHT[section], whole)
    else {
      const short = items.map(item => estimate(writeItem(section, opening(item))))
      fill(section, 'opening', WEIGHT.requests, short)
      fill(section, 'whole', FULL_REQUEST_WEIGHT, whole.map((cost, index) => Math.max(1, cost - short[index]!)))
    }
  }
  return steps.sort((a, b) => a.level - b.level)   // stable: equal levels stay in section order
}

function writeSteps(facts: Facts, bounded: ReadonlyMap<Section, readonly Item[]>, steps: readonly Step[]): string {
  const taken = new Map<string, number>()
  for (const { section, form } of steps) taken.set(`${section} ${form}`, (taken.get(`${section} ${form}`) ?? 0) + 1)
  return writeFacts(section => {
    const whole = taken.get(`${section} whole`) ?? 0
    const count = section === 'requests' ? taken.get('requests opening') ?? 0 : whole
    const items = bounded.get(section)!.slice(0, count).map((item, index) => (index < whole ? item : opening(item)))
    return { items: items.reverse(), leftOut: facts.leftOutOf(section) + facts.items(section).length - count }
  })
}

function opening(item: Item): Item {
  return { ...item, text: clip(item.text, OPENING_CHARS) }
}

function clipToTokens(item: Item, maxTokens: number, estimate: Estimate): Item {
  let tokens = estimate(item.text)
  let text = item.text
  // Each round aims at the share and takes at least a tenth off, so a text of any size and density is done in a few.
  while (tokens > maxTokens && text.length > OPENING_CHARS) {
    text = clip(item.text, Math.max(OPENING_CHARS, Math.floor(text.length * Math.min(0.9, maxTokens / tokens))))
    tokens = estimate(text)
  }
  return text === item.text ? item : { ...item, text }
}
