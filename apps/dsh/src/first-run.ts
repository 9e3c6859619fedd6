/**
 * The first run: nothing here has a key yet. One screen says what is understood, and offers to show what this is without one.
 */
import { once } from 'node:events'
import type { ReadStream } from 'node:tty'
import { watchDemo } from './demo.ts'
import type { CompositionFlags } from './composition.ts'
import { EXIT, type ExitCode } from './exit.ts'
import { MODEL_VARIABLES, variableLines } from './variables.ts'

export async function firstRun(flags: CompositionFlags): Promise<ExitCode> {
  process.stdout.write(`${screen(process.stdout.columns)}\n`)
  const wants = await answered(process.stdin)
  return wants ? watchDemo(flags) : EXIT.clean
}

/** Within 80 columns and 24 rows: a long line is cut rather than wrapped. */
function screen(columns = 80): string {
  return [
    "dsh is a coding agent whose conversations outlive the model's context window.",
    'No model has a key here. These variables are understood:',
    '',
    ...variableLines(MODEL_VARIABLES, () => '  '),
    '',
    'For example: export DEEPSEEK_API_KEY=… and start again. More: dsh doctor',
    '',
    'Enter  watch a recorded session in a window far too small for it; no key needed',
    'q      quit',
  ].map(line => (line.length <= columns ? line : `${line.slice(0, columns - 1)}…`)).join('\n')
}

const YES = new Set(['\r', '\n'])
/** q, Escape, Ctrl+C, Ctrl+D. */
const NO = new Set(['q', 'Q', '\u001b', '\u0003', '\u0004'])

/** True for Enter, false for any way out; other keys are nobody's intent. */
async function answered(terminal: ReadStream): Promise<boolean> {
  terminal.setRawMode(true)
  terminal.resume()
  try {
    for (;;) {
      const [bytes] = (await once(terminal, 'data')) as [Buffer]
      const keys = bytes.toString()
      if (YES.has(keys)) return true
      if (NO.has(keys)) return false
    }
  } finally {
    terminal.pause()
    terminal.setRawMode(false)
  }
}
