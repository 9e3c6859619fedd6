/**
 * What a shell command does to files, judged by its text.
 *
 * Pure, and a heuristic: it knows the everyday readers, searchers and writers, redirects, here-documents and a leading
 * `cd`. What it does not know counts as a command that matters, never as nothing.
 */
import { oneLine } from './text.ts'

export interface ShellReading {
  /** Files that it prints, as written, prefixed by a leading `cd`; no globs, no variables. */
  readonly reads: readonly string[]
  /** Files that it writes, moves or removes. */
  readonly writes: readonly string[]
  /** `read`: it only prints files named in `reads`. `look`: it only searches, lists or asks. `act`: anything else. */
  readonly purpose: 'read' | 'look' | 'act'
}

const READERS = new Set(['cat', 'head', 'tail', 'less', 'more', 'nl', 'bat', 'sed', 'tac'])
const LOOKERS = new Set(['grep', 'egrep', 'fgrep', 'rg', 'ag', 'find', 'fd', 'ls', 'tree', 'wc', 'pwd', 'which', 'file', 'stat', 'du', 'sort',
  'uniq', 'cut', 'tr', 'awk', 'xargs', 'echo', 'printf', 'column', 'jq', 'diff', 'cd', 'true', 'test', '[',
  'for', 'while', 'do', 'done', 'if', 'then', 'else', 'fi', 'read'])
const GIT_LOOKERS = new Set(['status', 'log', 'diff', 'show', 'grep', 'ls-files', 'blame', 'branch', 'remote', 'rev-parse', 'config',
  'ls-tree', 'cat-file', 'merge-base', 'describe'])
const WRITERS = new Set(['touch', 'rm', 'tee', 'mv', 'cp', 'truncate', 'unlink'])

/** Options of readers that take the next word as their value. */
const VALUED = new Set(['-n', '-c', '-e', '-f', '-s'])

const MAX_PATHS = 20

export function readShell(command: string): ShellReading {
  const reads = new Set<string>()
  const writes = new Set<string>()
  let directory = ''
  let looksOnly = true
  let printsFile = false
  for (const words of simpleCommands(withoutHereDocuments(command))) {
    const at = (path: string) => (directory === '' || path.startsWith('/') || path.startsWith('~') ? path : `${directory}/${path.replace(/^\.\//, '')}`)
    for (const path of takeRedirects(words)) {
      if (isPath(path)) writes.add(at(path))
      looksOnly &&= !isPath(path)
    }
    while (words.length > 0 && /^\w+=/.test(words[0]!)) words.shift()
    const [name = '', ...args] = words
    if (name === '') continue
    if (name === 'cd') {
      if (args[0] !== undefined && isPath(args[0])) directory = at(args[0]).replace(/\/$/, '')
    } else if (READERS.has(name)) {
      const inPlace = name === 'sed' && args.some(arg => /^(-i|--in-place)/.test(arg))
      if (inPlace) looksOnly = false
      for (const path of operands(name, args)) {
        if (!isPath(path)) continue
        ;(inPlace ? writes : reads).add(at(path))
        printsFile ||= !inPlace
      }
    } else if (WRITERS.has(name)) {
      looksOnly = false
      for (const path of operands(name, args)) if (isPath(path)) writes.add(at(path))
    } else if (!LOOKERS.has(name) && !(name === 'git' && GIT_LOOKERS.has(args.find(arg => !arg.startsWith('-')) ?? ''))) {
      looksOnly = false
    } else if (name === 'find' && args.some(arg => /^-(delete|exec)/.test(arg))) {
      looksOnly = false
    }
  }
  const purpose = looksOnly ? (printsFile ? 'read' : 'look') : 'act'
  return { reads: [...reads].slice(0, MAX_PATHS), writes: [...writes].slice(0, MAX_PATHS), purpose }
}

/** The command on one line, its here-documents by their length only: what they wrote is in the file, or in the log. */
export function shellLine(command: string): string {
  return oneLine(command.replace(HERE_DOCUMENT, (_whole, start: string, _mark: string, body: string) =>
    `${start} (${body.split('\n').length} lines)\n`))
}

const HERE_DOCUMENT = /(<<-?\s*['"]?(\w+)['"]?[^\n]*)\n([\s\S]*?)\n[ \t]*\2(?=\n|$|['")\s])/g

function withoutHereDocuments(command: string): string {
  return command.replace(HERE_DOCUMENT, (_whole, start: string) => `${start.replace(/<<-?\s*['"]?\w+['"]?/, '')}\n`)
}

/** The words of each simple command; separators inside quotes do not count. One pass over the text. */
function* simpleCommands(command: string): Generator<string[]> {
  let words: string[] = []
  for (const [, separator, word] of command.matchAll(/(\n|&&|\|\||(?<![<>])[;|](?!&)|(?<!>)&(?![>&\d]))|((?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s;|&"'\\]|(?<=>)&|&(?=>))+|["'])/g)) {
    if (separator !== undefined) {
      yield words
      words = []
    } else if (word !== undefined) words.push(word)
  }
  yield words
}

/** Removes the redirects from `words` and gives the files written through them. */
function takeRedirects(words: string[]): string[] {
  const targets: string[] = []
  for (let index = 0; index < words.length; index++) {
    const [whole, operator, target] = /^((?:\d|&)?>{1,2}\|?|<)(.*)$/.exec(words[index]!) ?? []
    if (whole === undefined) continue
    const [path] = target === '' ? words.splice(index + 1, 1) : [target]
    words.splice(index--, 1)
    if (operator !== '<' && path !== undefined && !path.startsWith('&')) targets.push(unquoted(path))
  }
  return targets
}

function operands(name: string, args: readonly string[]): string[] {
  const found: string[] = []
  let scriptGiven = name !== 'sed'
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!
    if (arg.startsWith('-') && arg !== '-') {
      const takesValue = VALUED.has(arg) && !(name === 'sed' && (arg === '-n' || arg === '-s')) && !(name === 'cat')
      if (name === 'sed' && (arg === '-e' || arg === '-f')) scriptGiven = true
      if (takesValue) index += 1
    } else if (!scriptGiven) scriptGiven = true
    else found.push(unquoted(arg))
  }
  return found
}

function unquoted(word: string): string {
  return /^(["']).*\1$/s.test(word) ? word.slice(1, -1) : word
}

function isPath(word: string): boolean {
  return word !== '' && word !== '-' && !/[*?${}()<>|`\n\s]/.test(word) && !word.startsWith('/dev/') && !/^\d+$/.test(word)
}
