/** Beside speed: what holds of the requests that each library makes of the same conversations, by one judge. */
import { Child } from './child.ts'
import { KINDS } from './histories.ts'
import { OURS, peers } from './peers.ts'
import { record, table, type Cell } from './report.ts'
import type { Trial } from './trial.ts'
import type { Answer } from './worker.ts'

const TRIALS_A_KIND = 10
const TIMEOUT_MS = 30_000

interface Column {
  readonly head: string
  readonly kinds: readonly Trial['kind'][]
  readonly verdict: 'pairs' | 'budget' | 'first' | 'last' | 'larger'
}

const PAIRED_KINDS = ['parallel', 'out of order', 'interrupted', 'repeated ids'] as const
const COLUMNS: readonly Column[] = [
  ...PAIRED_KINDS.map(kind => ({ head: `pairs, ${kind}`, kinds: [kind], verdict: 'pairs' as const })),
  { head: 'within the window', kinds: KINDS, verdict: 'budget' },
  { head: 'first request kept', kinds: KINDS, verdict: 'first' },
  { head: 'newest request kept', kinds: KINDS, verdict: 'last' },
  { head: 'never larger', kinds: [...KINDS, 'long summaries'], verdict: 'larger' },
]

export async function run(): Promise<void> {
  const rows: Cell[][] = []
  /** What a library said of a kind when it first failed. */
  const notes = new Map<string, string>()
  for (const { name, module } of [OURS, ...peers()]) {
    const child = new Child(module)
    const answers: { readonly kind: Trial['kind']; readonly answer: Answer }[] = []
    for (const kind of [...KINDS, 'long summaries'] as const) {
      for (let seed = 1; seed <= TRIALS_A_KIND; seed++) {
        const answer = await child.ask({ trial: { kind, seed } }, TIMEOUT_MS)
        if ('error' in answer && !notes.has(`${name}, ${kind}`)) notes.set(`${name}, ${kind}`, answer.error.slice(0, 200))
        answers.push({ kind, answer })
      }
    }
    child.close()
    console.error(`bench: conversations of ${name}`)
    rows.push([name, ...COLUMNS.map(column => verdictOf(name, column, answers.filter(({ kind }) => column.kinds.includes(kind)).map(({ answer }) => answer)))])
  }
  table('correctness: what holds of every request, after three turns that each had to be compacted', ['', ...COLUMNS.map(({ head }) => head)], rows)
  for (const [where, note] of notes) console.log(`${where}: ${note}`)
}

function verdictOf(name: string, { head, verdict }: Column, answers: readonly Answer[]): string {
  if (answers.every(answer => 'absent' in answer)) return 'n.a.'
  const refused = answers.filter(answer => 'error' in answer).length
  const violated = answers.filter(answer => 'values' in answer && answer.values[verdict]! > 0).length
  record({ correctness: head, who: name, conversations: answers.length, violated, refused })
  const parts = [...(violated > 0 ? [`${violated} of ${answers.length} not`] : []), ...(refused > 0 ? [`${refused} of ${answers.length} failed`] : [])]
  return parts.length === 0 ? 'held' : parts.join(', ')
}
