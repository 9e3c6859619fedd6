/**
 * `dsh` without arguments and without a key: the session that ships with the project, replayed in the composition of
 * `examples/tui-agent`, in a window far too small for it.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { boot, BootError } from './boot.ts'
import { UsageError, type ExitCode } from './exit.ts'
import { exitCodeOf, readTranscript, replayIn, reportText } from './replay-command.ts'

const COMPOSITION = fileURLToPath(new URL('../../../examples/tui-agent/cordis.yml', import.meta.url))
const RECORDING = fileURLToPath(new URL('../../../examples/recorded-session/session.json', import.meta.url))

/** Small enough for the recording to need several compactions. */
const DEMO_WINDOW_TOKENS = 24_000

/** No key, no model to summarize with: the same engine with the digest. */
const KEYLESS = new Map([['@deepseek-ai/dsh-compaction-basic', '@deepseek-ai/dsh-compaction-digest']])

export interface DemoCommand {
  readonly composition?: string | undefined
  readonly invariants: boolean
}

export async function demo({ composition = COMPOSITION, invariants }: DemoCommand): Promise<ExitCode> {
  const transcript = await readTranscript(RECORDING)
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-'))
  const ctx = await boot({ path: composition, swaps: KEYLESS, configs: new Map([['session-persistence', { dir: sessionDir }]]) }).catch(error => {
    throw error instanceof BootError ? new UsageError(messageOf(error), { cause: error }) : error
  })
  const file = shortest(RECORDING)
  const settings = { file, windowTokens: DEMO_WINDOW_TOKENS, ignoreCompactions: false, invariants }
  const { report, replayed, logPath } = await replayIn(ctx, sessionDir, transcript, settings)
  process.stdout.write([
    reportText(report, replayed),
    `The session log: ${logPath}`,
    '',
    `Try next:  npm start -- check ${logPath}`,
    `           npm start -- replay ${file} --window ${DEMO_WINDOW_TOKENS * 2}`,
    '',
  ].join('\n'))
  return exitCodeOf(report)
}

/** As a person would type it here. */
function shortest(path: string): string {
  const here = relative(process.cwd(), path)
  return here.startsWith('..') ? path : here
}
