/** Last requests: the notes in one place, and a proof that nothing else was touched. */
import { answer, badly, found, linesOf, person, read, shell, step, thought, todo, write, type Line } from './notation.ts'

export const notes: readonly Line[] = [
  person('Put everything together in one scratch/NOTES.md for the next person: what there is, what you proved, how to run it. Then show me that you kept my rules.'),
  step('What do I have? All files, with their first lines.',
    todo('> collect what there is', '- scratch/NOTES.md', '- check the rules'), shell('ls -1 scratch | wc -l; wc -l scratch/*; for f in scratch/*.md; do echo "== $f"; head -3 "$f"; done')),
  step('A runner for all of it, so that the next person need not guess an order. Programs that are meant to fail are marked.',
    write('scratch/run-all.sh', String.raw`#!/bin/sh
# Runs every experiment; prints one line for each. Those that end in an error on purpose are expected to.
failed=0
check() {
  expected=$1; shift
  "$@" > /dev/null 2>&1; code=$?
  if [ "$code" = "$expected" ]; then echo "as expected ($code)  $*"; else echo "UNEXPECTED ($code)   $*"; failed=1; fi
}
for program in imports map sizes functions replace-1 replace-2 replace-3 replace-4 assembly-1 pairing-1 pairing-2 pairing-3 pairing-4 estimates-1 estimates-2 importers-1 importers-2 pure; do check 0 node scratch/$program.mjs; done
for program in replace-5 assembly-2 assembly-3; do check 1 node scratch/$program.mjs; done
for suite in replace assembly pairing estimates; do check 0 node --test scratch/$suite.test.mjs; done
check 0 sh scratch/audit.sh
check 0 node scratch/retention.mjs
exit $failed
`), badly(shell('sh scratch/run-all.sh'))),
  step(results => `One surprise, and it is mine: \`${found(results[0], /UNEXPECTED \(1\) *(.*)/)}\`. There is no such file; the retention experiment is pairing-4.mjs and already in the list. I take the line out and run again.`,
    shell(`sed -i '/retention.mjs/d' scratch/run-all.sh && sh scratch/run-all.sh`)),
  step(results => `${linesOf(results[0]).length} programs, all ending as they should. Now the notes.`,
    todo('x collect what there is', '> scratch/NOTES.md', '- check the rules'),
    write('scratch/NOTES.md', `# Notes for the next person

Everything here was made while reading the repository; nothing outside scratch/ was changed. Run all of it with \`sh scratch/run-all.sh\`.

| file | what it shows |
|---|---|
| packages.md, map.mjs, imports.mjs | the packages, what they need, and what their sources really import |
| sizes.md, sizes.mjs, functions.mjs | lengths of files, packages and functions |
| replace.md, replace-1 to -5.mjs, replace.test.mjs | how a replace works on the surface, what is refused, what a kept array of messages does |
| assembly.md, assembly-1 to -3.mjs, assembly.test.mjs | how answers are put together from chunks |
| pairing.md, pairing-1 to -4.mjs, pairing.test.mjs | safe cuts, faults, the lock, the retained tail |
| estimates.md, estimates-1 and -2.mjs, estimates.test.mjs | what texts cost |
| importers.md, importers-1 and -2.mjs | how other tools' logs come in |
| audit.md, audit.sh, pure.mjs | places for a second reader |

surface.mjs, chunks.mjs and cuts.mjs are helpers of the experiments.

Not done: the whole test suite was not run (it was stopped on request), so nothing is said about flaky tests.
`), shell('sh scratch/run-all.sh | grep -c "as expected"')),
  thought('Now prove that the rules were kept: git status must show only scratch/ as untracked and no modification.',
    'The rules: nothing changed under packages/ or apps/, own files only in scratch/.',
    shell('git status --short'), shell('git diff --stat; echo "changed files: $(git diff --name-only | wc -l)"'),
    shell('git status --short --untracked-files=all | grep -v "^?? scratch/" | wc -l')),
  step(results => `Status shows \`${linesOf(results[0]).join(', ')}\` and nothing else; ${found(results[1], /(changed files: \d+)/)}; entries outside scratch/: ${found(results[2], /^(\d+)/)}. I read the notes once as the next person would.`,
    todo('x collect what there is', 'x scratch/NOTES.md', 'x check the rules'), read('scratch/NOTES.md'), read('scratch/run-all.sh')),
  step('Two of the generated tables are worth a last look, since they are what will be read first.',
    read('scratch/packages.md'), read('scratch/audit.md')),
  answer(`Done. scratch/NOTES.md is the entrance, \`sh scratch/run-all.sh\` runs every experiment and says so when one ends otherwise than it should.

Your rules were kept: git shows no change under packages/ or apps/, everything of mine is in scratch/, and the todo list was carried through. One thing you asked for is open by your own word: the whole suite was not run, so I can say nothing about flaky tests.`),
  person('Thank you. One last thing: which single file should the next person read first, and why?'),
  step('I would say `packages/core/session/src/surface.ts`; before I do, its length and who depends on it.',
    shell(`wc -l packages/core/session/src/surface.ts; git grep -lE "surface" -- 'packages/*/*/src/*.ts' | wc -l; git grep -c surface -- 'packages/*/*/src/*.ts' | sort -t: -k2,2rn | head -12`)),
  answer(results => `\`packages/core/session/src/surface.ts\`. It has ${found(results[0], /^(\d+)/)} lines, its head draws the one picture everything else leans on (seq is identity, position is order), and ${found(results[0], /\n(\d+)\n/)} source files speak of the surface. Whoever understands plan and commit there has understood what a compaction may and may not do.`),
]
