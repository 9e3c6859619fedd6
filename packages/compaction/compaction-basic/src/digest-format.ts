/**
 * The written form of facts, and its exact inverse.
 *
 *     # Digest of the conversation
 *     ## Commands and Outcomes
 *     - (3 older left out)
 *     - [12–13, … 40–41 ×9; failed 2×] npm test → exit 0 · 412 passed
 *     ## Current Work
 *     - [44] The first line,
 *       and what follows it.
 *
 * Headings and items begin at column 0 and the rest of an item is indented, so no text can forge another item.
 * Pure.
 */
import { Facts, SECTIONS, type Item, type Mark, type Occurrences, type Section } from './digest-facts.ts'

const TITLE = '# Digest of the conversation'
const LEGEND = 'Made from the log without a model. Numbers in brackets are log seqs, oldest first; quoted words are verbatim.'

interface Layout {
  readonly heading: string
  /** Tells sections apart that share a heading. */
  readonly prefix: string
  /** Items are one line and may end in ` → outcome`. */
  readonly hasOutcome?: true
}

const LAYOUT: Readonly<Record<Section, Layout>> = {
  requests: { heading: 'Primary Request and Intent', prefix: '' },
  instructions: { heading: 'Constraints and Standing Instructions', prefix: '' },
  checkpoints: { heading: 'Earlier Checkpoint', prefix: '' },
  context: { heading: 'Critical Context', prefix: '' },
  written: { heading: 'Files and Code', prefix: 'wrote ' },
  read: { heading: 'Files and Code', prefix: 'read ' },
  commands: { heading: 'Commands and Outcomes', prefix: '', hasOutcome: true },
  searches: { heading: 'Searches and Other Calls', prefix: '', hasOutcome: true },
  errors: { heading: 'Errors and Fixes', prefix: '', hasOutcome: true },
  answers: { heading: 'Answers Given', prefix: '' },
  todos: { heading: 'Pending Tasks', prefix: '', hasOutcome: true },
  statements: { heading: 'Current Work', prefix: '' },
}

const ARROW = ' → '

/** The items to write, oldest first, and how many older ones there were. */
export type Selection = (section: Section) => { readonly items: readonly Item[]; readonly leftOut: number }

export function writeFacts(select: Selection): string {
  const lines = [TITLE, LEGEND]
  let heading = ''
  for (const section of SECTIONS) {
    const { items, leftOut } = select(section)
    if (items.length === 0 && leftOut === 0) continue
    const layout = LAYOUT[section]
    if (layout.heading !== heading) lines.push('', `## ${heading = layout.heading}`)
    if (leftOut > 0) lines.push(`- (${leftOut} older ${layout.prefix}left out)`)
    for (const item of items) lines.push(writeItem(section, item))
  }
  return lines.join('\n')
}

export function writeItem(section: Section, item: Item): string {
  const { prefix, hasOutcome } = LAYOUT[section]
  const outcome = hasOutcome && item.outcome !== undefined ? `${ARROW}${item.outcome}` : ''
  return `- [${writeOccurrences(item.at)}${writeMark(item.mark)}] ${prefix}${item.text.replaceAll('\n', '\n  ')}${outcome}`
}

/**
 * Adds to `facts` what a digest in `text` says. False when there is none. It may stand anywhere in the text, framed by
 * others, and ends at the first line that is none of its own.
 */
export function readFacts(text: string, facts: Facts): boolean {
  const lines = text.split('\n')
  const start = lines.indexOf(TITLE)
  if (start < 0) return false
  let sections: readonly Section[] = []
  let item: string[] = []
  const flush = () => {
    if (item.length > 0) readItem(sections, item.join('\n'), facts)
    item = []
  }
  for (const line of lines.slice(start + 1)) {
    const heading = line.startsWith('## ') ? SECTIONS.filter(section => LAYOUT[section].heading === line.slice(3)) : []
    if (heading.length > 0) {
      flush()
      sections = heading
    } else if (line.startsWith('- [')) {
      flush()
      item = [line]
    } else if (item.length > 0 && line.startsWith('  ')) item.push(line.slice(2))
    else if (/^- \(\d+ older (?:\w+ )?left out\)$/.test(line)) {
      flush()
      readLeftOut(sections, line, facts)
    } else if (line !== '' && line !== LEGEND) break
  }
  flush()
  return true
}

function readLeftOut(sections: readonly Section[], line: string, facts: Facts): void {
  const [, count, prefix = ''] = /^- \((\d+) older (\w+ )?left out\)$/.exec(line)!
  const section = sections.find(candidate => LAYOUT[candidate].prefix === prefix)
  if (section) facts.leaveOut(section, Number(count))
}

function readItem(sections: readonly Section[], line: string, facts: Facts): void {
  const [, tag, body] = /^- \[([^\]]*)\] ([\s\S]*)$/.exec(line) ?? []
  const section = sections.find(candidate => body?.startsWith(LAYOUT[candidate].prefix))
  const at = readOccurrences(tag ?? '')
  if (section === undefined || body === undefined || at === null) return
  const { prefix, hasOutcome } = LAYOUT[section]
  const arrow = hasOutcome ? body.lastIndexOf(ARROW) : -1
  const mark = readMark(tag!)
  facts.add(section, {
    text: body.slice(prefix.length, arrow < 0 ? undefined : arrow),
    at,
    ...(arrow >= 0 && { outcome: body.slice(arrow + ARROW.length) }),
    ...(mark && { mark }),
  })
}

function writeOccurrences({ count, spans }: Occurrences): string {
  const written = spans.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`))
  if (count > spans.length) written.splice(1, 1, `… ${written[1]}`)
  return written.join(', ') + (count > 1 ? ` ×${count}` : '')
}

function readOccurrences(tag: string): Occurrences | null {
  const [, list, times] = /^([\d–, …]+?)(?: ×(\d+))?(?:; .*)?$/.exec(tag) ?? []
  if (list === undefined) return null
  const spans = [...list.matchAll(/(\d+)(?:–(\d+))?/g)].map(([, from, to]) => ({ from: Number(from), to: Number(to ?? from) }))
  return spans.length === 0 ? null : { count: Math.max(Number(times ?? 1), spans.length), spans }
}

function writeMark(mark: Mark | undefined): string {
  if (!mark) return ''
  return mark.word === 'failed' ? `; failed ${mark.value}×` : `; ${mark.word} ${mark.value}`
}

function readMark(tag: string): Mark | null {
  const [, word, value] = /; (answered|passed|failed) (\d+)×?$/.exec(tag) ?? []
  return word === undefined ? null : { word: word as Mark['word'], value: Number(value) }
}
