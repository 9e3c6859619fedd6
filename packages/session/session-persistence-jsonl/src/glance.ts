/**
 * A glance: what a list says of a session, from both ends of its file, however long that is.
 *
 *     {"type":"session",…}⏎ {"seq":0,…}⏎ …            …  {"seq":n,…}⏎
 *     └── head: who said what first ──┘   unread    └── tail: the newest usage ──┘
 *
 * Pure. Lines that are cut, torn or damaged are passed over: a list shows what it can.
 */
import { promptTokens, textOf } from '@deepseek-ai/dsh-llm'
import { isPersonSource, type SessionEvent } from '@deepseek-ai/dsh-session'

const MAX_TITLE_CHARS = 200

/** The first words of a person, on one line; undefined where the head has none. */
export function titleOf(head: string): string | undefined {
  for (const line of head.split('\n')) {
    const title = line.includes('"user"') ? seen(line, words) : undefined
    if (title !== undefined) return title
  }
  return undefined
}

/** What the newest answer cost; undefined where the tail has none, or something was replaced on the surface since. */
export function tokensOf(tail: string): number | undefined {
  for (const line of tail.split('\n').reverse()) {
    if (line.includes('"op":"replace"') && seen(line, ({ surfaceOp }) => typeof surfaceOp === 'object')) return undefined
    const tokens = line.includes('"assistant/message"') ? seen(line, cost) : undefined
    if (tokens !== undefined) return tokens
  }
  return undefined
}

function words(event: SessionEvent): string | undefined {
  const said = event.type === 'user/message' ? event.data : event.type === 'inbox/spliced' ? event.data.inserted?.find(isPersons) : undefined
  if (said === undefined || !isPersons(said)) return undefined
  const text = textOf(said.content).trim().replaceAll(/\s+/g, ' ')
  return text === '' ? undefined : text.slice(0, MAX_TITLE_CHARS)
}

function isPersons({ source }: { readonly source: Parameters<typeof isPersonSource>[0] }): boolean {
  return isPersonSource(source)
}

function cost(event: SessionEvent): number | undefined {
  if (event.type !== 'assistant/message' || event.data.usage === undefined) return undefined
  return promptTokens(event.data.usage) + event.data.usage.outputTokens
}

/** What `look` finds in a line; undefined for one that holds no such event. */
function seen<T>(line: string, look: (event: SessionEvent) => T): T | undefined {
  try {
    return look(JSON.parse(line) as SessionEvent)
  } catch {
    return undefined
  }
}
