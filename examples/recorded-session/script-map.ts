/** A request: which packages there are and who depends on whom. */
import { answer, badly, counted, edit, found, linesOf, list, person, read, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const IMPORTS = String.raw`import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// What each package's sources import from the workspace, beside what its manifest declares.
for (const name of readdirSync('packages')) {
  const folder = join('packages', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const imported = new Set()
  for (const file of existsSync(join(folder, 'src')) ? readdirSync(join(folder, 'src')) : []) {
    const source = readFileSync(join(folder, 'src', file), 'utf8')
    for (const [, target] of source.matchAll(/from '@deepseek-ai\/(dsh-[a-z-]+)/g)) imported.add(target)
  }
  const declared = Object.keys(manifest.dependencies ?? {}).filter(key => key.startsWith('@deepseek-ai/dsh-')).map(key => key.slice(13))
  const unused = declared.filter(key => !imported.has(key))
  console.log(manifest.name.slice(13).padEnd(32), [...imported].sort().join(', ') || '(none)', unused.length ? '| declared, not imported: ' + unused.join(', ') : '')
}
`

const MAP = String.raw`import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

console.log('# Packages\n\n| package | what it is | needs |\n|---|---|---|')
for (const group of readdirSync('packages').sort()) {
  for (const name of readdirSync(join('packages', group)).sort()) {
    const { name: full, description = '', dependencies = {} } = JSON.parse(readFileSync(join('packages', group, name, 'package.json'), 'utf8'))
    const needs = Object.keys(dependencies).map(key => key.replace('@deepseek-ai/', ''))
    console.log('| ' + group + '/' + name + ' (' + full + ') | ' + description + ' | ' + (needs.join(', ') || 'nothing') + ' |')
  }
}
`

const TODO = ['read the manifests', 'compare them with the imports', 'see what each package offers', 'write scratch/packages.md'] as const

export const map: readonly Line[] = [
  person(`I am new to this repository. Map it for me: which packages are there, what does each one do in a sentence, and who depends on whom?

Rules for the whole session: never change anything under packages/ or apps/, keep your own files in scratch/, and keep a todo list so that I can see where you are. Write the map to scratch/packages.md.`),
  thought('The person wants a map and set three rules: packages/ and apps/ are read only, own files go to scratch/, and the todo list must be kept. Start wide.',
    'I start with the lie of the land: a todo list, and what stands at the root.',
    todo(`> ${TODO[0]}`, `- ${TODO[1]}`, `- ${TODO[2]}`, `- ${TODO[3]}`), list('.')),
  step('The root has a manifest and a TypeScript configuration. They say which folders are packages and how the code is run.',
    read('package.json'), read('tsconfig.json'), list('packages')),
  step('An npm workspace whose packages stand two levels down, in groups. Which manifests are there, and how much code belongs to each?',
    shell('git ls-files packages apps examples | grep package.json$ | sort'),
    shell('for d in packages/*/*; do printf "%-50s %s\\n" "$d" "$(git ls-files "$d/src" | xargs -r cat | wc -l)"; done')),
  step(results => `${counted(linesOf(results[0]).length, 'manifest')}. Each carries a description, so a line of Node prints what every package says of itself and which workspace packages it declares.`,
    shell(String.raw`git ls-files packages apps | grep package.json$ | sort | xargs node -e '
for (const file of process.argv.slice(1)) {
  const m = JSON.parse(require("node:fs").readFileSync(file, "utf8"))
  const own = Object.keys(m.dependencies ?? {}).filter(k => k.startsWith("@deepseek-ai/dsh"))
  console.log(m.name + "\n    " + (m.description ?? "(no description)") + "\n    needs " + (own.join(", ") || "no other package of the workspace"))
}'`)),
  step('Three manifests in full, one from each layer, to see what else they declare: exports, pinned versions, outside dependencies.',
    read('packages/llm/llm/package.json'), read('packages/core/session/package.json'), read('packages/compaction/compaction/package.json')),
  thought('Manifests only promise. What the sources import is what counts.',
    'Workspace packages depend on each other by exact version, and each has a single door, `src/index.ts`. A manifest only promises, so next: what do the sources really import, and how often?',
    todo(`x ${TODO[0]}`, `> ${TODO[1]}`, `- ${TODO[2]}`, `- ${TODO[3]}`),
    shell(String.raw`git grep -hoE "from '@deepseek-ai/[a-z-]+" -- 'packages/*/*/src/*.ts' | sort | uniq -c | sort -rn`)),
  step(results => `The most imported package is \`${found(results[0], /@deepseek-ai\/([a-z-]+)/)}\`. A small script will put the imports of every package beside what its manifest declares.`,
    write('scratch/imports.mjs', IMPORTS)),
  step('Run it.', badly(shell('node scratch/imports.mjs'))),
  step('My mistake: I took the groups under `packages/` for packages, so it looked for a manifest one level too high. The script has to go down one more level.',
    edit('scratch/imports.mjs', `for (const name of readdirSync('packages')) {\n  const folder = join('packages', name)`,
      `const folders = readdirSync('packages').sort().flatMap(group => readdirSync(join('packages', group)).sort().map(name => join('packages', group, name)))\nfor (const folder of folders) {`)),
  step('Again, with a look at the changed lines.', shell('sed -n 1,12p scratch/imports.mjs'), shell('node scratch/imports.mjs')),
  step(results => {
    const lines = linesOf(results[1])
    const free = lines.filter(line => line.includes('(none)')).map(line => line.split(' ')[0])
    const extra = lines.filter(line => line.includes('| declared, not imported'))
    return `Now it runs. Without any import from the workspace: ${free.join(', ') || 'none of them'}. ${extra.length === 0
      ? 'Every declared workspace dependency is imported somewhere in its sources.'
      : `In ${counted(extra.length, 'package')} something is declared that the sources do not import (tests and plugins loaded by name may need it).`} Next, what each package offers: the doors, in reading order.`
  },
    todo(`x ${TODO[0]}`, `x ${TODO[1]}`, `> ${TODO[2]}`, `- ${TODO[3]}`),
    shell('for f in packages/*/*/src/index.ts; do echo "== $f"; cat "$f"; done')),
  step('Files begin with a comment that states their one idea. The first lines of everything in `session` and `llm` make a table of contents.',
    shell(String.raw`for f in packages/core/session/src/*.ts; do echo "== $f"; sed -n '1,6{/[*]/p}' "$f"; done`),
    shell(String.raw`for f in packages/llm/llm/src/*.ts; do echo "== $f"; sed -n '1,6{/[*]/p}' "$f"; done`)),
  step('The same for the compaction packages and the transcript importers.',
    shell(String.raw`for f in packages/compaction/*/src/*.ts; do echo "== $f"; sed -n '1,6{/[*]/p}' "$f"; done`),
    shell(String.raw`for f in packages/session/*/src/*.ts; do echo "== $f"; sed -n '1,5{/[*]/p}' "$f"; done`)),
  step('What a package adds to the shared context and to the event vocabulary is declared by merging. That is the other half of who needs whom.',
    search('interface (Context|Events|SessionEventMap) \\{', 'packages'),
    shell(`git grep -n -A4 'interface Context {' -- 'packages/*/*/src/*.ts'`)),
  step('Enough for the map. I let a script write the table, so that it can be made again when packages are added.',
    write('scratch/map.mjs', MAP), shell('mkdir -p scratch && ls scratch')),
  step('Write the table and read it as the person will.',
    shell('node scratch/map.mjs > scratch/packages.md && wc -l scratch/packages.md'), read('scratch/packages.md')),
  step('One check before I call it done: dependencies should point one way. `llm` must not import `session`, and `session` must import neither `agent` nor `compaction`.',
    shell(String.raw`git grep -nE "from '@deepseek-ai/dsh-(session|agent|compaction)" -- packages/llm/llm/src | wc -l; git grep -nE "from '@deepseek-ai/dsh-(agent|compaction)" -- packages/core/session/src | wc -l`),
    todo(`x ${TODO[0]}`, `x ${TODO[1]}`, `x ${TODO[2]}`, `x ${TODO[3]}`)),
  answer(results => {
    const [llm, session] = linesOf(results[0])
    return `The map is in scratch/packages.md, made by scratch/map.mjs; scratch/imports.mjs compares manifests with imports.

- \`llm\` holds the vocabulary (content blocks, failures, stream chunks) and the door to models. Imports of session, agent or compaction in it: ${llm}.
- \`session\` holds the log, the surface and the folds. Imports of agent or compaction in it: ${session}.
- \`compaction\` is the contract, \`compaction-basic\` the engine, \`compaction-digest\` the same engine without a model.
- \`transcript\` reads other tools' logs; \`session-persistence\` and its JSONL package keep ours.

Nothing under packages/ or apps/ was touched.`
  }),
]
