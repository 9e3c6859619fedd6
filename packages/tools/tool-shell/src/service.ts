/**
 * The plugin: the tool `shell`.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { PermissionRequest, ToolContext, ToolOutcome } from '@deepseek-ai/dsh-tools'
import { mkdtempSync, realpathSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { z } from 'zod'
import { shellEnvironment } from './environment.ts'
import { Groups } from './groups.ts'
import { Output } from './output.ts'
import { runCommand } from './run.ts'
import { scopeOf } from './scope.ts'
import { questionOf, resultText } from './words.ts'

const Config = z
  .strictObject({
    /** What a command has when it asks for no other time. */
    timeoutMs: z.int().positive().default(120_000),
    /** The most it can ask for. */
    maxTimeoutMs: z.int().positive().default(600_000),
    /** Of a long output, the model reads this much of its beginning and of its end. */
    headChars: z.int().positive().default(10_000),
    tailChars: z.int().positive().default(20_000),
    /** Long outputs are files of a folder made in here; by default where the system keeps temporary files. */
    outputDir: z.string().exactOptional(),
    maxOutputFileBytes: z.int().positive().default(100_000_000),
    /** Variables named `…_API_KEY` that commands need all the same. */
    passedKeys: z.array(z.string()).default([]),
  })
  .prefault({})

type Config = z.output<typeof Config>

export class ShellTool {
  static readonly Config = Config
  static readonly inject = ['tools']
  private readonly config: Config
  /** Aborts when the plugin goes: nothing of it runs on. */
  private readonly unloading = new AbortController()
  private readonly groups = new Groups()
  private folder: string | null = null
  private files = 0

  constructor(ctx: Context, config: Config = Config.parse({})) {
    this.config = config
    const parameters = parametersOf(config)
    ctx.tools.registerTool({
      name: 'shell',
      description: DESCRIPTION,
      parameters,
      permission: (args, context) => this.permission(args, context),
      execute: (args, context) => this.execute(args, context),
    })
    ctx.effect(() => () => {
      this.unloading.abort(new Error('the shell tool was unloaded'))
      return this.groups.end()
    }, 'shell commands')
  }

  private async permission({ command, cwd }: Arguments, context: ToolContext): Promise<PermissionRequest> {
    const folder = folderOf(context, cwd)
    await expectFolder(folder) // before a person is asked about a call that cannot run
    const real = realpathSync(folder)
    const elsewhere = real === realpathSync(folderOf(context)) ? undefined : real
    return { scope: scopeOf(command, elsewhere, operand => leadsOutOf(real, operand)), ...questionOf(command, elsewhere) }
  }

  private async execute({ command, cwd, timeoutMs }: Arguments, context: ToolContext): Promise<ToolOutcome> {
    const folder = folderOf(context, cwd)
    await expectFolder(folder)
    const { headChars, tailChars, maxOutputFileBytes, passedKeys } = this.config
    const output = new Output({ headChars, tailChars, maxFileBytes: maxOutputFileBytes, newFile: () => this.newFile(), onText: context.output })
    const signal = AbortSignal.any([context.signal, this.unloading.signal])
    const ended = await runCommand({
      command,
      cwd: folder,
      env: shellEnvironment(process.env, passedKeys),
      timeoutMs,
      signal,
      onStart: group => this.groups.add(group),
      onOutput: bytes => output.push(bytes),
    })
    const summary = output.end()
    if (ended.left === null) this.groups.delete(ended.group)
    signal.throwIfAborted()
    return {
      content: [{ type: 'text', text: resultText(summary, ended, timeoutMs) }],
      ...(ended.killed === 'timeout' && { isError: true, error: { name: 'TimeoutError', code: 'TIMEOUT' } }),
      meta: {
        exitCode: ended.exitCode,
        lines: summary.lines,
        chars: summary.chars,
        ...(ended.signal !== null && { signal: ended.signal }),
        ...(summary.file !== null && { file: summary.file.path }),
      },
    }
  }

  private newFile(): string {
    this.folder ??= mkdtempSync(join(this.config.outputDir ?? tmpdir(), 'dsh-shell-'))
    this.files += 1
    return join(this.folder, `output-${this.files}.txt`)
  }
}

/** A system takes no argument of more than 128 kB; longer scripts are files. */
const MAX_COMMAND_CHARS = 30_000

const DESCRIPTION = `Runs a command with bash and returns what it prints, both streams in one, and its exit code if that is not 0.
Every call is a new shell in the project's folder: nothing that a call sets, \`cd\` included, holds for the next one.
There is no input and no terminal: a program that wants to ask something fails or must be told not to ask.
Of a long output the beginning and the end are returned, and the whole is in a file that is named there.
Prefer the tools that read, search and change files to commands that do the same.`

type Arguments = z.output<ReturnType<typeof parametersOf>>

function parametersOf({ timeoutMs, maxTimeoutMs }: Config) {
  return z.strictObject({
    command: z.string().min(1).max(MAX_COMMAND_CHARS).describe('The command, as typed into bash; may have several lines.'),
    timeoutMs: z.int().positive().max(maxTimeoutMs).default(timeoutMs).describe('Milliseconds after which the command and all it started is killed.'),
    cwd: z.string().min(1).exactOptional().describe("The folder to run in, relative to the project's folder. Default: that folder."),
  })
}

function folderOf({ session }: ToolContext, cwd = '.'): string {
  return resolve(session?.header.cwd ?? process.cwd(), cwd.replace(/^~(?=\/|$)/, homedir()))
}

/** Whether what an operand names, if it names a file, is outside of a folder when links are followed. */
function leadsOutOf(folder: string, operand: string): boolean {
  try {
    const path = realpathSync(resolve(folder, operand))
    return path !== folder && !path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
  } catch {
    return false
  }
}

async function expectFolder(path: string): Promise<void> {
  const stats = await stat(path).catch(() => null)
  if (stats?.isDirectory() !== true) throw Object.assign(new Error(`There is no folder ${path} to run the command in.`), { code: 'ENOENT' })
}
