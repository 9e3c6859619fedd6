/**
 * `dsh check`: every violated invariant of a session log, a line each; `--salvage` saves what holds of a damaged one.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import { salvageSessionFile } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { checkSessionFile } from './check.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'

export async function checkCommand(path: string): Promise<ExitCode> {
  const { events, violations, notices } = await readable(() => checkSessionFile(path))
  for (const notice of notices) process.stderr.write(`${notice}\n`)
  for (const { seq, invariant, message } of violations) process.stdout.write(`${path}: event ${seq} (${invariant}): ${message}\n`)
  if (violations.length > 0) return EXIT.violation
  process.stdout.write(`${path}: ${events} events, no violation\n`)
  return EXIT.clean
}

/** Exits clean when nothing had to be left out, so that a script can tell. */
export async function salvageCommand(path: string, out: string): Promise<ExitCode> {
  const { keptEvents, addedEvents, damage } = await readable(() => salvageSessionFile(path, out))
  process.stdout.write(`${out}: ${keptEvents} events of ${path}, and ${addedEvents} that complete them\n`)
  if (damage === null) return EXIT.clean
  process.stdout.write(`left out: ${damage}\n`)
  return EXIT.violation
}

async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}
