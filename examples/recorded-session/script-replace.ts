/** A request: how a replace works on the surface; with a remark of the person while the work goes on. */
import { answer, badly, edit, found, linesOf, person, read, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const PRELUDE = String.raw`import { Session } from '@deepseek-ai/dsh-session'

export function open() {
  let clock = 0
  return new Session({ header: { id: 'experiment', createdAt: 0 }, now: () => clock++ })
}

export function say(session, text, surface = { surfaceOp: 'append' }) {
  return session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, surface).seq
}

/** Entries as seq@position, then what the model would read. */
export function show(session, title) {
  const { entries } = session.surface
  console.log(title.padEnd(34), entries.map(seq => seq + '@' + session.surface.positionOf(seq)).join(' '))
  console.log(' '.repeat(34), session.deriveMessages().map(message => message.content.map(block => block.text ?? '[' + block.type + ']').join('')).join(' | '))
}
`

const FIRST = String.raw`import { open, say, show } from './surface.mjs'

const session = open()
for (const word of ['zero', 'one', 'two', 'three', 'four']) say(session, word)
show(session, 'five messages')
const checkpoint = say(session, 'zero to two, in short', { surfaceOp: { op: 'replace', start: 0, end: 2 } })
show(session, 'after replacing 0..2 by ' + checkpoint)
say(session, 'five')
show(session, 'one more message')
`

const REFUSALS = String.raw`import { open, say, show } from './surface.mjs'

const session = open()
for (const word of ['zero', 'one', 'two', 'three', 'four']) say(session, word)
say(session, 'first half', { surfaceOp: { op: 'replace', start: 0, end: 2 }, sourceEventSeqs: [0, 1, 2] })
show(session, 'start')
const attempts = {
  'a start that was shadowed': { surfaceOp: { op: 'replace', start: 1, end: 3 }, sourceEventSeqs: [1, 2, 3] },
  'start behind end by position': { surfaceOp: { op: 'replace', start: 4, end: 5 }, sourceEventSeqs: [4, 5] },
  'a source left out': { surfaceOp: { op: 'replace', start: 5, end: 3 }, sourceEventSeqs: [5] },
  'a source named twice': { surfaceOp: { op: 'replace', start: 5, end: 3 }, sourceEventSeqs: [5, 5, 3] },
  'a source that is not yet there': { surfaceOp: { op: 'replace', start: 5, end: 3 }, sourceEventSeqs: [5, 3, 99] },
  'no surfaceOp at all': {},
  'an unknown operation': { surfaceOp: { op: 'insert', start: 5, end: 3 } },
}
for (const [title, placement] of Object.entries(attempts)) {
  const before = [session.log.length, session.surface.replaceGeneration, session.surface.entries.join()]
  try {
    say(session, 'never', placement)
    console.log(title, '-> taken')
  } catch (error) {
    const after = [session.log.length, session.surface.replaceGeneration, session.surface.entries.join()]
    console.log(title, '->', error.name + ':', error.message, String(before) === String(after) ? '(nothing changed)' : '(CHANGED)')
  }
}
say(session, 'all', { surfaceOp: { op: 'replace', start: 5, end: 3 }, sourceEventSeqs: [5, 3] })
show(session, 'start 5 is the larger number')
`

const AT_END = String.raw`import { open, say, show } from './surface.mjs'

const session = open()
for (const word of ['zero', 'one', 'two', 'three', 'four']) say(session, word)
say(session, 'the end, in short', { surfaceOp: { op: 'replace', start: 3, end: 4 }, sourceEventSeqs: [3, 4] })
show(session, 'a replace at the end')
say(session, 'one only', { surfaceOp: { op: 'replace', start: 1, end: 1 }, sourceEventSeqs: [1] })
show(session, 'a replace of one entry')
say(session, 'everything', { surfaceOp: { op: 'replace', start: 0, end: 5 }, sourceEventSeqs: [0, 6, 2, 5] })
show(session, 'a replace of everything')
console.log('generation', session.surface.replaceGeneration, 'log', session.log.length, 'still there:', session.log.at(0).data.content[0].text)
`

const REWRITE = String.raw`import { open, say, show } from './surface.mjs'

const session = open()
session.append('turn/start', { turn: 1 })
say(session, 'list the files')
session.append('step/start', { turn: 1, step: 1 })
const call = { type: 'tool-call', id: 'c1', name: 'shell', arguments: '{"command":"ls"}' }
session.append('assistant/message', { turn: 1, step: 1, content: [call], provider: 'p', model: 'm', finish: 'tool-calls' }, { surfaceOp: 'append' })
session.append('tool/call', { turn: 1, step: 1, callId: 'c1' })
const data = { turn: 1, step: 1, callId: 'c1', content: [{ type: 'text', text: 'a very long listing' }] }
const { seq } = session.append('tool/result', data, { surfaceOp: 'append' })
session.append('step/end', { turn: 1, step: 1 })
show(session, 'before')
const at = { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] }
for (const change of [{ callId: 'c2' }, { isError: true }, { step: 2 }]) {
  try {
    session.append('tool/result', { ...data, ...change }, at)
  } catch (error) {
    console.log(JSON.stringify(change), '->', error.message)
  }
}
session.append('tool/result', { ...data, content: [{ type: 'text', text: 'a very … listing' }] }, at)
show(session, 'after')
console.log(JSON.stringify(session.deriveMessages().at(-1)))
`

const LAWS = String.raw`import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { open, say } from './surface.mjs'

test('the messages array is shared while only appends happen', () => {
  const session = open()
  say(session, 'a')
  const before = session.deriveMessages()
  say(session, 'b')
  assert.equal(session.deriveMessages(), before)
  assert.equal(before.length, 2)
})

test('a replace makes a new array and leaves the old one as it was', () => {
  const session = open()
  say(session, 'a')
  say(session, 'b')
  const before = session.deriveMessages()
  say(session, 'ab', { surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs: [0, 1] })
  assert.equal(session.deriveMessages(), before)
})

test('random replaces replay to the same surface', () => {
  let state = 7
  const random = below => (state = (state * 48271) % 2147483647) % below
  const session = open()
  for (let round = 0; round < 300; round++) {
    const { entries } = session.surface
    if (entries.length < 3 || random(3) > 0) say(session, 'm' + round)
    else {
      const from = random(entries.length)
      const to = from + random(entries.length - from)
      say(session, 'r' + round, { surfaceOp: { op: 'replace', start: entries[from], end: entries[to] }, sourceEventSeqs: entries.slice(from, to + 1) })
    }
  }
  expectReplays(session)
  assert.ok(session.surface.replaceGeneration > 50)
})
`

const TODO = ['read surface, log and session', 'replace something and look', 'provoke every refusal', 'state the laws as tests', 'write scratch/replace.md'] as const
const progress = (done: number) => todo(...TODO.map((item, index) => `${index < done ? 'x' : index === done ? '>' : '-'} ${item}`))

export const replace: readonly Line[] = [
  person(`Now the heart of it. Trace how a replace works on the surface, from session.append to what the model is sent. I want to understand seq versus position, what is refused, and what happens to an array of messages that somebody kept. Prove what you claim by running something, and put it into scratch/replace.md.`),
  thought('Read first: events and fold for the types, surface for the operation, log and session for the order of things, messages for what is derived. Then experiments.',
    'I read the types before the operation: what an event may say about the surface, and what a fold is told.',
    progress(0), read('packages/core/session/src/events.ts'), read('packages/core/session/src/fold.ts')),
  step('Only three event types may carry a `surfaceOp`; everything else is invisible to the model. A replace names two seqs, and the comment warns that the start may be the larger number. Now the operation itself.',
    read('packages/core/session/src/surface.ts')),
  step('`plan` judges and changes nothing, `commit` carries out a plan and cannot fail. Positions are looked up in a map of slots, so a replace at the head does not have to renumber everything behind it. Who calls them, and in which order?',
    read('packages/core/session/src/log.ts'), search('\\.(plan|commit)\\(', 'packages')),
  step('The log plans, takes the event in, and remembers only what replaces did. One level up, the session.',
    read('packages/core/session/src/session.ts')),
  step('So an append freezes a copy, plans it, hands it to the sink, and only then changes anything. What the model is sent is derived elsewhere.',
    read('packages/core/session/src/messages.ts'), search('deriveMessages\\(\\)|messagesFold', 'packages/core/session/src')),
  thought('Enough reading to predict: after replacing 0..2 by event 5, the entries should be 5, 3, 4 at positions 0, 1, 2. Check by running. Shared helpers go into a module of their own.',
    'My prediction: five messages 0 to 4, then a replace of 0..2 by event 5, give the entries 5 3 4, with 5 at position 0. A few helpers and a first experiment.',
    progress(1), write('scratch/surface.mjs', PRELUDE), write('scratch/replace-1.mjs', FIRST)),
  step('Run it.', badly(shell('node scratch/replace-1.mjs'))),
  step(results => `Refused, and the message says why: "${found(results[0], /InvalidEventError: (.*)/)}". A replacing event has to name everything it was made from, at least every seq it shadows. I left that out.`,
    edit('scratch/replace-1.mjs', '{ surfaceOp: { op: \'replace\', start: 0, end: 2 } }', '{ surfaceOp: { op: \'replace\', start: 0, end: 2 }, sourceEventSeqs: [0, 1, 2] }')),
  step('Again.', shell('node scratch/replace-1.mjs')),
  person('While you are at it: also show me what happens when the replaced span is at the end, and when it is everything there is.'),
  step(results => {
    return `The prediction holds: ${found(results[0], /(after replacing .*)/).replace(/\s+/g, ' ')}. Seq is identity and stays; position is order and moves. Now the two cases you ask for, and a replace of a single entry.`
  },
    write('scratch/replace-2.mjs', AT_END), shell('node scratch/replace-2.mjs')),
  step(results => {
    const last = found(results[0], /(generation .*)/)
    return `At the end, in the middle, or all of it: the entry takes the place of its span, and the next append goes behind it. The last line (\`${last}\`) shows that the log lost nothing. Next: what is refused, and whether a refusal leaves a trace.`
  },
    progress(2), write('scratch/replace-3.mjs', REFUSALS), shell('node scratch/replace-3.mjs')),
  step(results => {
    const refused = linesOf(results[0]).filter(line => line.includes('(nothing changed)')).length
    return `${refused} refusals, each naming the offending value, and after each one log, generation and entries were as before. The last lines show a legal replace whose start (5) is a larger number than its end (3): order is by position. Where do the checks of an event's shape live?`
  },
    shell(String.raw`ls packages/core/session/src; git grep -n 'InvalidEventError' -- packages/core/session/src | head -30`),
    shell(`git grep -n 'sourceEventSeqs' -- 'packages/*/*/src/*.ts' | head -40`)),
  step('A rewritten tool result has a rule of its own: it may replace one tool result only, and nothing but its content may differ. That is what a pruner needs, so I check it as well.',
    write('scratch/replace-4.mjs', REWRITE), shell('node scratch/replace-4.mjs')),
  step('Each forbidden change was refused by name and the content change went through; the message derived from it still answers the same call. Now the claims about arrays and replays, as tests. I write down what I believe about a kept array.',
    progress(3), write('scratch/replace.test.mjs', LAWS)),
  step('Run the tests.', badly(shell('node --test --test-reporter=tap scratch/replace.test.mjs'))),
  thought('The second test failed. The name of the test says the right thing (a new array) but the assertion compares with the old one: the assertion contradicts its title.',
    results => `${found(results[0], /# pass (\d+)/)} pass, ${found(results[0], /# fail (\d+)/)} fails, and it is my test: the title says that a replace makes a new array, the assertion demands the same one. What should hold is that they differ and that the old one still has its two messages.`,
    edit('scratch/replace.test.mjs', `  assert.equal(session.deriveMessages(), before)\n})\n\ntest('random`,
      `  assert.notEqual(session.deriveMessages(), before)\n  assert.equal(before.length, 2)\n  assert.equal(session.deriveMessages().length, 1)\n})\n\ntest('random`)),
  step('Once more.', shell('node --test --test-reporter=tap scratch/replace.test.mjs')),
  step('All green, including three hundred random operations that replay to the same surface. How does a fold hear of a replace? I look at one that keeps prices or pairs and at the helper that compares live with replayed state.',
    read('packages/core/session/src/testing.ts'), shell(`git grep -n 'change.removed' -- 'packages/*/*/src/*.ts'`)),
  step('A fold is told `{at, removed}` and nothing else, so each can follow a replace in its own way. I also want to see the observer side, because an observer that appends would re-enter.',
    shell(String.raw`cat > scratch/replace-5.mjs <<'EOF'
import { Session } from '@deepseek-ai/dsh-session'

const heard = []
const session = new Session({
  header: { id: 'observed', createdAt: 0 },
  now: () => 0,
  observer: {
    event(event) {
      heard.push(event.seq + ' ' + event.type)
      if (event.type === 'turn/start') session.append('turn/end', { turn: 1, reason: 'completed' })
    },
    flushed() {},
  },
})
session.append('user/message', { content: [{ type: 'text', text: 'hello' }], source: { kind: 'user' } }, { surfaceOp: 'append' })
console.log(heard)
console.log(Object.isFrozen(session.log.at(0)), Object.isFrozen(session.log.at(0).data.content[0]))
session.append('turn/start', { turn: 1 })
EOF
echo written`), badly(shell('node scratch/replace-5.mjs'))),
  step(results => `As hoped it is refused: "${found(results[1], /Error: (.*)/)}". Events are frozen to the bottom, too. That is all I need for the notes.`,
    progress(4), write('scratch/replace.md', `# How a replace works

1. \`session.append\` makes a frozen candidate with the next seq and asks the surface for a plan. A refusal throws here; log, surface, folds and sink are untouched (replace-3.mjs).
2. The sink takes the event, then the log grows, then the surface follows, then the observer hears of it. An observer may not append (replace-5.mjs).
3. A replace names two *seqs* that are on the surface. Their order is judged by *position*, so the start may be the larger number. The new entry stands where the span stood (replace-1.mjs, replace-2.mjs).
4. \`sourceEventSeqs\` must list at least every shadowed seq, each once and each earlier than the event.
5. A tool result may replace one tool result only, and only its content may differ (replace-4.mjs).
6. \`deriveMessages()\` gives a shared array: appends extend it, a replace makes a new one (replace.test.mjs). Whoever keeps it must slice it.
7. Nothing leaves the log. Folds are told where the entry landed and which seqs left.
`)),
  step('A last run of everything the notes refer to, so that they are true as they stand.',
    shell('for n in 1 2 3 4; do node scratch/replace-$n.mjs > /dev/null && echo "replace-$n ok"; done; node --test --test-reporter=tap scratch/replace.test.mjs | grep "^# "'), progress(5)),
  answer(results => `The trace is in scratch/replace.md, with five small programs and a test file beside it. ${found(results[0], /# pass (\d+)/)} tests pass.

In one breath: append plans on the surface before anything changes; a replace names seqs and is judged by positions; the new entry takes the place of its span whether that is the head, the middle, the end or everything; the log keeps all of it. A kept array of messages grows with appends but is never rewritten: after a replace there is a new array.`),
]
