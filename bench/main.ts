/**
 * `npm run bench [-- NAME …]`: figures, each printed beside what it is compared with in the same run. Without names, all
 * that are quick.
 */
import * as compaction from './compaction.ts'
import * as corpus from './corpus.ts'
import * as log from './log.ts'
import * as loop from './loop.ts'
import * as meter from './meter.ts'
import { printStored } from './stored.ts'

const QUICK: { readonly [name: string]: { run(): Promise<void> } } = { loop, log, compaction, meter }
const BENCHES: typeof QUICK = {
  ...QUICK,
  /** Every recorded session in four windows, twice: ten minutes. */
  corpus,
  /** The stored log up to a million events: two minutes, and a gigabyte in the folder for temporary files. */
  'log-full': { run: () => printStored([1_000, 100_000, 1_000_000], [250_000, 1_000_000]) },
}

const names = process.argv.slice(2)
const unknown = names.filter(name => !(name in BENCHES))
if (unknown.length > 0) {
  console.error(`bench: no such benchmark: ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}
for (const name of names.length > 0 ? names : Object.keys(QUICK)) {
  console.log(`\n== ${name}`)
  await BENCHES[name]!.run()
}
