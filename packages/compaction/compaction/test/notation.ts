import { Session, type Seq, type SessionEvent } from '@deepseek-ai/dsh-session'

const TIME = 1_700_000_000_000

export function newSession(seed?: Iterable<SessionEvent>): Session {
  return new Session({ header: { id: 'drawn', createdAt: TIME }, now: () => TIME, ...(seed === undefined ? {} : { seed }) })
}

/**
 * Appends one drawn entry: `u` a user message, `a` an assistant message without calls, `cab` one with the calls a and b, `ra`
 * a result for a.
 */
export function draw(session: Session, word: string, replacing?: { readonly start: Seq; readonly end: Seq; readonly all: readonly Seq[] }): Seq {
  const placement = replacing === undefined
    ? { surfaceOp: 'append' as const }
    : { surfaceOp: { op: 'replace', start: replacing.start, end: replacing.end } as const, sourceEventSeqs: replacing.all }
  const [, kind, ids] = /^([uacr])([a-z]*)$/.exec(word) ?? []
  const said = [{ type: 'text', text: word } as const]
  switch (kind) {
    case 'u':
      return session.append('user/message', { content: said, source: { kind: 'user' } }, placement).seq
    case 'a':
    case 'c': {
      const calls = [...ids!].map(id => ({ type: 'tool-call', id, name: 'look', arguments: '{}' }) as const)
      const answer = { turn: 1, step: 1, content: [...said, ...calls], provider: 'p', model: 'm', finish: calls.length > 0 ? 'tool-calls' : 'stop' } as const
      return session.append('assistant/message', answer, placement).seq
    }
    case 'r':
      return session.append('tool/result', { turn: 1, step: 1, callId: ids!, content: said }, placement).seq
    default:
      throw new SyntaxError(`not an entry: ${word}`)
  }
}

/** Puts a drawn entry in the place of the entries at positions [from, to]. */
export function redraw(session: Session, from: number, to: number, word: string): Seq {
  const all = session.surface.entries.slice(from, to + 1)
  return draw(session, word, { start: all[0]!, end: all.at(-1)!, all })
}

/** A surface drawn as text, a bar at every cut that is expected to be safe: `| u | cab ra rb | a |`. */
export function picture(text: string): { readonly session: Session; readonly safeCuts: number[] } {
  const session = newSession()
  const safeCuts: number[] = []
  for (const word of text.split(' ')) {
    if (word === '|') safeCuts.push(session.surface.entries.length)
    else draw(session, word)
  }
  return { session, safeCuts }
}
