import { checkLog, completeInterruptedTurn, Session } from '@deepseek-ai/dsh-session'
import { toolsInvariant } from '@deepseek-ai/dsh-tools'
import { expect, it } from 'vitest'

/**
 * What is wrong with one step that calls a and b, and goes on as drawn: `a!` a begins, `a=` its result, `a=CODE` one with an
 * error. The answer is event 2.
 */
function violations(drawing: string): string[] {
  const session = step()
  for (const word of drawing.split(' ').filter(part => part !== '')) {
    const at = { turn: 1, step: 1, callId: word[0]! }
    const code = word.slice(2)
    if (word[1] === '!') session.append('tool/call', at)
    else session.append('tool/result', { ...at, content: [], ...(code !== '' && { isError: true, error: { name: 'Error', code } }) }, { surfaceOp: 'append' })
  }
  return violationsOf(session)
}

function step(): Session {
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  session.append('turn/start', { turn: 1 })
  session.append('step/start', { turn: 1, step: 1 })
  const content = ['a', 'b'].map(id => ({ type: 'tool-call', id, name: 'look', arguments: '{}' }) as const)
  session.append('assistant/message', { turn: 1, step: 1, content, provider: 'p', model: 'm', finish: 'tool-calls' }, { surfaceOp: 'append' })
  return session
}

const violationsOf = (session: Session): string[] => checkLog(session.log.from(0), [toolsInvariant]).map(({ seq, message }) => `${seq}: ${message}`)

it.each([
  ['calls that begin and are answered', 'a! b! a= b='],
  ['results in another order', 'a! b! b= a='],
  ['a call that fails', 'a! a=TOOL_FAILED'],
  ['calls that were cancelled before they began', 'a=ABORTED b=ABORTED'],
  ['a call that was cancelled after it began', 'a! a=ABORTED'],
  ['a call that a crash kept from beginning', 'a=TOOL_NOT_STARTED'],
  ['a call whose outcome a crash took away', 'a! a=TOOL_OUTCOME_UNKNOWN'],
  ['a result of a call that nobody made, which others report', 'x='],
])('finds nothing in %s', (_title, drawing) => {
  expect(violations(drawing)).toEqual([])
})

it.each([
  ['a result without its call', 'a=', '3: a result for a, and no tool/call says that it was begun'],
  ['a failure without its call', 'b=TOOL_FAILED', '3: a result for b, and no tool/call says that it was begun'],
  ['an unknown outcome without its call', 'a=TOOL_OUTCOME_UNKNOWN', '3: a result for a, and no tool/call says that it was begun'],
  ['a result before its call', 'b! a= a!', '4: a result for a, and no tool/call says that it was begun'],
  ['a call that began and is said not to have', 'a! a=TOOL_NOT_STARTED', '4: a result says that a was not begun, and a tool/call that it was'],
])('finds %s', (_title, drawing, expected) => {
  expect(violations(drawing)).toEqual([expected])
})

it('agrees with what completes an interrupted turn', () => {
  const interrupted = step()
  interrupted.append('tool/call', { turn: 1, step: 1, callId: 'a' })
  const session = new Session({ header: interrupted.header, seed: interrupted.log.from(0) })
  completeInterruptedTurn(session)
  expect([...session.log.from(0)].filter(({ type }) => type === 'tool/result')).toHaveLength(2)
  expect(violationsOf(session)).toEqual([])
})
