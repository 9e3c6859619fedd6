/** A request: how other tools’ logs come in, and what happens to what does not fit. */
import { answer, badly, edit, found, linesOf, person, read, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const CHAT = String.raw`import { importTranscript } from '@deepseek-ai/dsh-transcript'

const call = (id, name, args) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } })
const chat = {
  model: 'some-model',
  temperature: 0.2,
  messages: [
    { role: 'system', content: 'You are helpful.' },
    { role: 'user', content: 'List the files.' },
    { role: 'assistant', content: 'Two looks at once.', tool_calls: [call('a', 'shell', { command: 'ls' }), call('b', 'shell', { command: 'pwd' })] },
    { role: 'tool', tool_call_id: 'b', content: '/somewhere' },
    { role: 'tool', tool_call_id: 'a', content: 'README.md' },
    { role: 'assistant', content: null, tool_calls: [call('a', 'read', { path: 'README.md' })] },
    { role: 'tool', tool_call_id: 'a', content: 'no such file', is_error: true },
    { role: 'tool', tool_call_id: 'zzz', content: 'whose result am I?' },
    { role: 'assistant', content: 'Once more.', tool_calls: [call('c', 'shell', { command: 'sleep 1000' })] },
    { role: 'user', content: [{ type: 'text', text: 'Stop. What is on this picture?' }, { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
    { role: 'assistant', content: 'A cat.', audio: { id: 'x' } },
    { role: 'narrator', content: 'Meanwhile …' },
  ],
}
const { format, model, system, items, skipped } = importTranscript(chat)
console.log(format, '|', model, '|', system)
for (const item of items) {
  const said = item.content.map(block => block.type === 'tool-call' ? 'call#' + block.id + ' ' + block.arguments : block.text ?? '[' + block.type + ']').join(' + ')
  console.log(String(item.line).padStart(3), item.kind, item.from ?? item.finish, '|', said)
  for (const result of item.results ?? []) console.log('      ->', result === null ? 'no result' : (result.isError ? 'error: ' : '') + result.content.map(block => block.text).join(''))
}
console.log('skipped:')
for (const { reason, count, line } of skipped) console.log('  ', count, 'x', reason, '(first at ' + line + ')')
`

const BAD = String.raw`import { importTranscript } from '@deepseek-ai/dsh-transcript'

const files = {
  'an empty file': '',
  'no JSON at all': 'hello\nworld\n',
  'an empty list': '[]',
  'a list of numbers': '[1, 2, 3]',
  'JSON without messages': '{"weather":"fine"}',
  'messages without a role': '{"messages":[{"role":"user","content":"hi"},{"content":"who am I?"}]}',
  'unknown lines': '{"type":"greeting","text":"hello"}\n{"type":"greeting","text":"again"}\n',
}
for (const [title, text] of Object.entries(files)) {
  try {
    console.log(title.padEnd(24), '-> taken as', importTranscript(text, 'file.json').format)
  } catch (error) {
    console.log(title.padEnd(24), '->', error.name, 'at', error.line + ':', error.message.split('; expected')[0])
  }
}
try {
  importTranscript('[]')
} catch (error) {
  console.log('\nwhat is expected, in full:\n' + error.expected.split('; ').join('\n'))
}
`

const TODO = ['read detection and the model', 'import a crooked chat', 'offer it bad files', 'write scratch/importers.md'] as const
const progress = (done: number) => todo(...TODO.map((item, index) => `${index < done ? 'x' : index === done ? '>' : '-'} ${item}`))

export const importers: readonly Line[] = [
  person('How do other tools\' logs come in? I want to know how a format is recognised, what becomes of calls without results, doubled ids, results nobody asked for and things we do not know, and whether anything is dropped silently. Notes to scratch/importers.md.'),
  step('First what a log becomes, and how a file is recognised.',
    progress(0), read('packages/session/transcript/src/model.ts'), read('packages/session/transcript/src/detect.ts')),
  step('The content decides, not the name: each line strikes out formats until one is sure. An answer carries its own results, in the order of its calls, so every item boundary is a safe cut. The simplest format and what all formats share:',
    read('packages/session/transcript/src/openai-chat.ts'), read('packages/session/transcript/src/chat.ts'), read('packages/session/transcript/src/builder.ts')),
  thought('Build a crooked chat by hand: results in another order, id reused, an orphan result, an interrupted call, unknown role and keys, an image. Then look at items and skipped.',
    'I make a chat that has everything in it: results in another order than their calls, an id used again, a result nobody asked for, a call that was interrupted, an image, an unknown role and unknown keys.',
    progress(1), write('scratch/importers-1.mjs', CHAT), badly(shell('node scratch/importers-1.mjs'))),
  step(results => `It wants the file, not the object made of it: "${found(results[0], /TypeError[^:]*: (.*)/)}". I pass it the text.`,
    edit('scratch/importers-1.mjs', 'importTranscript(chat)', 'importTranscript(JSON.stringify(chat))'), shell('node scratch/importers-1.mjs')),
  step(results => `Results stand in the order of their calls, the second \`a\` became \`${found(results[0], /call#(a_\S+)/)}\`, the interrupted call has no result, and whatever found no place is counted with its reason (${linesOf(results[0]!.split('skipped:')[1]).length} of them) instead of vanishing. Which reasons are there in all formats?`,
    search('\\.skip\\(', 'packages/session/transcript/src')),
  step('Each importer names what its format has and a transcript has not. Now files that are no conversation.',
    progress(2), write('scratch/importers-2.mjs', BAD), shell('node scratch/importers-2.mjs')),
  step('Every refusal names the first place that disagreed and what was expected. The largest importer deserves a look, since its format is a tree and not a list.',
    read('packages/session/transcript/src/claude-code.ts'), read('packages/session/transcript/src/claude-code-tree.ts'), read('packages/session/transcript/src/lines.ts')),
  step('The tree is walked back from its last leaf, and what belongs to a kept message is added again. How are all these rules tested?',
    shell(`git grep -nE "^ *(it|test|describe)(\\.each)?\\(" -- packages/session/transcript/test | cut -c1-170`)),
  step('The tests state one rule each, many of them the ones I just tried by hand. Two other importers, to see that the shared rules really are shared:',
    read('packages/session/transcript/src/codex-rollout.ts', 1, 120), read('packages/session/transcript/src/pi-session.ts', 1, 120)),
  step('Both only translate; pairing, unique ids and counting happen in the builder. That goes into the notes.',
    progress(3), shell(String.raw`{ cat <<'EOF'
# How logs of other tools come in

- The content decides which format a file is; a refusal names the first line that disagreed and what was expected.
- An importer translates; pairing by id and occurrence, unique ids, results in call order and counting are the builder's.
- A call without a result keeps its place with no result. A result without a call is counted, as is everything that has no place.

A crooked chat, imported (importers-1.mjs):
~~~
EOF
node scratch/importers-1.mjs; echo '~~~'; echo; echo 'Files that are no conversation (importers-2.mjs):'; echo '~~~'; node scratch/importers-2.mjs; echo '~~~'; } > scratch/importers.md; cat scratch/importers.md`)),
  step('Tick the list.', progress(4), shell('wc scratch/importers.md')),
  answer(results => `scratch/importers.md (${found(results[0], /^ *(\d+)/)} lines) has the rules and two programs that show them.

- A format is recognised by content, line by line.
- Calls without results stay, marked as such; reused ids become unique; results come in call order.
- An orphan result, an unknown role or key is not dropped silently: it is counted, with a reason and the first place where it occurred.`),
]
