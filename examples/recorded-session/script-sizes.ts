/** A request: how large files, functions and packages are. */
import { answer, badly, counted, either, found, linesOf, person, read, shell, step, thought, todo, write, type Line } from './notation.ts'

const SIZES = String.raw`import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { limit: { type: 'string', default: '500' }, least: { type: 'string', default: '100' } } })
const files = execFileSync('git', ['ls-files', 'packages', 'apps'], { encoding: 'utf8' }).split('\n').filter(file => file.endsWith('.ts'))
const packages = new Map()
const long = []
for (const file of files) {
  const lines = readFileSync(file, 'utf8').split('\n').length - 1
  const [, owner, kind] = /^((?:packages\/[^/]+|apps)\/[^/]+)\/([^/]+)/.exec(file)
  const sizes = packages.get(owner) ?? { src: 0, test: 0, files: 0 }
  if (kind === 'test') sizes.test += lines
  else { sizes.src += lines; sizes.files += 1 }
  packages.set(owner, sizes)
  if (lines > Number(values.limit)) long.push(file + ' ' + lines)
}
console.log('package'.padEnd(52), 'files', '  src', ' test')
for (const [owner, { src, test, files }] of [...packages].sort((a, b) => b[1].src - a[1].src)) {
  console.log(owner.padEnd(52), String(files).padStart(5), String(src).padStart(5), String(test).padStart(5), src < Number(values.least) ? '  under ' + values.least : '')
}
console.log('longer than ' + values.limit + ' lines: ' + (long.join(', ') || 'none'))
`

const FUNCTIONS = String.raw`import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

// Longest functions and methods: from a line that opens one to the closing brace of the same indentation.
const files = execFileSync('git', ['ls-files', 'packages/*/*/src/*.ts'], { encoding: 'utf8' }).trim().split('\n')
const found = []
for (const file of files) {
  const lines = readFileSync(file, 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    const opening = /^( *)(?:export |async |private |protected |static |override )*(?:function\*? )?(\w+)(?:<[^(]*>)?\(.*\{$/.exec(line)
    if (!opening || /^(if|for|while|switch|catch)$/.test(opening[2])) continue
    const end = lines.findIndex((candidate, at) => at > index && candidate === opening[1] + '}')
    if (end > 0) found.push({ length: end - index + 1, name: opening[2], place: file + ':' + (index + 1) })
  }
}
found.sort((a, b) => b.length - a.length)
for (const { length, name, place } of found.slice(0, 25)) console.log(String(length).padStart(4), name.padEnd(28), place)
console.log(found.length + ' functions, ' + found.filter(one => one.length > 40).length + ' of them longer than 40 lines')
`

const TODO = ['measure files', 'measure packages', 'measure functions', 'write scratch/sizes.md'] as const

