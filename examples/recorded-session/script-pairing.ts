/** A request: which cuts are safe, and what a compaction locks. */
import { answer, badly, edit, found, linesOf, person, read, search, shell, step, thought, todo, write, type Line } from './notation.ts'

const CUTS = String.raw`import { toolPairingBalancedAfter, toolPairingBalancedBefore } from '@deepseek-ai/dsh-compaction'
import { open, say } from './surface.mjs'

/** Draws a conversation: u a user message, a an answer, c1+2 an answer with calls 1 and 2, r1 the result of call 1. */
export function draw(picture) {
  const session = open()
  for (const word of picture.split(' ')) {
    if (word === 'u') say(session, 'hello')
    else if (word.startsWith('r')) {
      session.append('tool/result', { turn: 1, step: 1, callId: word.slice(1), content: [{ type: 'text', text: 'ok' }] }, { surfaceOp: 'append' })
    } else {
      const ids = word === 'a' ? [] : word.slice(1).split('+')
      const content = ids.length === 0 ? [{ type: 'text', text: 'done' }] : ids.map(id => ({ type: 'tool-call', id, name: 'shell', arguments: '{}' }))
      session.append('assistant/message', { turn: 1, step: 1, content, provider: 'p', model: 'm', finish: ids.length === 0 ? 'stop' : 'tool-calls' }, { surfaceOp: 'append' })
    }
  }
  return session
}

/** The picture with a bar at every safe cut. */
export function safeCuts(session, picture) {
  const words = picture.split(' ')
  const { entries } = session.surface
  return words.map((word, index) => (toolPairingBalancedBefore(session, entries[index]) ? '| ' : '  ') + word).join(' ')
    + (toolPairingBalancedAfter(session, entries.at(-1)) ? ' |' : '')
}
`

const PICTURES = String.raw`import { draw, safeCuts } from './cuts.mjs'

for (const picture of ['u a u', 'u c1 r1 u', 'u c1+2 r1 r2 a', 'u c1+2 r2 r1 a', 'u c1 r1 c1 r1 a', 'u c1+1 r1 r1 a', 'u c1', 'u c1+2 r1', 'u c1 u r1 a']) {
  console.log(safeCuts(draw(picture), picture))
}
`

const FAULTS = String.raw`import { toolPairingBalancedBefore } from '@deepseek-ai/dsh-compaction'
import { draw } from './cuts.mjs'

const attempts = {
  'a seq that is not there': () => toolPairingBalancedBefore(draw('u a'), 99),
  'an orphan result': () => toolPairingBalancedBefore(draw('u r1 a'), 0),
  'a result answered twice': () => toolPairingBalancedBefore(draw('u c1 r1 r1'), 0),
}
for (const [title, attempt] of Object.entries(attempts)) {
  for (const round of [1, 2]) {
    try {
      console.log(title, '->', attempt())
    } catch (error) {
      console.log(title + ', asked ' + (round === 1 ? 'once' : 'again'), '->', error.message)
    }
  }
}
`

const LOCK = String.raw`import { compactionInvariant, liveCompaction } from '@deepseek-ai/dsh-compaction'
import { checkLog, Session, sessionInvariant } from '@deepseek-ai/dsh-session'
import { open, say } from './surface.mjs'

const session = open()
say(session, 'hello')
console.log('at rest                 ', liveCompaction(session))
session.append('compaction/start', { turn: null, trigger: 'manual' })
console.log('after start             ', liveCompaction(session))
say(session, 'something injected meanwhile')
console.log('after an injected message', liveCompaction(session)?.startSeq)
const inherited = new Session({ header: { id: 'child', createdAt: 0 }, seed: session.log.from(0), now: () => 0 })
console.log('inherited, after end-seed', liveCompaction(inherited), inherited.log.at(inherited.log.length - 1).type)
session.append('compaction/end', { startSeq: 1, turn: null, error: 'tried and failed', code: 'summary' })
console.log('after end               ', liveCompaction(session))

session.append('compaction/start', { turn: null, trigger: 'manual' })
session.append('compaction/start', { turn: 7, trigger: 'manual' })
session.append('turn/start', { turn: 1 })
for (const { seq, invariant, message } of checkLog(session.log.from(0), [sessionInvariant, compactionInvariant])) console.log('seq', seq, invariant + ':', message)
`

