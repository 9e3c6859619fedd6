/**
 * `npm run bench [-- NAME …]`: figures, each printed beside what it is compared with in the same run. Without names, all.
 */
import * as compaction from './compaction.ts'
import * as log from './log.ts'
import * as loop from './loop.ts'
import * as meter from './meter.ts'

const BENCHES: { readonly [name: string]: { run(): Promise<void> } } = { loop, log, compaction, meter }

const names = process.argv.slice(2)
const unknown = names.filter(name => !(name in BENCHES))
if (unknown.length > 0) {
  console.error(`bench: no such benchmark: ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}
for (const name of names.length > 0 ? names : Object.keys(BENCHES)) {
  console.log(`\n== ${name}`)
  await BENCHES[name]!.run()
}
