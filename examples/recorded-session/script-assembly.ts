/** An interruption, then a request: how answers are put together from stream chunks. */
import { answer, badly, cutOff, edit, found, person, read, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const INTERLEAVED = String.raw`import { BlockAssembler } from '@deepseek-ai/dsh-llm'

export function assemble(...chunks) {
  const assembler = new BlockAssembler()
  for (const chunk of chunks) assembler.push(chunk)
  return assembler
}

export const begin = (index, block) => ({ type: 'block-start', index, block })
export const text = (index, delta) => ({ type: 'text-delta', index, text: delta })
export const args = (index, delta) => ({ type: 'tool-call-delta', index, arguments: delta })
export const end = index => ({ type: 'block-end', index })
export const finish = reason => ({ type: 'finish', reason })
export const call = (id, name = 'shell') => ({ type: 'tool-call', id, name })
`

const EXPERIMENT = String.raw`import { args, assemble, begin, call, end, finish, text } from './chunks.mjs'

const print = (title, assembler) => console.log(title.padEnd(30), JSON.stringify(assembler.content()))

print('interleaved', assemble(
  begin(0, { type: 'text' }), text(0, 'Let me '), begin(1, call('a')), text(0, 'look.'), args(1, '{"command"'), end(0), args(1, ':"ls"}'), end(1), finish('tool-calls')))
print('deltas before their start', assemble(args(1, '{}'), text(0, 'late'), begin(0, { type: 'text' }), begin(1, call('a')), end(0), end(1), finish('tool-calls')))
print('the same id twice, one empty', assemble(begin(0, call('a')), end(0), begin(1, call('a')), end(1), begin(2, call('')), end(2), finish('tool-calls')))
print('an empty text', assemble(begin(0, { type: 'text' }), end(0), begin(1, { type: 'text' }), text(1, 'kept'), finish('stop')))
print('a call the limit cut off', assemble(begin(0, call('a')), args(0, '{"command":"ls"}'), end(0), begin(1, call('b')), args(1, '{"comm'), finish('max-tokens')))
print('ended, but not whole', assemble(begin(0, call('b')), args(0, '{"comm'), end(0), finish('max-tokens')))
print('the same, finished normally', assemble(begin(0, call('b')), args(0, '{"comm'), end(0), finish('tool-calls')))
console.log('left by an interruption'.padEnd(30), JSON.stringify(assemble(begin(0, { type: 'text' }), text(0, 'whole'), end(0), begin(1, { type: 'text' }), text(1, 'hal')).interrupted()))
`

const CONTRADICTIONS = String.raw`import { args, assemble, begin, call, end, text } from './chunks.mjs'

const attempts = {
  'ends without a beginning': [end(3)],
  'begins twice': [begin(0, { type: 'text' }), begin(0, { type: 'text' })],
  'text in a call': [begin(0, call('a')), text(0, 'x')],
  'arguments in a text': [begin(0, { type: 'text' }), args(0, '{}')],
}
for (const [title, chunks] of Object.entries(attempts)) {
  try {
    assemble(...chunks)
    console.log(title, '-> taken')
  } catch (error) {
    console.log(title, '->', error.message)
  }
}
assemble(args(0, '{}')).content()
`

const LAWS = String.raw`import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockAssembler, chunksOf } from '@deepseek-ai/dsh-llm'

const through = (content, finish, deltas) => {
  const assembler = new BlockAssembler()
  for (const chunk of chunksOf({ content, finish }, deltas)) assembler.push(chunk)
  return assembler.content()
}

const answer = [
  { type: 'reasoning', text: 'First list, then read.' },
  { type: 'text', text: 'Ich sehe nach: 先看一下文件。 👩‍💻👩‍💻' },
  { type: 'tool-call', id: 'a', name: 'shell', arguments: '{"command":"ls"}' },
  { type: 'tool-call', id: 'b', name: 'read', arguments: '{"path":"README.md"}' },
]

test('an answer comes back equal from its chunks, in any number of pieces', () => {
  for (let deltas = 1; deltas <= 40; deltas++) assert.deepEqual(through(answer, 'tool-calls', deltas), answer)
})

test('no piece parts a character', () => {
  for (let deltas = 1; deltas <= 40; deltas++) {
    for (const chunk of chunksOf({ content: answer, finish: 'tool-calls' }, deltas)) {
      if (chunk.type === 'text-delta') assert.ok(chunk.text.isWellFormed())
    }
  }
})

test('an empty text block comes back too', () => {
  const content = [{ type: 'text', text: '' }, { type: 'text', text: 'said' }]
  assert.deepEqual(through(content, 'stop', 3), content)
})
`

const TODO = ['read content, assemble, chunks, collect', 'try odd orders of chunks', 'provoke contradictions', 'round trip as a test', 'write scratch/assembly.md'] as const
const progress = (done: number) => todo(...TODO.map((item, index) => `${index < done ? 'x' : index === done ? '>' : '-'} ${item}`))

export const assembly: readonly Line[] = [
  person('Now run the whole test suite three times in a row and tell me whether any test is flaky.'),
  cutOff('Three runs one after another, each to its own file, while I count the tests there are.',
    shell('for n in 1 2 3; do npm test > scratch/run-$n.txt 2>&1; echo "run $n: exit $?"; done'), shell(`git grep -cE "^ *(it|test)[.(]" -- '*.spec.ts' | sort`)),
  person(`Stop, that takes too long on this machine, and somebody else is running it already. Do not run the whole suite again in this session.

Instead look at how answers are put together from stream chunks (BlockAssembler in packages/llm/llm). I want to know what it does with chunks that come interleaved, out of order, doubled or cut off, and whether chunksOf really is its inverse. Notes to scratch/assembly.md.`),
  step('Understood: no more runs of the whole suite. I start with the vocabulary and the assembler.',
    progress(0), read('packages/llm/llm/src/content.ts', 1, 130), read('packages/llm/llm/src/assemble.ts')),
  step('A block under construction is a draft, looked up by index, and the answer is read off in the order of the indices, however chunks arrive. The other direction, and who uses the assembler:',
    read('packages/llm/llm/src/chunks.ts'), read('packages/llm/llm/src/collect.ts'), search('new BlockAssembler|uniqueCallId\\(', 'packages')),
  thought('Predictions from reading: interleaving is fine; deltas may come before their start; doubled ids get a suffix; an empty call id becomes call_1; a call cut by max-tokens is dropped, also one that ended but is no JSON.',
    'From reading I expect: interleaving and late starts are harmless, doubled or empty call ids get unique ones, and a call that the output limit cut off is dropped. Helpers and an experiment:',
    progress(1), write('scratch/chunks.mjs', INTERLEAVED), write('scratch/assembly-1.mjs', EXPERIMENT)),
  step('Run it.', shell('node scratch/assembly-1.mjs')),
  step(results => {
    const ids = [...found(results[0], /the same id twice(.*)/).matchAll(/"id":"([^"]*)"/g)].map(([, id]) => id)
    return `As expected. The doubled and the empty id became ${ids.join(', ')}. Note the pair near the end: unfinished arguments are dropped under \`max-tokens\` but kept when the answer finished normally, because then the model really wrote them. Now chunks that contradict each other.`
  },
    progress(2), write('scratch/assembly-2.mjs', CONTRADICTIONS), badly(shell('node scratch/assembly-2.mjs'))),
  step(results => `All four contradictions throw, and the last line of the script as well, which ended it: "${found(results[0], /Error: (.*)/)}". Arguments for a call that never began cannot become a block, since nobody knows its name. Now the round trip as tests.`,
    progress(3), write('scratch/assembly.test.mjs', LAWS), badly(shell('node --test --test-reporter=tap scratch/assembly.test.mjs'))),
  thought('The third test fails. The assembler leaves out text that says nothing; that is documented in the comment on content(). So the round trip holds up to empty blocks, and my test claims too much.',
    results => `${found(results[0], /# pass (\d+)/)} of ${found(results[0], /# tests (\d+)/)} pass. The one that fails claims too much: the comment on \`content()\` says that text which says nothing is left out. The law is a round trip up to empty blocks, so the test should say that.`,
    edit('scratch/assembly.test.mjs', `test('an empty text block comes back too', () => {`, `test('an empty text block does not come back', () => {`),
    edit('scratch/assembly.test.mjs', `  assert.deepEqual(through(content, 'stop', 3), content)`, `  assert.deepEqual(through(content, 'stop', 3), content.slice(1))`)),
  step('Again.', shell('node --test --test-reporter=tap scratch/assembly.test.mjs')),
  step('Green. How do the repository\'s own tests state the same law? I compare, so as not to reinvent a notation.',
    shell(`ls packages/llm/llm/test; sed -n 1,60p packages/llm/llm/test/notation.ts 2>/dev/null || true`),
    shell(`git grep -nE "^ *(it|test|describe)(\\.each)?\\(" -- packages/llm/llm/test | cut -c1-160 | head -70`)),
  step('They draw streams as text, which reads better than my helper calls. One thing is still open: what does an abort do in `collect`? The comment says that the signal\'s own reason is thrown. The scripted model is made for trying that.',
    read('packages/llm/llm/src/scripted.ts'), read('packages/llm/llm/src/abort.ts')),
  step('A function that never resolves works as a gate; aborting has to free the collector with the exact reason.',
    write('scratch/assembly-3.mjs', String.raw`import { BlockAssembler, collect, ScriptedAdapter } from '@deepseek-ai/dsh-llm'

const adapter = new ScriptedAdapter({ replies: [() => new Promise(() => {}), { content: [{ type: 'text', text: 'hello' }] }] })
const controller = new AbortController()
const reason = new Error('the person pressed Escape')
const waiting = collect(adapter.stream({ provider: 'scripted', model: 'm', messages: [], signal: controller.signal }), { signal: controller.signal })
controller.abort(reason)
console.log('the same reason:', await waiting.then(() => 'no', error => error === reason))

const assembler = new BlockAssembler()
for await (const chunk of adapter.stream({ provider: 'scripted', model: 'm', messages: [] })) assembler.push(chunk)
console.log(JSON.stringify(assembler.content()), assembler.finish?.reason, adapter.requests.length, 'requests seen')
await collect(adapter.stream({ provider: 'scripted', model: 'm', messages: [] }))
`), badly(shell('node scratch/assembly-3.mjs'))),
  step(results => `The abort hands over the very reason. The third request fails because the script has only two replies: "${found(results[0], /Error: (.*)/)}". A scripted model that runs dry says so instead of making something up. That was the last question.`,
    progress(4), write('scratch/assembly.md', `# From chunks to answers

- Blocks are found by index and given out in index order; interleaved chunks and deltas before their start are harmless (assembly-1.mjs).
- A doubled or empty call id gets a deterministic unique one.
- Text that says nothing is left out. A call that the output limit cut off is left out too, also when the provider ended it but its arguments are no JSON. Unfinished arguments in an answer that finished normally are kept: the model wrote them.
- Chunks that contradict each other throw: a bug of an adapter, not of a model (assembly-2.mjs).
- \`chunksOf\` is the inverse up to empty blocks, in any number of pieces, never parting a character (assembly.test.mjs).
- \`collect\` throws an abort's own reason; the scripted model fails when it has no reply left (assembly-3.mjs).
`)),
  step('Check that the notes and the programs agree, once more from the start.',
    shell('node scratch/assembly-1.mjs | cut -c1-100; node --test --test-reporter=tap scratch/assembly.test.mjs | grep -E "^(ok|not ok|# (tests|pass|fail))"'), progress(5)),
  answer(results => `Notes are in scratch/assembly.md. ${found(results[0], /# pass (\d+)/)} tests pass.

Interleaved and early chunks are put in order by index; doubled ids become unique; cut-off calls are dropped; contradictions throw. \`chunksOf\` is the inverse of the assembler except for blocks that say nothing, which do not come back. I did not run the whole suite.`),
]
