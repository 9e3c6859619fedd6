/**
 * The demonstration: the session that ships with the project, replayed without a key in the composition of `examples/tui-agent`,
 * in a window far too small for it.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-tui'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bootComposition, DIGEST_FOR_MODEL, INTERFACE, LIVE_ONLY, type CompositionFlags } from './composition.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'
import { exitCodeOf, readTranscript, replayIn, reportText } from './replay-command.ts'

const RECORDING = fileURLToPath(new URL('../../../examples/recorded-session/session.json', import.meta.url))

/** Small enough for the recording to need several compactions. */
const DEMO_WINDOW_TOKENS = 24_000

export async function demo({ config, invariants }: CompositionFlags): Promise<ExitCode> {
  const drop = LIVE_ONLY.union(INTERFACE)
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-'))
  const ctx = await bootComposition({ config, invariants: false }, { drop, swaps: DIGEST_FOR_MODEL, dir: sessionDir })
  const { report, replayed, logPath } = await replayIn(ctx, sessionDir, await readTranscript(RECORDING), { ...SETTINGS, invariants })
  process.stdout.write(`${reportText(report, replayed)}${nextSteps(logPath)}`)
  return exitCodeOf(report)
}

/** The same for a person at a terminal, in the interface of the composition. */
export async function watchDemo({ config, invariants }: CompositionFlags): Promise<ExitCode> {
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-'))
  const ctx = await bootComposition({ config, invariants }, { drop: LIVE_ONLY, swaps: DIGEST_FOR_MODEL, dir: sessionDir })
  const tui = ctx.get('tui')
  if (tui === undefined) throw new UsageError('the composition has no row that provides tui')
  const audience = (agent: Agent): Promise<Agent> => tui.run({ agent, intro: INTRO })
  const { report, replayed, logPath } = await replayIn(ctx, sessionDir, await readTranscript(RECORDING), { ...SETTINGS, invariants: false, audience })
  process.stdout.write(replayed.stopped === null ? `${reportText(report, replayed)}${nextSteps(logPath)}` : nextSteps(logPath))
  return EXIT.clean
}

const INTRO = `A recorded session plays, in a window of ${DEMO_WINDOW_TOKENS.toLocaleString('en')} tokens; nobody answers what you type. /context shows what fills the window, /help the rest, /quit leaves.`

const SETTINGS = { file: shortest(RECORDING), windowTokens: DEMO_WINDOW_TOKENS, ignoreCompactions: false }

function nextSteps(logPath: string): string {
  return [
    `The session log: ${logPath}`,
    '',
    `Try next:  npm start -- check ${logPath}`,
    `           npm start -- replay ${SETTINGS.file} --window ${DEMO_WINDOW_TOKENS * 2}`,
    '',
  ].join('\n')
}

/** As a person would type it here. */
function shortest(path: string): string {
  const here = relative(process.cwd(), path)
  return here.startsWith('..') ? path : here
}
