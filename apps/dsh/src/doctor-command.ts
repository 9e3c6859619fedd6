/**
 * `dsh doctor`: what is configured, which model answers and why, and what is missing.
 */
import { access, constants, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { sessionsFolder } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { rowsOf } from './boot.ts'
import { chooseModel } from './choose-model.ts'
import { bootComposition, SHIPPED, type CompositionFlags } from './composition.ts'
import { doctorLines, isHealthy, type Diagnosis } from './doctor-report.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'

const PROGRAMS = [
  { name: 'rg', use: 'files are searched without it, more slowly' },
  { name: 'git', use: 'the agent cannot look at what changed' },
  { name: 'tmux', use: 'the tests of the interface are skipped' },
]

export interface DoctorCommand extends CompositionFlags {
  readonly model?: string | undefined
}

export async function doctor(command: DoctorCommand): Promise<ExitCode> {
  const { env } = process
  const dir = sessionsFolder(env, homedir())
  const diagnosis: Diagnosis = {
    node: process.versions.node,
    ...(await composed(command)),
    sessions: { dir, fault: await writeFault(dir) },
    isSet: name => (env[name] ?? '').trim() !== '',
    programs: await Promise.all(PROGRAMS.map(async program => ({ ...program, path: await onPath(program.name) }))),
  }
  process.stdout.write(`${doctorLines(diagnosis).join('\n')}\n`)
  return isHealthy(diagnosis) ? EXIT.clean : EXIT.violation
}

/** What only a booted composition can tell. */
async function composed(command: DoctorCommand): Promise<Pick<Diagnosis, 'composition' | 'providers' | 'choice' | 'info'>> {
  const path = command.config ?? SHIPPED
  try {
    const ctx = await bootComposition(command, {})
    try {
      const llm = ctx.get('llm')
      const providers = llm?.list() ?? []
      const choice = chooseModel({ flag: command.model, env: process.env['DSH_MODEL'], providers })
      const info = 'route' in choice ? llm?.resolveModelInfo(choice.route.provider, choice.route.model) : undefined
      return { composition: { path, rows: rowsOf(ctx) }, providers, choice, info }
    } finally {
      await ctx.fiber.dispose()
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { composition: { path, fault: error.message }, providers: [], choice: { refusal: 'without a composition there is none' } }
  }
}

/** Why no session could be stored in a folder that may not be there yet; undefined where it could. */
async function writeFault(dir: string): Promise<string | undefined> {
  for (let folder = dir; ; folder = dirname(folder)) {
    try {
      const found = await stat(folder)
      if (!found.isDirectory()) return `${folder} is no folder`
      await access(folder, constants.W_OK | constants.X_OK)
      return undefined
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return messageOf(error)
    }
  }
}

async function onPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name)
    const isThere = folder !== '' && (await access(path, constants.X_OK).then(() => true, () => false))
    if (isThere) return path
  }
  return undefined
}
