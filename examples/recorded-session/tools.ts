/**
 * The tools that the recorded model calls. They really run, in a copy of the repository.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface ToolResult {
  readonly text: string
  readonly failed: boolean
}

type Args = { readonly [key: string]: unknown }

/** Runs one call in `root` with the environment `env`; a failure is a result. */
export function runTool(tool: string, args: Args, root: string, env: NodeJS.ProcessEnv): ToolResult {
  try {
    switch (tool) {
      case 'shell':
        return runShell(String(args['command']), root, env)
      case 'read':
        return well(readLines(join(root, String(args['path'])), Number(args['offset'] ?? 1), Number(args['limit'] ?? 400)))
      case 'list':
        return well(entriesOf(join(root, String(args['path']))).join('\n'))
      case 'search':
        return runShell(`grep -rnE --include='*.ts' -e ${quoted(String(args['pattern']))} ${quoted(String(args['path']))} | LC_ALL=C sort`, root, env)
      case 'write':
        return well(writeText(join(root, String(args['path'])), String(args['content']), String(args['path'])))
      case 'edit':
        return well(replaceText(join(root, String(args['path'])), String(args['oldText']), String(args['newText']), String(args['path'])))
      case 'todo':
        return well('The list is updated.')
      default:
        throw new Error(`there is no tool ${tool}`)
    }
  } catch (error) {
    return { text: (error as Error).message, failed: true }
  }
}

const text = (description: string) => ({ type: 'string', description })

/** OpenAI chat schemas of the tools above. */
export const TOOLS = [
  tool('shell', 'Run a command with sh in the root of the repository. Returns what it printed; a last line tells an exit code other than 0.', { command: text('the command') }),
  tool('read', 'Read a text file, with line numbers.', { path: text('relative to the root'), offset: { type: 'integer', description: 'first line, from 1' }, limit: { type: 'integer', description: 'lines at most' } }, ['path']),
  tool('list', 'List a folder.', { path: text('relative to the root') }),
  tool('search', 'Search TypeScript files for an extended regular expression.', { pattern: text('the expression'), path: text('file or folder to search in') }),
  tool('write', 'Write a whole file, making folders as needed.', { path: text('relative to the root'), content: text('the whole content') }),
  tool('edit', 'Replace a text that occurs exactly once in a file.', { path: text('relative to the root'), oldText: text('what to replace'), newText: text('what to put there') }),
  tool('todo', 'Keep the list of what is to be done; every call gives the whole list.', {
    todos: {
      type: 'array',
      items: { type: 'object', properties: { content: { type: 'string' }, status: { enum: ['pending', 'in_progress', 'completed'] } }, required: ['content', 'status'] },
    },
  }),
]

function tool(name: string, description: string, properties: Args, required = Object.keys(properties)) {
  return { type: 'function', function: { name, description, parameters: { type: 'object', properties, required } } }
}

function well(result: string): ToolResult {
  return { text: result, failed: false }
}

function runShell(command: string, cwd: string, env: NodeJS.ProcessEnv): ToolResult {
  const { stdout, stderr, status, error } = spawnSync('sh', ['-c', command], { cwd, env, encoding: 'utf8', timeout: 60_000, maxBuffer: 64 << 20 })
  if (error) throw error
  const output = [stdout, stderr].map(part => part.trimEnd()).filter(part => part !== '').join('\n')
  const exit = status === 0 ? '' : `\n[exit code ${status}]`
  return { text: `${output === '' ? '(no output)' : output}${exit}`, failed: status !== 0 }
}

function readLines(path: string, offset: number, limit: number): string {
  const lines = readFileSync(path, 'utf8').split('\n')
  if (lines.at(-1) === '') lines.pop()
  const shown = lines.slice(offset - 1, offset - 1 + limit).map((line, index) => `${offset + index}\t${line}`)
  const rest = lines.length - (offset - 1 + shown.length)
  return [...shown, ...(rest > 0 ? [`(${rest} more lines)`] : [])].join('\n')
}

function entriesOf(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter(entry => entry.name !== '.git' && entry.name !== 'node_modules' && !entry.name.startsWith('.home'))
    .map(entry => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
}

function writeText(path: string, content: string, shownPath: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return `Wrote ${content.split('\n').length - 1} lines to ${shownPath}.`
}

function replaceText(path: string, oldText: string, newText: string, shownPath: string): string {
  const content = readFileSync(path, 'utf8')
  const parts = content.split(oldText)
  if (parts.length !== 2) throw new Error(`The text to replace occurs ${parts.length - 1} times in ${shownPath}; it must occur exactly once.`)
  writeFileSync(path, parts.join(newText))
  return `Replaced 1 occurrence in ${shownPath}.`
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
