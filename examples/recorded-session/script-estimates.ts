/** A request: what texts cost, by the repository's own estimator. */
import { answer, badly, edit, found, linesOf, person, read, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const KINDS = String.raw`import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { textTokens } from '@deepseek-ai/dsh-token-meter'

const kinds = new Map()
for (const file of execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')) {
  const kind = /\.spec\.ts$/.test(file) ? 'tests' : /[^/]\.([a-z]+)$/.exec(file)?.[1] ?? 'other'
  const text = readFileSync(file, 'utf8')
  const sum = kinds.get(kind) ?? { files: 0, chars: 0, tokens: 0 }
  sum.files += 1
  sum.chars += text.length
  sum.tokens += textTokens(text)
  kinds.set(kind, sum)
}
for (const [kind, { files, chars, tokens }] of [...kinds].sort((a, b) => b[1].chars - a[1].chars)) {
  console.log(kind.padEnd(8), String(files).padStart(4), 'files', String(chars).padStart(8), 'chars', String(tokens).padStart(8), 'tokens', (chars / tokens).toFixed(2), 'chars a token,', 'quarter rule is off by', Math.round((chars / 4 / tokens - 1) * 100) + ' %')
}
`

const SAMPLES = String.raw`import { textTokens } from '@deepseek-ai/dsh-token-meter'

const samples = {
  'English prose': 'The log is the truth, and the surface is what the model sees. Nothing is ever edited or removed.',
  'Chinese prose': '日志是事实，界面是模型所见。任何内容都不会被修改或删除。',
  'Russian prose': 'Журнал — это истина, а поверхность — то, что видит модель.',
  'code': 'for (const [index, entry] of entries.entries()) if (entry.tokens > 0) total += entry.tokens',
  'JSON': '{"type":"tool-call","id":"call_1","name":"shell","arguments":"{\\"command\\":\\"ls -la\\"}"}',
  'digits': '3.14159265358979 2.71828182845904 1.61803398874989 299792458',
  'emoji': '👍🎉👩‍💻🚀',
  'spaces': ' '.repeat(80),
  'base64': Buffer.from('the quick brown fox jumps over the lazy dog, twice').toString('base64'),
}
for (const [title, text] of Object.entries(samples)) console.log(title.padEnd(14), String(text.length).padStart(4), 'units', String(textTokens(text)).padStart(4), 'tokens', (text.length / textTokens(text)).toFixed(2))
`

const LAWS = String.raw`import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimator, textTokens } from '@deepseek-ai/dsh-token-meter'

const texts = ['', 'a', 'hello world', '日志是事实', '👩‍💻', '{"a":[1,2,3]}', 'x'.repeat(20000), '界'.repeat(20000)]

test('a text costs what its parts cost, within rounding', () => {
  for (const a of texts) for (const b of texts) {
    const whole = textTokens(a + b)
    const parts = textTokens(a) + textTokens(b)
    assert.ok(whole <= parts && whole >= parts - 1, JSON.stringify([a.slice(0, 9), b.slice(0, 9), whole, parts]))
  }
})

test('nothing costs nothing', () => {
  for (const text of texts) assert.equal(textTokens(text) === 0, text === '')
})

test('one density for all: characters divided, plus four', () => {
  const fixed = estimator({ charsPerToken: 4 })
  assert.equal(fixed.block({ type: 'text', text: 'x'.repeat(400) }), 100)
})
`

const TODO = ['read the estimator', 'price this repository', 'price samples of scripts', 'laws as tests', 'write scratch/estimates.md'] as const
const progress = (done: number) => todo(...TODO.map((item, index) => `${index < done ? 'x' : index === done ? '>' : '-'} ${item}`))

export const estimates: readonly Line[] = [
  person('How good is "four characters a token" for a repository like this one? Use the estimator of the token meter and tell me where that rule is furthest off. Remember the rules from the beginning.'),
  step('The rules stand: packages/ and apps/ stay as they are, my files go to scratch/, the list is kept. First the estimator itself.',
    progress(0), read('packages/llm/token-meter/src/estimate.ts'), shell('cat packages/llm/token-meter/src/index.ts; git ls-files packages/llm/token-meter')),
  step('It prices by script, byte by byte, with a weight for each kind of character; the comments say how the weights were found. Now this repository, by kind of file.',
    progress(1), write('scratch/estimates-1.mjs', KINDS), shell('node scratch/estimates-1.mjs')),
  step(results => {
    const worst = linesOf(results[0]).filter(line => Number(/(\d+) files/.exec(line)?.[1]) >= 5).map(line => ({ kind: line.split(' ')[0], off: Number(/off by (-?\d+)/.exec(line)?.[1] ?? 0) })).sort((a, b) => Math.abs(b.off) - Math.abs(a.off))[0]
    return `Of the kinds with five files or more the quarter rule is furthest off for \`${worst?.kind ?? '?'}\` files (${worst?.off ?? '?'} %; a minus means that it promises too few tokens). Per file, which are the dearest for their length?`
  },
    shell(String.raw`git ls-files '*.ts' '*.json' '*.mjs' | node --input-type=module -e '
import { readFileSync } from "node:fs"
import { textTokens } from "@deepseek-ai/dsh-token-meter"
const rows = readFileSync(0, "utf8").trim().split("\n").map(file => { const text = readFileSync(file, "utf8"); return [text.length / textTokens(text), textTokens(text), file] }).filter(row => row[1] > 100).sort((a, b) => a[0] - b[0])
for (const row of [...rows.slice(0, 14), ["..."], ...rows.slice(-14)]) console.log(typeof row[0] === "number" ? row[0].toFixed(2) + "  " + String(row[1]).padStart(6) + "  " + row[2] : "...")
'`)),
  step('The dear end is mostly JSON, all quotes, brackets and version numbers; at the cheap end stands code with much comment in it. Samples of one kind each make that visible.',
    progress(2), write('scratch/estimates-2.mjs', SAMPLES), shell('node scratch/estimates-2.mjs')),
  step('Chinese and emoji cost more tokens than a quarter of their length by a wide margin, spaces far fewer. How are these prices used? The meter and whoever asks it:',
    read('packages/llm/token-meter/src/measure.ts', 1, 120), search('estimator\\(|textTokens\\(|tokensAt\\(|estimateMessage\\(', 'packages')),
  thought('State three laws: additivity within rounding, only the empty text is free, fixed density. The header comment says a fixed density costs ceil(chars/n) + 4 per text block; my third test forgets the 4. Hmm, I write 100 for 400 characters - let me see.',
    'Three laws that I believe in, as tests.', progress(3), write('scratch/estimates.test.mjs', LAWS), badly(shell('node --test --test-reporter=tap scratch/estimates.test.mjs'))),
  step(results => `The first two hold. The third is my arithmetic: its own title says "plus four", and the assertion forgot them (${found(results[0], /expected: (\d+)/)} expected, ${found(results[0], /actual: (\d+)/)} found).`,
    edit('scratch/estimates.test.mjs', `'x'.repeat(400) }), 100)`, `'x'.repeat(400) }), 104)`), shell('node --test --test-reporter=tap scratch/estimates.test.mjs')),
  step('Green. Images are priced by size, so I look at those too: a small one, a large one, one of unknown size, and an impossible density.',
    badly(shell(String.raw`node --input-type=module -e '
import { estimator, imageTokens } from "@deepseek-ai/dsh-token-meter"
for (const size of [{ width: 16, height: 16 }, { width: 512, height: 320 }, { width: 1920, height: 1080 }, { width: 8000, height: 6000 }, {}]) console.log(JSON.stringify(size), imageTokens(size))
estimator({ charsPerToken: 0 })
'`))),
  step(results => `Image prices have a floor, a ceiling and a value for unknown sizes, and a density of zero is refused ("${found(results[0], /RangeError: (.*)/)}"). Into the notes with it.`,
    progress(4), shell(String.raw`{ echo '# What texts cost'; echo; echo '~~~'; node scratch/estimates-1.mjs; echo; node scratch/estimates-2.mjs; echo '~~~'; } > scratch/estimates.md; cat scratch/estimates.md`)),
  step('The list is done; the two largest kinds once more, for the answer.', progress(5), shell('node scratch/estimates-1.mjs | head -3; wc -c scratch/*.md')),
  answer(results => `scratch/estimates.md has the table. For the TypeScript sources here the rule is off by ${found(results[0], /^ts .* by (-?\d+ %)/m)}, for JSON by ${found(results[0], /^json .* by (-?\d+ %)/m)}. One number for everything hides what matters: digits, punctuation, Chinese and emoji cost much more per character, spaces and plain prose less. Judged by the estimator the rule is worst for texts that are not Latin prose, and it errs on the cheap side there, which is the dangerous side when a window is nearly full.`),
]
