/**
 * Makes `session.json`: plays the script against a copy of this repository and writes down what happened.
 *
 *     node examples/recorded-session/record.ts [COMMIT]        HEAD by default
 *
 * The model is scripted; every command, read and search really runs. Given the same commit the result is the same: the copy
 * is a fresh git repository with a fixed date, lists are sorted, and paths of the machine and times are scrubbed.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Line, PlannedCall, Step } from './notation.ts'
import { script } from './script.ts'
import { runTool, TOOLS } from './tools.ts'

const here = dirname(fileURLToPath(import.meta.url))
const repository = join(here, '..', '..')

const SYSTEM = [
  'You are a careful software engineer at work in a repository. Its root is /repo, and that is where commands run.',
  'Look before you conclude, say what you saw, and keep the todo list current. Prefer several calls at once where they do not depend on each other.',
].join('\n')

/** Longest result kept, in characters; a longer one keeps its head and tail. */
const MAX_RESULT_CHARS: { readonly [tool: string]: number } = { shell: 6_000, read: 9_500, search: 6_000, list: 4_000 }

/** Their results say nothing that a text could speak of. */
const SILENT_TOOLS = new Set(['todo', 'write', 'edit'])

function main(commit: string): void {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'recorded-session-')))
  try {
    const env = checkOut(commit, copy)
    const messages = play(script, copy, env)
    const head = JSON.stringify({ model: 'scripted-engineer', tools: TOOLS }).slice(0, -1)
    writeFileSync(join(here, 'session.json'), `${head},"messages":[\n${messages.map(message => JSON.stringify(message)).join(',\n')}\n]}\n`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** A commit without this folder (a recording must not depend on the one before), as a repository of one commit. */
function checkOut(commit: string, copy: string): NodeJS.ProcessEnv {
  run('sh', ['-c', `git archive "$0" . ':(exclude)examples/recorded-session' ':(exclude)test/recording.spec.ts' | tar -x -C "$1"`, commit, copy], repository)
  linkModules(copy)
  const home = join(copy, '.home')
  mkdirSync(home)
  const env: NodeJS.ProcessEnv = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    NO_COLOR: '1',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Engineer',
    GIT_AUTHOR_EMAIL: 'engineer@example.com',
    GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
    GIT_COMMITTER_NAME: 'Engineer',
    GIT_COMMITTER_EMAIL: 'engineer@example.com',
    GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
  }
  writeFileSync(join(home, '.gitconfig'), '[init]\n\tdefaultBranch = main\n')
  run('git', ['init', '--quiet'], copy, env)
  writeFileSync(join(copy, '.git', 'info', 'exclude'), 'node_modules\n.home\n')
  run('git', ['add', '--all'], copy, env)
  run('git', ['commit', '--quiet', '--message', 'The repository as it is'], copy, env)
  return env
}

/** Workspace packages resolve to the copy, everything else to what is installed. */
function linkModules(copy: string): void {
  const installed = join(repository, 'node_modules')
  const scope = '@deepseek-ai'
  mkdirSync(join(copy, 'node_modules', scope), { recursive: true })
  for (const name of readdirSync(installed)) {
    if (name !== scope && !name.startsWith('.')) symlinkSync(join(installed, name), join(copy, 'node_modules', name))
  }
  for (const name of readdirSync(join(installed, scope))) {
    const target = realpathSync(join(installed, scope, name))
    const inside = target.startsWith(join(installed, '/')) ? target : target.replace(realpathSync(repository), copy)
    symlinkSync(inside, join(copy, 'node_modules', scope, name))
  }
}

interface ChatMessage {
  readonly role: string
  readonly content: string
  readonly [key: string]: unknown
}

function play(lines: readonly Line[], copy: string, env: NodeJS.ProcessEnv): ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'system', content: SYSTEM }]
  let results: string[] = []
  let callCount = 0
  for (const line of lines) {
    if (line.kind === 'person') {
      messages.push({ role: 'user', content: line.text })
      continue
    }
    const ids = line.calls.map(() => `call_${++callCount}`)
    messages.push(assistantMessage(line, results, ids))
    if (line.cutOff) continue
    results = []
    for (const [index, planned] of line.calls.entries()) {
      const { text, failed } = runTool(planned.tool, planned.args, copy, env)
      const scrubbed = scrub(text, copy)
      checkEnding(planned, failed, scrubbed)
      if (!SILENT_TOOLS.has(planned.tool)) results.push(scrubbed)
      const content = bounded(scrubbed, MAX_RESULT_CHARS[planned.tool] ?? 4_000)
      messages.push({ role: 'tool', tool_call_id: ids[index]!, content, ...(failed && { is_error: true }) })
    }
  }
  return messages
}

function assistantMessage(line: Step, results: readonly string[], ids: readonly string[]): ChatMessage {
  return {
    role: 'assistant',
    ...(line.reasoning !== undefined && { reasoning_content: line.reasoning }),
    content: typeof line.text === 'string' ? line.text : line.text(results),
    ...(ids.length > 0 && {
      tool_calls: line.calls.map(({ tool, args }, index) => ({ id: ids[index], type: 'function', function: { name: tool, arguments: JSON.stringify(args) } })),
    }),
  }
}

/** The texts were written for these endings; where one turns out otherwise, the script needs a new look. */
function checkEnding({ tool, args, ends }: PlannedCall, failed: boolean, result: string): void {
  if (ends === 'either' || failed === (ends === 'badly')) return
  throw new Error(`${tool} ${JSON.stringify(args)} was expected to end ${ends}, but:\n${result}`)
}

function scrub(text: string, copy: string): string {
  return text
    .replaceAll(copy, '/repo')
    .replaceAll(realpathSync(repository), '/repo')
    .replace(pathPattern(homedir()), '/home/engineer')
    .replaceAll(hostname(), 'host')
    .replace(/\b(duration_ms:?) \d+(?:\.\d+)?/g, '$1 0')
    .replace(/\bNode\.js v(\d+)[\d.]*/g, 'Node.js v$1')
}

/** A folder as a whole path, not as a part of another word. */
function pathPattern(folder: string): RegExp {
  return new RegExp(`(?<![\\w.-])${folder.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`, 'g')
}

function bounded(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const head = text.slice(0, Math.floor(maxChars * 0.7)).replace(/\n[^\n]*$/, '')
  const tail = text.slice(text.length - Math.floor(maxChars * 0.25)).replace(/^[^\n]*\n/, '')
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}

function run(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env): void {
  const { status, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`)
}

main(process.argv[2] ?? 'HEAD')
const { messages } = JSON.parse(readFileSync(join(here, 'session.json'), 'utf8')) as { messages: ChatMessage[] }
console.log(`${messages.filter(message => message.role === 'assistant').length} steps, ${messages.length} messages`)