const LAWS = String.raw`import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolPairingBalancedBefore } from '@deepseek-ai/dsh-compaction'
import { draw } from './cuts.mjs'
import { say } from './surface.mjs'

test('the cut at the very beginning is always safe', () => {
  for (const picture of ['u', 'c1 r1', 'c1+2 r2 r1 u']) assert.equal(toolPairingBalancedBefore(draw(picture), 0), true)
})

test('replacing whole units leaves the rest as safe as it was', () => {
  const session = draw('u c1 r1 u c2 r2 a')
  const before = [3, 4, 5, 6].map(seq => toolPairingBalancedBefore(session, seq))
  say(session, 'checkpoint', { surfaceOp: { op: 'replace', start: 0, end: 2 }, sourceEventSeqs: [0, 1, 2] })
  assert.deepEqual([3, 4, 5, 6].map(seq => toolPairingBalancedBefore(session, seq)), before)
})

test('replacing a call without its result leaves an orphan, and every question says so', () => {
  const session = draw('u c1 r1 u')
  say(session, 'checkpoint', { surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs: [0, 1] })
  assert.equal(toolPairingBalancedBefore(session, 3), true)
})
`

const TODO = ['read pairing, lock, events, invariant', 'draw safe cuts', 'faults', 'the lock', 'write scratch/pairing.md'] as const
const progress = (done: number) => todo(...TODO.map((item, index) => `${index < done ? 'x' : index === done ? '>' : '-'} ${item}`))

