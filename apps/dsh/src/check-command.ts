/**
 * `dsh check`: every violated invariant of a session log, a line each.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import { checkSessionFile, type CheckedLog } from './check.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'

export async function checkCommand(path: string): Promise<ExitCode> {
  const { events, violations, notices } = await readable(path)
  for (const notice of notices) process.stderr.write(`${notice}\n`)
  for (const { seq, invariant, message } of violations) process.stdout.write(`${path}: event ${seq} (${invariant}): ${message}\n`)
  if (violations.length > 0) return EXIT.violation
  process.stdout.write(`${path}: ${events} events, no violation\n`)
  return EXIT.clean
}

async function readable(path: string): Promise<CheckedLog> {
  try {
    return await checkSessionFile(path)
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}
