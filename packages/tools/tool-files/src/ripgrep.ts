/**
 * ripgrep: the search by `rg`, told to look where the own search would.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { FileError } from './failure.ts'
import type { FileMatches, FoundLine, SearchRequest } from './matches.ts'
import { repositoryTop } from './walk.ts'

/** Only `.gitignore` files count, in a repository or not; hidden files do not hide. */
const LOOK = ['--no-config', '--hidden', '--glob', '!.git', '--no-ignore-global', '--no-ignore-exclude', '--no-ignore-dot', '--no-require-git']
const SHOW = ['--json', '--sort', 'path', '--crlf', '--no-messages']

/** Text, or bytes in base64 where it is not UTF-8. */
interface Data {
  readonly text?: string
  readonly bytes?: string
}

/** The messages of `rg --json` that are read here. */
type Message =
  | { readonly type: 'begin' | 'summary' }
  | { readonly type: 'match' | 'context'; readonly data: { readonly lines: Data; readonly line_number: number; readonly submatches: readonly { readonly start: number }[] } }
  | { readonly type: 'end'; readonly data: { readonly path: Data; readonly binary_offset: number | null } }

export async function hasRipgrep(): Promise<boolean> {
  const child = spawn('rg', ['--version'], { stdio: 'ignore' })
  return once(child, 'exit').then(([code]) => code === 0, () => false)
}

/** @throws FileError for a pattern that ripgrep does not understand. */
export async function* ripgrep(request: SearchRequest): AsyncGenerator<FileMatches, void, undefined> {
  const child = spawn('rg', await argumentsOf(request), { cwd: request.folder, stdio: ['ignore', 'pipe', 'pipe'], signal: request.signal })
  child.on('error', () => {}) // an abort, which is looked at below
  const exited = once(child, 'close').catch(() => [null])
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  try {
    let lines: FoundLine[] = []
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      const message = JSON.parse(line) as Message
      if (message.type === 'match' || message.type === 'context') {
        lines.push(lineOf(message))
      } else if (message.type === 'end') {
        const path = stringOf(message.data.path).replace(/^\.\//, '')
        if (message.data.binary_offset === null && (request.file !== null || request.isWanted(path))) yield { path, lines }
        lines = []
      }
    }
    const [code] = await exited
    request.signal.throwIfAborted()
    if (code !== 0 && code !== 1 && complaint !== '') throw new FileError('INVALID_PATTERN', `The pattern was not understood. ${complaint.trim()}`)
  } finally {
    child.kill()
  }
}

async function argumentsOf({ folder, file, pattern, ignoreCase, contextLines, names, maxMatches, maxFileBytes }: SearchRequest): Promise<string[]> {
  return [
    ...LOOK,
    // Without a repository, no folder around this one has a say.
    ...((await repositoryTop(folder)) === null ? ['--no-ignore-parent'] : []),
    ...SHOW,
    ...(ignoreCase ? ['--ignore-case'] : []),
    ...(names === null || file !== null ? [] : [...names.flatMap(name => ['--type-add', `wanted:${name}`]), '--type', 'wanted']),
    `--context=${contextLines}`,
    `--max-count=${maxMatches}`,
    `--max-filesize=${maxFileBytes}`,
    `--regexp=${pattern}`,
    '--',
    file === null ? '.' : `./${file}`,
  ]
}

function lineOf({ type, data }: Message & { readonly type: 'match' | 'context' }): FoundLine {
  const raw = stringOf(data.lines)
  const start = data.submatches[0]?.start ?? 0
  const text = raw.replace(/\r?\n$/, '')
  return { number: data.line_number, text, at: type === 'match' ? Math.min(text.length, Buffer.from(raw).subarray(0, start).toString().length) : null }
}

function stringOf({ text, bytes = '' }: Data): string {
  return text ?? Buffer.from(bytes, 'base64').toString()
}