export const pairing: readonly Line[] = [
  person('Next, compaction. Which cuts of a conversation are safe, how does the code know, and what exactly is the lock? Draw me pictures rather than prose, with doubled call ids and parallel calls in them.'),
  step('Pairing and lock are two small folds in the contract package. I read both with the events they look at.',
    progress(0), read('packages/compaction/compaction/src/pairing.ts'), read('packages/compaction/compaction/src/lock.ts')),
  step('A cut is safe when no call is open across it, and the count is kept for every cut, so a question costs nothing. The events, the invariant and the door:',
    read('packages/compaction/compaction/src/events.ts'), read('packages/compaction/compaction/src/invariant.ts'), read('packages/compaction/compaction/src/index.ts')),
  thought('Write a small notation: u, a, c1+2, r1. Print the picture with a bar wherever the cut is safe. Expected for parallel calls: a bar only after the last result, whatever the order of results.',
    'A notation first: `u` and `a` are messages, `c1+2` an answer with two calls, `r1` a result; the output is the same picture with a bar at every safe cut. With parallel calls I expect no bar before the last result, in whatever order they come.',
    progress(1), write('scratch/cuts.mjs', CUTS), write('scratch/pairing-1.mjs', PICTURES)),
  step('Draw them.', shell('node scratch/pairing-1.mjs')),
  step(results => {
    return `The pictures say it: calls and all their results stay together, an unanswered call leaves the end unsafe, and ids may repeat (\`${found(results[0], /(.*c1\+1.*)/)}\`), because a result answers the nearest open occurrence of its id. What about conversations that are broken?`
  },
    progress(2), write('scratch/pairing-2.mjs', FAULTS), shell('node scratch/pairing-2.mjs')),
  step('Faults are errors, again on every call, and they name the seq. A fold never throws, so the fault waits in the state until somebody asks. Next the lock, including a child session that inherits an unfinished compaction.',
    progress(3), write('scratch/pairing-3.mjs', LOCK), shell('node scratch/pairing-3.mjs')),
  step(results => `The lock is read from the log and from nowhere else: a start without its end, newer than the newest end-seed. The child inherited the unmatched start and is not blocked. The last lines are the invariant's findings about my deliberately bad ending (${linesOf(results[0]).filter(line => line.startsWith('seq')).length} of them). Who asks for the lock?`,
    search('liveCompaction\\(|lockFold', 'packages'), search('openCallsAt\\(|toolPairingBalanced(Before|After)\\(', 'packages')),
  step('Now the same as tests. The interesting one is a replace that parts a call from its result.',
    write('scratch/pairing.test.mjs', LAWS), badly(shell('node --test --test-reporter=tap scratch/pairing.test.mjs'))),
  thought('The third test: title says every question reports the orphan, the body expects true. The library throws, as its comment promises. So the assertion has to be a throws.',
    'The library does what its comment promises and my assertion does not: after a call has been replaced without its result there is an orphan, and the query throws. The test has to expect exactly that.',
    edit('scratch/pairing.test.mjs', '  assert.equal(toolPairingBalancedBefore(session, 3), true)\n})\n', '  assert.throws(() => toolPairingBalancedBefore(session, 3), /answers no call/)\n  assert.throws(() => toolPairingBalancedBefore(session, 3), /answers no call/)\n})\n'),
    shell('node --test --test-reporter=tap scratch/pairing.test.mjs')),
  step('Green. The surface itself allowed that replace: keeping pairs whole is the business of whoever chooses the cut. So how is a cut chosen?',
    shell('git ls-files packages/compaction/compaction-basic/src'), read('packages/compaction/compaction-basic/src/retention.ts')),
  step('The choice walks back from the newest entry until the tail is large enough and the cut is safe; null means that there is nothing to summarize yet. And around it, the transaction that writes start, summary, replacement and end:',
    shell(String.raw`for f in transaction checkpoint pins; do test -f packages/compaction/compaction-basic/src/$f.ts && { echo "== $f"; sed -n '1,40p' packages/compaction/compaction-basic/src/$f.ts; }; done; true`),
    shell(`git grep -nE "'compaction/(start|summary|end)'" -- 'packages/*/*/src/*.ts' | cut -c1-170`)),
  step('I try the cut on a drawn surface with prices of ten tokens an entry, asking for more and more tail.',
    write('scratch/pairing-4.mjs', String.raw`import { openCallsAt } from '../packages/compaction/compaction/src/pairing.ts'
import { retentionCut } from '../packages/compaction/compaction-basic/src/retention.ts'
import { draw } from './cuts.mjs'

const picture = 'u c1 r1 c2+3 r2 r3 a u c4 r4'
const session = draw(picture)
const words = picture.split(' ')
const surface = { length: words.length, tokens: () => 10, openCalls: cut => openCallsAt(session, cut) }
for (const retainTokens of [0, 10, 20, 30, 40, 60, 80, 100, 200]) {
  const cut = retentionCut(surface, retainTokens)
  console.log(String(retainTokens).padStart(4), cut === null ? 'nothing to summarize' : words.slice(0, cut).join(' ') + '  |  ' + words.slice(cut).join(' '))
}
`), shell('node scratch/pairing-4.mjs')),
  step('Never a bar inside a step, and a tail that grows to the start of the unit in which the budget ends. That completes the picture; the notes:',
    progress(4), shell(String.raw`{ echo '# Safe cuts and the lock'; echo; echo 'A bar marks a safe cut.'; echo '~~~'; node scratch/pairing-1.mjs; echo '~~~'; echo 'Broken conversations are errors, on every call:'; echo '~~~'; node scratch/pairing-2.mjs; echo '~~~'; echo 'Retained tail by budget, ten tokens an entry:'; echo '~~~'; node scratch/pairing-4.mjs; echo '~~~'; echo 'The lock is the newest compaction/start without its end, newer than the newest session/end-seed.'; } > scratch/pairing.md; cat scratch/pairing.md`)),
  step('All items done; I tick the list.', progress(5), shell('ls scratch')),
  answer(`scratch/pairing.md has the pictures.

- A cut is safe when no tool call is open across it. Parallel calls keep all their results with them, in whatever order these come; ids may repeat.
- A result without a call is an error each time somebody asks, never a wrong answer.
- The surface would let you replace a call without its result; the engine chooses cuts so that this does not happen.
- The lock is nothing but the log: a \`compaction/start\` without its end. A session that inherits one is not blocked by it.`),
]
