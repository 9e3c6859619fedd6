/**
 * `npm run bench [-- NAME …]`: figures, each printed beside what it is compared with in the same run. Without names, the
 * quick set.
 */
import * as compaction from './compaction.ts'
import * as corpus from './corpus.ts'
import * as log from './log.ts'
import * as loop from './loop.ts'
import * as meter from './meter.ts'

type Bench = () => Promise<void>

const QUICK: { readonly [name: string]: Bench } = { loop: loop.run, log: log.run, compaction: compaction.run, meter: meter.run }
/** Asked for by name, a benchmark takes its time. */
const BENCHES: typeof QUICK = { ...QUICK, log: log.runFull, corpus: corpus.run }

const names = process.argv.slice(2)
const unknown = names.filter(name => !(name in BENCHES))
if (unknown.length > 0) {
  console.error(`bench: no such benchmark: ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}
for (const [name, run] of names.length > 0 ? names.map(name => [name, BENCHES[name]!] as const) : Object.entries(QUICK)) {
  console.log(`\n== ${name}`)
  await run()
}
