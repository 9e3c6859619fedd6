/**
 * `dsh` without arguments and without a key: the session that ships with the project, replayed in the composition of
 * `examples/tui-agent`, in a window far too small for it.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bootComposition, DIGEST_FOR_MODEL, INTERFACE, LIVE_ONLY, type CompositionFlags } from './composition.ts'
import type { ExitCode } from './exit.ts'
import { exitCodeOf, readTranscript, replayIn, reportText } from './replay-command.ts'

const RECORDING = fileURLToPath(new URL('../../../examples/recorded-session/session.json', import.meta.url))

/** Small enough for the recording to need several compactions. */
const DEMO_WINDOW_TOKENS = 24_000

export async function demo({ config, invariants }: CompositionFlags): Promise<ExitCode> {
  const transcript = await readTranscript(RECORDING)
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-'))
  const drop = LIVE_ONLY.union(INTERFACE)
  const ctx = await bootComposition({ config, invariants: false }, { drop, swaps: DIGEST_FOR_MODEL, dir: sessionDir })
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
