/**
 * `dsh replay`: a recording read, replayed in a composition of its own, reported.
 */
import type { Context } from '@deepseek-ai/cordis'
import InvariantService from '@deepseek-ai/dsh-invariants'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { importTranscript, TranscriptError, type Transcript } from '@deepseek-ai/dsh-transcript'
import { copyFile, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from './compose.ts'
import { loadConfiguredSummarizer } from './configured-summarizer.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'
import { Progress } from './progress.ts'
import { replayReport } from './replay-outcome.ts'
import { violationsOf, type ReplayReport } from './replay-report.ts'
import { replay, type Replayed, type ReplayOptions, type ReplayProgress } from './replay.ts'
import { renderReport } from './report.ts'
import { scriptedSummarizer } from './scripted-summarizer.ts'
import type { SummarizerFault } from './summarizer-faults.ts'

export interface ReplayCommand {
  readonly file: string
  readonly windowTokens: number
  readonly maxTokens?: number | undefined
  readonly ignoreCompactions: boolean
  /** Who writes the checkpoints. */
  readonly summarizer: 'digest' | 'model'
  /** A scripted model writes them instead, and misbehaves so, in turn. */
  readonly summarizerFaults?: readonly SummarizerFault[] | undefined
  readonly invariants: boolean
  readonly json: boolean
  readonly requestsPath?: string | undefined
  readonly logPath?: string | undefined
}

export async function replayCommand(command: ReplayCommand): Promise<ExitCode> {
  const transcript = await readTranscript(command.file)
  if (command.logPath !== undefined) await writable(command.logPath, async path => (await open(path, 'a')).close())
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-replay-'))
  try {
    const { summarizerFaults } = command
    const summarizer = summarizerFaults && scriptedSummarizer(summarizerFaults)
    const ctx = await compose({ sessionDir, loadEngine: command.summarizer === 'model' ? loadConfiguredSummarizer : summarizer?.loadEngine })
    const { report: replayReport, replayed, logPath } = await replayIn(ctx, sessionDir, transcript, { ...command, summaries: summarizer?.answer })
    const report: ReplayReport = { ...replayReport, ...(summarizerFaults && { summarizerFaults }) }
    if (command.logPath !== undefined) await copyFile(logPath, command.logPath)
    process.stdout.write(command.json ? `${JSON.stringify(report)}\n` : reportText(report, replayed))
    return exitCodeOf(report)
  } finally {
    await rm(sessionDir, { recursive: true, force: true })
  }
}

export interface ReplayedIn {
  readonly report: ReplayReport
  readonly replayed: Replayed
  readonly logPath: string
}

/** Replays in a composition that keeps its sessions in `sessionDir`, and disposes of it. */
export async function replayIn(
  ctx: Context,
  sessionDir: string,
  transcript: Transcript,
  { file, requestsPath, invariants, ...settings }: Omit<ReplayCommand, 'json' | 'logPath' | 'summarizer' | 'summarizerFaults'> & Pick<ReplayOptions, 'summaries' | 'audience'>,
): Promise<ReplayedIn> {
  const progress = new Progress(process.stderr)
  const onProgress = (at: ReplayProgress): void => {
    if (settings.audience === undefined) progress.tell(at) // they see for themselves
  }
  const options = { ...settings, transcript, onProgress }
  try {
    if (invariants) await ctx.plugin(InvariantService)
    const replayed = await writable(requestsPath, path => replay(ctx, { ...options, requestsPath: path }))
    const logPath = join(sessionDir, `${replayed.session.id}.jsonl`)
    return { report: await replayReport(file, options, replayed, logPath), replayed, logPath }
  } finally {
    progress.done()
    await ctx.fiber.dispose()
  }
}

/** @throws UsageError when there is no such file or it is of no known format. */
export async function readTranscript(file: string): Promise<Transcript> {
  try {
    return importTranscript(await readFile(file), file)
  } catch (error) {
    if (error instanceof TranscriptError || isSystemError(error)) throw new UsageError(messageOf(error), { cause: error })
    throw error
  }
}

export function reportText(report: ReplayReport, { requests }: Replayed): string {
  return renderReport({ report, points: requests.points, columns: Math.min(process.stdout.columns ?? REPORT_COLUMNS, REPORT_COLUMNS) })
}

export function exitCodeOf(report: ReplayReport): ExitCode {
  return violationsOf(report).length === 0 ? EXIT.clean : EXIT.violation
}

/** Wide enough to see the teeth, narrow enough for a page. */
const REPORT_COLUMNS = 100

/** A path that a person gave and that cannot be written is their usage, not our failure. */
export async function writable<P extends string | undefined, T>(path: P, write: (path: P) => Promise<T>): Promise<T> {
  try {
    return await write(path)
  } catch (error) {
    if (path !== undefined && isSystemError(error) && error.path === path) throw new UsageError(messageOf(error), { cause: error })
    throw error
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
