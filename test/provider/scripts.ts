/** Scripts by name, for a provider that runs as a process of its own. */
import { asksForSummary, type Act, type Answer, type Script } from './script.ts'
import type { ProviderRequest } from './prompt.ts'

const SUMMARY = `## Primary Request and Intent
What was asked for is being done.

## Current Work
Everything up to here was read, and nothing of it is left open.`

/** Each call makes one for a server of its own: some remember how far they are. */
export const SCRIPTS: { readonly [name: string]: () => Script } = {
  /** Repeats what it is told. */
  echo: () => summaries(lastWords),
  /** The same, slowly: every word waits at the gate `word`, and a summary at the gate `summary`. */
  gated: () => request => (asksForSummary(request) ? [{ wait: 'summary' }, { text: SUMMARY }] : lastWords(request).split(/(?<=\s)/).flatMap((word): Act[] => [{ wait: 'word' }, { text: word }])),
  /** Calls the first tool that it is given with what a person says as JSON arguments, and repeats what the tool answers. */
  tools: () => summaries(request => {
    const { messages, tools } = request
    const last = messages.at(-1)!
    if (last.role === 'tool' || tools.length === 0) return lastWords(request)
    return [{ reasoning: 'A tool can do this.' }, { call: { name: tools[0]!, arguments: last.text } }]
  }),
  parts,
}

/** Reads `part-1.txt` and so on with the shell, one after the other, and notes in `codes.txt` the word that each hides. */
export function parts(): Script {
  let part = 0
  const shell = (command: string): Act[] => [{ reasoning: 'Next.' }, { call: { name: 'shell', arguments: { command } } }]
  return summaries(({ messages }) => {
    const { text } = messages.at(-1)!
    const [, code] = /^code: (\w+)$/m.exec(text) ?? []
    if (code !== undefined) return shell(`echo ${code} >> codes.txt`)
    part += 1
    return /No such file/.test(text) ? 'finished' : shell(`cat part-${part}.txt`)
  })
}

function summaries(otherwise: (request: ProviderRequest) => Answer): Script {
  return request => (asksForSummary(request) ? SUMMARY : otherwise(request))
}

function lastWords({ messages }: ProviderRequest): string {
  return messages.at(-1)!.text || '…'
}
