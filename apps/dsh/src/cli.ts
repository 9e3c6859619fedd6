/**
 * The command line: what can be typed, and what it exits with.
 *
 * A command's own code is loaded when it runs, so that help and usage errors come at once.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import type { ConversationFlags } from './conversation.ts'
import { SUMMARIZER_FAULTS, type SummarizerFault } from './summarizer-faults.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'

const DEFAULT_WINDOW_TOKENS = 128_000

/** Runs one command; results go to stdout, everything else to stderr. */
export async function main(args: readonly string[]): Promise<ExitCode> {
  process.stdout.on('error', whenNobodyReads)
  process.stderr.on('error', () => {}) // who closed it wants the result alone
  let exitCode: ExitCode = EXIT.clean
  const program = commandLine(code => {
    exitCode = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.clean : EXIT.usage
    process.stderr.write(`dsh: ${error instanceof UsageError ? error.message : unexpected(error)}\n`)
    return error instanceof UsageError ? EXIT.usage : EXIT.violation
  }
}

/** Understood before and behind the name of any command. */
interface GlobalFlags {
  readonly config?: string
  readonly invariants: boolean
}

type ConversationOptions = Omit<ConversationFlags, keyof GlobalFlags>

interface ReplayFlags {
  readonly window: number
  readonly maxTokens?: number
  readonly ignoreCompactions: boolean
  readonly summarizer: 'digest' | 'model'
  readonly summarizerFaults?: readonly SummarizerFault[]
  readonly json: boolean
  readonly requests?: string
  readonly log?: string
}

interface CompactFlags {
  readonly out: string
  readonly window: number
  readonly summarizer: 'digest' | 'model'
}

interface SessionsFlags {
  readonly dir?: string
}

function commandLine(finish: (code: ExitCode) => void): Command {
  const program = new Command('dsh')
    .description('A coding agent whose conversations outlive the model\'s context window.\nWithout a command it is the chat; without a terminal it replays the session that ships with it.')
    .option('--config <file>', 'boot this composition instead of examples/tui-agent/cordis.yml')
    .option('--invariants', 'judge every event before a session takes it, whatever the command; one that violates an invariant is refused', false)
    .exitOverride()

  conversing(program.command('chat', { isDefault: true }).description('talk with the agent in a terminal'))
    .allowExcessArguments()
    .action(async (flags: ConversationOptions, { args: [unknown] }: Command) => {
      if (unknown !== undefined) program.error(`error: unknown command '${unknown}'; see dsh --help`)
      const { chat } = await import('./chat-command.ts')
      finish(await chat({ ...flags, ...program.opts<GlobalFlags>(), asked: program.args[0] === 'chat' }))
    })

  conversing(program.command('run [prompt...]').description('answer one prompt without a terminal; - takes it from stdin, which is context otherwise'))
    .option('--json', 'print every event as it is logged, then the result, one JSON object a line', false)
    .action(async (words: string[], flags: ConversationOptions & { readonly json: boolean }) => {
      const { runCommand } = await import('./run-command.ts')
      finish(await runCommand({ words, ...flags, ...program.opts<GlobalFlags>() }))
    })

  program.command('replay <file>')
    .description('drive the loop over a recorded conversation, with compaction, in a window of your choice')
    .option('--window <tokens>', 'the model\'s context window', tokens, DEFAULT_WINDOW_TOKENS)
    .option('--max-tokens <tokens>', 'the output limit of each request; none by default', tokens)
    .option('--ignore-compactions', 'leave out the compactions that were recorded and replay the whole history', false)
    .addOption(summarizerOption())
    .addOption(new Option('--summarizer-faults <list>', `a scripted model writes them, and misbehaves so, in turn: ${SUMMARIZER_FAULTS.join(', ')}`).argParser(faults).conflicts('summarizer'))
    .option('--json', 'print the report as one JSON object', false)
    .option('--requests <file>', 'write every request as sent, as JSON Lines in the OpenAI chat shape')
    .option('--log <file>', 'keep the session log')
    .action(async (file: string, { window, requests, log, ...flags }: ReplayFlags) => {
      const { replayCommand } = await import('./replay-command.ts')
      finish(await replayCommand({ file, windowTokens: window, requestsPath: requests, logPath: log, ...flags, ...program.opts<GlobalFlags>() }))
    })

  program.command('compact <file>')
    .description('write a recorded conversation anew, as a session in that window would go on with it: OpenAI chat JSON')
    .requiredOption('-o, --out <file>', 'where it goes; - is stdout')
    .option('--window <tokens>', 'the model\'s context window', tokens, DEFAULT_WINDOW_TOKENS)
    .addOption(summarizerOption())
    .action(async (file: string, { window, ...flags }: CompactFlags) => {
      const { compactCommand } = await import('./compact-command.ts')
      finish(await compactCommand({ file, windowTokens: window, ...flags, ...program.opts<GlobalFlags>() }))
    })

  program.command('check <log>')
    .description('re-derive a session log and report every violated invariant')
    .option('--salvage <out>', 'write what holds up to the first damage, as a session that can go on; the log itself is not touched')
    .action(async (log: string, { salvage }: { readonly salvage?: string }) => {
      const { checkCommand, salvageCommand } = await import('./check-command.ts')
      finish(salvage === undefined ? await checkCommand(log) : await salvageCommand(log, salvage))
    })

  program.command('doctor')
    .description('what is configured, which model answers and why; exits with 1 while no conversation could begin')
    .option('--model <provider/model>', 'as for a conversation')
    .action(async (flags: { readonly model?: string }) => {
      const { doctor } = await import('./doctor-command.ts')
      finish(await doctor({ ...flags, ...program.opts<GlobalFlags>() }))
    })

  const sessions = program.command('sessions').description('what is stored, and going on with it; without a verb, the list')
  const verb = (words: string, description: string, options: { readonly isDefault?: boolean } = {}): Command =>
    sessions.command(words, options).description(description).option('--dir <folder>', 'where sessions are kept; by default in $DSH_DATA_DIR or ~/.local/share/dsh')
  verb('list', 'every session, the newest first, and the process that holds it', { isDefault: true })
    .action(async ({ dir }: SessionsFlags) => finish(await (await import('./sessions-command.ts')).listSessions(dir)))
  verb('show <id>', 'what a session holds and how it was left; works beside its writer')
    .action(async (id: string, { dir }: SessionsFlags) => finish(await (await import('./sessions-command.ts')).showSession(dir, id)))
  verb('resume <id>', 'take a session over and complete its interrupted turn')
    .action(async (id: string, { dir }: SessionsFlags) => finish(await (await import('./sessions-command.ts')).resumeSession(dir, id)))
  verb('fork <id>', 'a new session that begins with the events of another')
    .option('--at <seq>', 'inherit the events before this one; all by default', seq)
    .action(async (id: string, { dir, at }: SessionsFlags & { readonly at?: number }) => finish(await (await import('./sessions-command.ts')).forkSession(dir, id, at)))
  return program
}

/** What a conversation can be opened with. */
function conversing(command: Command): Command {
  return command
    .option('--resume <id>', 'go on with a stored session, in its folder')
    .addOption(new Option('--continue', 'go on with the newest session of this folder').default(false).conflicts('resume'))
    .option('--model <provider/model>', 'the model that answers; by default DSH_MODEL, the session\'s last, or the first there is a key for')
    .option('--yes', 'allow everything that would need permission', false)
    .option('--dir <folder>', 'where sessions are kept')
}

function summarizerOption(): Option {
  return new Option('--summarizer <kind>', 'who writes the checkpoints; the model is DSH_MODEL, or the first there is a key for').choices(['digest', 'model']).default('digest')
}

function seq(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('It must be the number of an event.')
  return value
}

function tokens(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count <= 0) throw new InvalidArgumentError('It must be a positive whole number of tokens.')
  return count
}

/** A list of faults; empty for a model that never misbehaves. */
function faults(list: string): SummarizerFault[] {
  return list.split(',').map(name => name.trim()).filter(name => name !== '').map(name => {
    const fault = SUMMARIZER_FAULTS.find(known => known === name)
    if (fault === undefined) throw new InvalidArgumentError(`There is no fault "${name}".`)
    return fault
  })
}

/** `dsh … | head` has read what it wanted; a disk that is full has not. Of a terminal that was closed a signal tells, too. */
function whenNobodyReads(error: NodeJS.ErrnoException): void {
  if (error.code === 'EIO') return
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`dsh: the result could not be written: ${error.message}\n`)
  process.exit(EXIT.violation)
}

/** What the system or the store says is for a person; anything else is a fault of ours, and where it is helps. */
function unexpected(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { readonly code?: unknown }
  const isForeseen = typeof code === 'string' && !code.startsWith('ERR_')
  return isForeseen ? error.message : (error.stack ?? error.message)
}
