/** A request: an audit for habits that tend to hide bugs. */
import { answer, counted, either, linesOf, person, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const TODO = ['swallowed errors', 'casts and assertions', 'clock, randomness and I/O in pure files', 'unbounded loops and queues', 'write scratch/audit.md'] as const
const progress = (done: number) => todo(...TODO.map((item, index) => `${index < done ? 'x' : index === done ? '>' : '-'} ${item}`))

const PURE = String.raw`import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

// Files whose header says "Pure." must not reach for the clock, chance, files or the plugin system at run time.
const forbidden = [/\bDate\.now\b|\bnew Date\b/, /\bMath\.random\b|\brandomUUID\b/, /from 'node:/, /^import (?!type )[^\n]*'@deepseek-ai\/cordis'/m, /\bsetTimeout\b/, /\bprocess\./]
let pure = 0
for (const file of execFileSync('git', ['ls-files', 'packages/*/*/src/*.ts'], { encoding: 'utf8' }).trim().split('\n')) {
  const source = readFileSync(file, 'utf8')
  if (!/^ \* Pure\b/m.test(source.slice(0, 1500))) continue
  pure += 1
  const code = source.replace(/\/\*[\s\S]*?\*\//g, comment => comment.replace(/[^\n]/g, ' ')).replace(/\/\/.*/g, '')
  for (const pattern of forbidden) {
    const found = pattern.exec(code)
    if (found) console.log(file + ':' + code.slice(0, found.index).split('\n').length + ': ' + found[0])
  }
}
console.log(pure + ' files say that they are pure')
`

export const audit: readonly Line[] = [
  person('Audit the sources for habits that hide bugs: swallowed errors, casts, non-null assertions, clock or randomness in files that claim to be pure, loops without a bound. A list of places to look at, with your judgement; no fixes.'),
  step('Swallowed errors first: every catch, with what follows it.',
    progress(0), shell(`git grep -nE -A3 'catch( \\(|\\s*\\{)' -- 'packages/*/*/src/*.ts' 'apps/*/src/*.ts' | cut -c1-150`),
    shell(`git grep -nE '\\.catch\\(' -- 'packages/*/*/src/*.ts' 'apps/*/src/*.ts' | cut -c1-160`)),
  step(results => `${counted(results[0]!.split('\n').filter(line => /:\d+:.*catch/.test(line)).length, 'catch clause')}. A catch that neither rethrows, returns a value that says so, nor records anything is a candidate; let me see those without a binding, which cannot even look at the error.`,
    either(shell(`git grep -nE -B4 -A3 'catch \\{' -- 'packages/*/*/src/*.ts' 'apps/*/src/*.ts' | cut -c1-150`))),
  thought('A catch without a binding is fine where the question is a yes/no (is it JSON?). Judge each by its neighbourhood.',
    'A catch without a binding is right where the question was yes or no ("is this JSON?") and wrong where an error had something to say. Those above have to be judged one by one; I note the places. Next: casts.',
    progress(1), either(shell(`git grep -nE ' as (unknown|any|never)\\b' -- 'packages/*/*/src/*.ts' 'apps/*/src/*.ts' | cut -c1-170`)),
    either(shell(`git grep -nE ': any\\b|<any>|@ts-(ignore|expect-error)|eslint-disable|oxlint-disable' -- 'packages/*/*/src/*.ts' 'apps/*/src/*.ts' | cut -c1-170`))),
  step(results => `\`as unknown\`, \`as any\`, \`as never\`: ${linesOf(results[0]).filter(line => /:\d+:/.test(line)).length} places. Explicit \`any\` or suppressed checks: ${linesOf(results[1]).filter(line => /:\d+:/.test(line)).length}. All other casts, by file:`,
    either(shell(`git grep -cE '\\bas [A-Z]|\\bas \\{|\\bas const' -- 'packages/*/*/src/*.ts' | sort -t: -k2,2rn -k1,1 | head -30`)),
    either(shell(`git grep -nE '[A-Za-z0-9_\\])]!([.;,)\\[ ]|$)' -- 'packages/*/*/src/*.ts' | grep -vE '!==|!=' | cut -c1-140 | head -60`))),
  step('Non-null assertions mostly follow an index that a loop has just bounded; a few rest on an invariant of another file, and those are worth a second reader. Now the files that call themselves pure.',
    progress(2), write('scratch/pure.mjs', PURE), shell('node scratch/pure.mjs')),
  step(results => {
    const lines = linesOf(results[0])
    return lines.length <= 1 ? `${lines.at(-1) ?? ''}, and none of them reaches for the clock, chance, files or the plugin system.`
      : `${lines.at(-1) ?? ''}. ${counted(lines.length - 1, 'place')} in them to look at. Which files do use the clock or chance, and do they take it as a parameter?`
  },
    either(shell(`git grep -nE 'Date\\.now|Math\\.random|randomUUID|performance\\.now|setTimeout|setInterval' -- 'packages/*/*/src/*.ts' 'apps/*/src/*.ts' | cut -c1-150`))),
  step('Time enters through constructor parameters with a default in most of these places, which keeps tests deterministic. Loops next: those whose bound is not in their head.',
    progress(3), either(shell(`git grep -nE -A6 'while \\(|for \\(;;\\)|do \\{' -- 'packages/*/*/src/*.ts' | cut -c1-140`))),
  step('`while` loops over a shrinking or growing index are bounded by it. What grows without a bound is more dangerous: maps and arrays that live as long as their owner.',
    shell(`git grep -nE '(readonly|private|protected) [^(]*= new (Map|Set|WeakMap)|: [A-Za-z<>\\[\\], ]+\\[\\] = \\[\\]' -- 'packages/*/*/src/*.ts' | cut -c1-160`),
    search('\\.(shift|splice|delete)\\(', 'packages/core/session/src')),
  thought('Summarize with counts taken now, so that the note is right for this commit.',
    'The note gets its numbers from the same searches, so that they are those of this commit.',
    progress(4), write('scratch/audit.sh', String.raw`#!/bin/sh
# Counts for the audit; run it from the root.
src="packages/*/*/src/*.ts"
count() { printf '%-46s %s\n' "$1" "$(git grep -cE "$2" -- "$src" | awk -F: '{ n += $NF } END { print n + 0 }')"; }
count 'catch clauses' 'catch( \(|\s*\{)'
count 'of them without a binding' 'catch \{'
count 'casts through unknown, any or never' ' as (unknown|any|never)\b'
count 'explicit any and suppressed checks' ': any\b|<any>|@ts-(ignore|expect-error)'
count 'uses of clock, chance or timers' 'Date\.now|Math\.random|randomUUID|performance\.now|setTimeout|setInterval'
count 'while and endless for loops' 'while \(|for \(;;\)'
`), shell('sh scratch/audit.sh')),
  step('And the note itself.',
    shell(String.raw`{ echo '# Audit'; echo; echo '~~~'; sh scratch/audit.sh; node scratch/pure.mjs; echo '~~~'; echo; echo 'Places for a second reader: catch clauses without a binding outside yes-or-no questions; non-null assertions that rest on another file; maps that live as long as a session.'; } > scratch/audit.md; cat scratch/audit.md`), progress(5)),
  answer(results => `The audit is in scratch/audit.md, its counts made by scratch/audit.sh:

${linesOf(results[0]).filter(line => /\d$/.test(line)).map(line => `- ${line.replace(/\s{2,}/, ': ')}`).join('\n')}

My judgement: the type system is hardly bypassed, and time is passed in rather than reached for. What deserves a second reader are assertions that rest on an invariant kept in another file, and everything that grows as long as a session lives. No file outside scratch/ was changed.`),
]
