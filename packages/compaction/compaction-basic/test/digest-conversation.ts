import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm'
import type { DigestEntry } from '../src/digest.ts'

export const PLENTY = 1_000_000

/** Four characters a token. */
export const quarter = (text: string): number => Math.ceil(text.length / 4)

/**
 * A conversation written as lines: `u:` a person, `x:` context, `k:` a checkpoint, `a:` an answer, `c:NAME JSON` a call,
 * `a:TEXT ¦ c:NAME JSON ¦ c:…` an answer with calls, `r:` the result of the oldest call without one (`r!:` a failed one).
 * Seqs number the lines from `firstSeq`.
 */
export function conversation(...lines: readonly string[]): DigestEntry[] {
  return numbered(lines, 0)
}

export function numbered(lines: readonly string[], firstSeq: number): DigestEntry[] {
  let open: string[] = []
  return lines.map((line, index) => {
    const seq = firstSeq + index
    const [, kind, body] = /^(\w!?):([\s\S]*)$/.exec(line)!
    const text: ContentBlock[] = [{ type: 'text', text: body! }]
    const entry = (from: DigestEntry['from'], role: Message['role'], content: ContentBlock[]): DigestEntry => ({ seq, from, message: { role, content } })
    if (kind === 'u') return entry('person', 'user', text)
    if (kind === 'x') return entry('context', 'user', text)
    if (kind === 'k') return entry('checkpoint', 'user', text)
    if (kind === 'r' || kind === 'r!') {
      return entry('tool', 'tool', [{ type: 'tool-result', toolCallId: open.shift() ?? 'none', content: text, ...(kind === 'r!' && { isError: true }) }])
    }
    open = []
    return entry('assistant', 'assistant', line.split(' ¦ ').map((part, partIndex): ContentBlock => {
      const [, name, args] = /^c:(\S+) ([\s\S]*)$/.exec(part) ?? []
      if (name === undefined) return { type: 'text', text: part.slice(2) }
      const id = `${seq}.${partIndex}`
      open.push(id)
      return { type: 'tool-call', id, name, arguments: args! }
    }))
  })
}
