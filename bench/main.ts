/**
 * `npm run bench [-- NAME … | all] [--json FILE]`: figures, each printed beside what it is compared with in the same run.
 * Without names, the quick set, which needs nothing installed; with `all` or the name of a figure, every library in peers/.
 */
import { parseArgs } from 'node:util'
import * as cache from './cache.ts'
import * as correctness from './correctness.ts'
import * as corpus from './corpus.ts'
import { FIGURES } from './figures.ts'
import * as meter from './meter.ts'
import { recordInto } from './report.ts'
import * as speed from './speed.ts'
import * as tui from './tui.ts'

const FIGURE_NAMES = FIGURES.map(({ name }) => name)
const OTHERS: { readonly [name: string]: () => Promise<void> } = { meter: meter.run, cache: cache.run, corpus: corpus.run, correctness: correctness.run, tui: tui.run }
const NAMES = ['all', ...FIGURE_NAMES, ...Object.keys(OTHERS)]

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } })
const unknown = positionals.filter(name => !NAMES.includes(name))
if (unknown.length > 0) {
  console.error(`bench: no such benchmark: ${unknown.join(', ')}; there are ${NAMES.join(', ')}`)
  process.exit(2)
}
if (values.json !== undefined) recordInto(values.json)

const quick = positionals.length === 0
const names = quick ? [...FIGURE_NAMES, 'meter'] : positionals.includes('all') ? NAMES : positionals
const figures = FIGURE_NAMES.filter(name => names.includes(name))
if (figures.length > 0) await speed.run({ figures, peers: !quick, quick })
for (const [name, run] of Object.entries(OTHERS)) {
  if (!names.includes(name)) continue
  console.log(`\n== ${name}`)
  await run()
}
