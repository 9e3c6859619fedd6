/**
 * The coding agent: a plugin of its own whose sections say what the agent is, where it works, and what its project asks for.
 *
 * What a session is told stays the same for as long as it lives: the date is that of its beginning, and the project's
 * instructions are read once a process. Resumed, it sends the same prompt again, unless those instructions were edited.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Session } from '@deepseek-ai/dsh-session'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROLE = `You are dsh, a coding agent in a terminal. You work for the person who writes to you, with the tools you are given.

- Look before you change: search, then read. Never guess what a file says.
- Read, write, edit, list and search files with the tools for that; use the shell to run things.
- Call tools that do not depend on each other in one message.
- Change as little as the task needs, in the style of what is around it, and check it: run what shows that it works.
- A call that was refused was refused by the person or for them. Do not look for a way around it: go on without it, or ask.
- Older parts of the conversation may be replaced by a summary. Build on it, and read a file again where its exact text matters.
- Be brief, in the person's language. Say what was done, what was not and what remains, naming files as path:line.`

/** The first that is there counts. */
const INSTRUCTION_FILES = ['AGENTS.md', 'CLAUDE.md']

/** Room for pages of rules; more than that is for the agent to read when it needs it. */
const MAX_INSTRUCTION_CHARS = 32_000

/** Before what other plugins say. */
const ORDER = -100

export default function codingAgent(ctx: Context): void {
  const instructions = new WeakMap<Session, string>()
  ctx.systemPrompt.registerSection({ name: 'role', order: ORDER, text: ROLE })
  ctx.systemPrompt.registerSection({ name: 'place', order: ORDER + 1, text: placeOf })
  ctx.systemPrompt.registerSection({
    name: 'instructions',
    order: ORDER + 2,
    text: session => {
      const known = instructions.get(session) ?? instructionsIn(folderOf(session))
      instructions.set(session, known)
      return known
    },
  })
}
codingAgent.inject = ['systemPrompt']

function placeOf(session: Session): string {
  const began = new Date(session.header.createdAt).toISOString().slice(0, 'YYYY-MM-DD'.length)
  return `Working folder: ${folderOf(session)}\nPlatform: ${process.platform}\nThis session began on ${began}.`
}

function folderOf({ header: { cwd = process.cwd() } }: Session): string {
  return cwd
}

/** Empty where the folder has none that can be read. */
function instructionsIn(folder: string): string {
  for (const name of INSTRUCTION_FILES) {
    const text = textOf(join(folder, name)).trim()
    if (text === '') continue
    const shown = text.length <= MAX_INSTRUCTION_CHARS ? text : `${text.slice(0, MAX_INSTRUCTION_CHARS)}\n[${name} goes on; read it for the rest.]`
    return `Instructions for this folder, from ${name}:\n\n${shown}`
  }
  return ''
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // a folder of that name, or no right to read it: there is nothing to instruct with
  }
}
