/**
 * `dsh sessions`: what is stored, who holds it, and going on with it.
 */
import type { Context } from '@deepseek-ai/cordis'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { Session } from '@deepseek-ai/dsh-session'
import { checkSessionId } from '@deepseek-ai/dsh-session-persistence'
import { readSessionFile, sessionsFolder, type SessionFile } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { compose } from './compose.ts'
import { withServices } from './composition.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'
import { listingLines, sessionLines } from './session-summary.ts'

export async function listSessions(dir = usualDir()): Promise<ExitCode> {
  return inFolder(dir, async ctx => {
    const lines = listingLines(await ctx.sessions.list(), Date.now())
    print(lines.length === 0 ? [`no sessions in ${dir}`] : lines)
  })
}

/** Reads without a lock, so that it works beside the session's writer. */
export async function showSession(dir = usualDir(), id: string): Promise<ExitCode> {
  try {
    const { header, events, notices } = await stored(dir, id)
    for (const notice of notices) process.stderr.write(`${notice}\n`)
    print(sessionLines(header, events))
    return EXIT.clean
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}

/** Takes the session over, completes an interrupted turn, and says how it stands. */
export async function resumeSession(dir = usualDir(), id: string): Promise<ExitCode> {
  return inFolder(dir, async ctx => {
    const session = await ctx.sessions.resume(id)
    await session.flush()
    print(linesOf(session))
  })
}

/** The source is only read, so it may be in use. @param at how many events the fork inherits; all by default. */
export async function forkSession(dir = usualDir(), id: string, at: number | undefined): Promise<ExitCode> {
  return inFolder(dir, async ctx => {
    const { header, events } = await stored(dir, id)
    const fork = await ctx.sessions.fork(new Session({ header, seed: events }), at ?? events.length)
    await fork.flush()
    print(linesOf(fork))
  })
}

/** Where the store keeps them when nobody says where. */
function usualDir(): string {
  return sessionsFolder(process.env, homedir())
}

/** Runs `task` on the sessions of a folder; what it refuses is told to the person who typed it. */
async function inFolder(dir: string, task: (ctx: Context) => Promise<void>): Promise<ExitCode> {
  const root = await compose({ sessionDir: dir })
  try {
    await withServices(root, ['sessions'], task)
    return EXIT.clean
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  } finally {
    await root.fiber.dispose()
  }
}

/** A session as its file has it, read without a lock. */
function stored(dir: string, id: string): Promise<SessionFile> {
  checkSessionId(id)
  return readSessionFile(join(dir, `${id}.jsonl`))
}

function linesOf(session: Session): string[] {
  return sessionLines(session.header, session.log.from(0))
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}