export const sizes: readonly Line[] = [
  person('Good. Next: we say that no file should be longer than about 500 lines and that a package of less than about 100 lines should not exist. Check both, sources apart from tests, and tell me where the longest functions are.'),
  step('Raw numbers first: the longest TypeScript files of all kinds.',
    todo(`> ${TODO[0]}`, `- ${TODO[1]}`, `- ${TODO[2]}`, `- ${TODO[3]}`),
    shell(`git ls-files '*.ts' | xargs wc -l | sort -rn | head -45`)),
  step(results => {
    return `The longest file is \`${found(results[0], /\n *\d+ (\S+)/)}\` with ${found(results[0], /\n *(\d+) /)} lines. Sources and tests have to be told apart, and packages summed up; that is a script.`
  }, write('scratch/sizes.mjs', SIZES)),
  step('Run it with the limit from the request.', badly(shell('node scratch/sizes.mjs --max 500'))),
  step('I called my own option by the wrong name; it is `--limit`.', shell('node scratch/sizes.mjs --limit 500')),
  step(results => {
    const lines = linesOf(results[0])
    const small = lines.filter(line => line.includes('  under '))
    return `Files ${lines.at(-1)}. Packages under 100 lines of source: ${small.map(line => line.split(' ')[0]).join(', ') || 'none'}. How are file lengths distributed?`
  },
    todo(`x ${TODO[0]}`, `x ${TODO[1]}`, `> ${TODO[2]}`, `- ${TODO[3]}`),
    shell(String.raw`git ls-files 'packages/*/*/src/*.ts' | xargs wc -l | grep -v total | node -e '
const sizes = require("node:fs").readFileSync(0, "utf8").trim().split("\n").map(l => Number(l.trim().split(/\s+/)[0])).sort((a, b) => a - b)
const at = q => sizes[Math.floor((sizes.length - 1) * q)]
console.log("files", sizes.length, "median", at(0.5), "p90", at(0.9), "longest", at(1))
const bins = new Map()
for (const s of sizes) bins.set(Math.floor(s / 50) * 50, (bins.get(Math.floor(s / 50) * 50) ?? 0) + 1)
for (const [bin, n] of bins) console.log(String(bin).padStart(4) + "-" + String(bin + 49).padEnd(4), "#".repeat(n))
'`)),
  thought('A file can be short and still hold one giant function. Measure functions by matching indentation; good enough for formatted code.',
    results => `${found(results[0], /^(.+)/)}. Short files may still hold long functions, so now the functions.`,
    write('scratch/functions.mjs', FUNCTIONS)),
  step('Longest first.', shell('node scratch/functions.mjs')),
  step(results => {
    const [length, name, place] = found(results[0], /^ *(.+)/).split(/\s+/)
    return `The longest is \`${name}\` (${length} lines, ${place}). I read it, and the second one, to see whether their length is a list of cases or a tangle.`
  },
    shell(String.raw`node scratch/functions.mjs | head -1 | { read length name place; file=$(echo $place | cut -d: -f1); line=$(echo $place | cut -d: -f2); sed -n "$line,$((line + length - 1))p" "$file"; }`),
    shell(String.raw`node scratch/functions.mjs | sed -n 2p | { read length name place; file=$(echo $place | cut -d: -f1); line=$(echo $place | cut -d: -f2); sed -n "$line,$((line + length - 1))p" "$file"; }`)),
  step(results => `The longest has ${counted(results[0]!.split(/\bcase '/).length - 1, 'case')} and ${counted(results[0]!.split(/\bif \(/).length - 1, '`if`')} in it. How deep is the code indented elsewhere? Nesting says more than length.`,
    shell(String.raw`git ls-files 'packages/*/*/src/*.ts' | xargs awk '{ match($0, /^ */); d = RLENGTH / 2; if (d > m[FILENAME]) m[FILENAME] = d } END { for (f in m) print m[f], f }' | LC_ALL=C sort -k1,1rn -k2 | head -25`)),
  step('And line lengths, since a long line hides nesting.',
    either(shell(String.raw`git ls-files 'packages/*/*/src/*.ts' | xargs awk 'length > 140 { print FILENAME ":" FNR ": " length }' | LC_ALL=C sort | head -60`)),
    shell(String.raw`git ls-files 'packages/*/*/src/*.ts' | xargs awk '{ n[length > 120 ? "over 120" : length > 100 ? "101-120" : length > 80 ? "81-100" : "up to 80"]++ } END { for (k in n) print k ": " n[k] }' | LC_ALL=C sort`)),
  step('The findings go into a file, measured at the time of writing and not typed from memory.',
    shell(String.raw`{ echo '# Sizes'; echo; echo '## Packages'; echo '~~~'; node scratch/sizes.mjs; echo '~~~'; echo '## Longest functions'; echo '~~~'; node scratch/functions.mjs | head -12; echo '~~~'; } > scratch/sizes.md; wc scratch/sizes.md`),
    todo(`x ${TODO[0]}`, `x ${TODO[1]}`, `x ${TODO[2]}`, `x ${TODO[3]}`)),
  step('A last look at the file as it stands.', read('scratch/sizes.md')),
  answer(results => {
    const lines = linesOf(results[0]).map(line => line.replace(/^\d+\t/, ''))
    const verdict = lines.find(line => line.startsWith('longer than')) ?? ''
    const small = lines.filter(line => line.includes('  under ')).map(line => line.split(' ')[0])
    return `Measured, and kept in scratch/sizes.md:

- Files ${verdict}.
- Packages below 100 lines of source: ${small.length === 0 ? 'none' : small.join(', ')}.
- The longest functions are listed there with file and line; run \`node scratch/functions.mjs\` to have the list anew.

I changed nothing outside scratch/.`
  }),
]
