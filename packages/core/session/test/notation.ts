/**
 * Logs drawn as text, one word an event:
 *
 *     T1 turn/start   t1 turn/end (completed)   S1 step/start   s1 step/end   H request/header   E session/end-seed
 *     u  user/message    a  assistant/message    a(x,y)  one that calls x and y    a()  one without content
 *     x! tool/call of x  x= tool/result of x
 *
 * `T1 u S1 H a(x,y) x! y! x= y= s1 S2 a s2 t1` is a turn of two steps. `@2.1` behind a step event puts it in turn 2, step 1,
 * whatever is open. `[0..2]` behind a surface event makes it a replace of the entries from seq 0 to seq 2, by position.
 * Every message's text is its word and its seq, so that all of them differ.
 */
import { Session, type SessionEvent, type SurfacePlacement } from '../src/index.ts'

export const TIME = 1_700_000_000_000

export function sessionOf(drawing: string): Session {
  const session = new Session({ header: { id: 'drawn', createdAt: TIME }, now: () => TIME })
  draw(session, drawing)
  return session
}

/** The events of a drawing as a reader of a stored log gets them: fresh, not frozen. */
export function eventsOf(drawing: string): SessionEvent[] {
  return copied(sessionOf(drawing).log.from(0))
}

export function copied(events: Iterable<SessionEvent>): SessionEvent[] {
  return JSON.parse(JSON.stringify([...events])) as SessionEvent[]
}

const WORD = /^(?:(?<boundary>[TtSs])(?<number>\d+)|(?<mark>[HE])|(?<message>[ua])(?:\((?<calls>[\w,]*)\))?|(?<id>\w+)(?<phase>[!=]))(?:@(?<where>\d+\.\d+))?(?:\[(?<start>\d+)\.\.(?<end>\d+)\])?$/

export function draw(session: Session, drawing: string): void {
  let turn = 0
  let step = 0
  for (const word of drawing.split(' ').filter(part => part !== '')) {
    const parts = WORD.exec(word)?.groups
    if (parts === undefined) throw new SyntaxError(`not an event: ${word}`)
    const [atTurn, atStep] = parts['where']?.split('.').map(Number) ?? [turn, step]
    const where = { turn: atTurn!, step: atStep! }
    const content = [{ type: 'text' as const, text: `${word} ${session.log.length}` }]
    const number = Number(parts['number'])
    if (parts['boundary'] === 'T') session.append('turn/start', { turn: (turn = number) })
    else if (parts['boundary'] === 't') session.append('turn/end', { turn: number, reason: 'completed' })
    else if (parts['boundary'] === 'S') session.append('step/start', { ...where, step: (step = number) })
    else if (parts['boundary'] === 's') session.append('step/end', { ...where, step: number })
    else if (parts['mark'] === 'E') session.append('session/end-seed', {})
    else if (parts['mark'] === 'H') session.append('request/header', { config: { provider: 'p', model: 'm' }, reason: 'initial' })
    else if (parts['phase'] === '!') session.append('tool/call', { ...where, callId: parts['id']! })
    else if (parts['phase'] === '=') session.append('tool/result', { ...where, callId: parts['id']!, content }, placed(session, parts))
    else if (parts['message'] === 'u') session.append('user/message', { content, source: { kind: 'user' } }, placed(session, parts))
    else session.append('assistant/message', { ...where, content: answer(content, parts['calls']), provider: 'p', model: 'm', finish: 'stop' }, placed(session, parts))
  }
}

function answer(text: readonly { type: 'text'; text: string }[], calls: string | undefined) {
  if (calls === '') return []
  return [...text, ...(calls?.split(',') ?? []).map(id => ({ type: 'tool-call' as const, id, name: 'tool', arguments: '{}' }))]
}

function placed(session: Session, { start, end }: { readonly [part: string]: string | undefined }): SurfacePlacement {
  if (start === undefined || end === undefined) return { surfaceOp: 'append' }
  const { entries } = session.surface
  const sourceEventSeqs = entries.slice(entries.indexOf(Number(start)), entries.indexOf(Number(end)) + 1)
  return { surfaceOp: { op: 'replace', start: Number(start), end: Number(end) }, sourceEventSeqs }
}
