/**
 * What was piped in: a prompt, or context beside one.
 */
import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** Longer input keeps its head and its tail. */
const MAX_CONTEXT_CHARS = 100_000
const TAIL_CHARS = 30_000

/** A pipe whose writer neither writes nor closes looks like a command that hangs; after so long a word is due. */
const PATIENCE_MS = 3_000

/** Whether somebody redirected or piped something in; not so for a terminal, nor for /dev/null. */
export function isPiped(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFile() || stat.isFIFO() || stat.isSocket()
  } catch {
    return false // closed
  }
}

/** All of it. */
export async function readStdin(): Promise<string> {
  const impatience = setTimeout(() => {
    process.stderr.write('dsh: waiting for the end of stdin; redirect it from /dev/null when there is nothing to read\n')
  }, PATIENCE_MS)
  try {
    return await text(process.stdin)
  } finally {
    clearTimeout(impatience)
  }
}

/** As a model is shown it: labelled, and within bounds. */
export function pipedContext(input: string): string {
  const left = input.length - MAX_CONTEXT_CHARS
  const shown = left <= 0 ? input : `${input.slice(0, MAX_CONTEXT_CHARS - TAIL_CHARS)}\n[… ${left} characters left out …]\n${input.slice(-TAIL_CHARS)}`
  return `Piped in with the request:\n<stdin>\n${shown.trimEnd()}\n</stdin>`
}
