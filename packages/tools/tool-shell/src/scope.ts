/**
 * Scope: what "always" allows when a person says it of a command.
 *
 * Pure. Known commands are allowed with other operands; their options always count. Whatever is more than plain words, or not
 * known to be as harmless with other operands, is allowed exactly as it was written:
 *
 *     pytest tests/a.py             pytest
 *     git commit -am 'one fix'      git commit -am
 *     npm run build                 npm run build
 *     cat ../secret                 exactly: cat ../secret
 *     npm test && git push          exactly: npm test && git push
 */

/**
 * Commands that only look at what their operands name, or run the project's own checks on it. None that runs, deletes,
 * overwrites or sends what an operand names belongs here.
 */
const KNOWN = new Set([
  'cat', 'cut', 'diff', 'du', 'file', 'grep', 'head', 'ls', 'pwd', 'rg', 'stat', 'tail', 'tree', 'wc',
  'git add', 'git blame', 'git commit', 'git diff', 'git grep', 'git log', 'git ls-files', 'git rev-parse', 'git show', 'git status',
  'npm test', 'pnpm test', 'yarn test', 'cargo build', 'cargo check', 'cargo clippy', 'cargo test', 'go build', 'go test', 'go vet',
  'eslint', 'jest', 'mypy', 'oxlint', 'pytest', 'ruff check', 'tsc', 'vitest run',
])

/** Followed by the name of a script, which belongs to the scope. */
const SCRIPT_RUNNERS = new Set(['npm run', 'pnpm run', 'yarn run'])

/** Words that the shell takes as they are. */
const WORD = /^(?:[\w./:=,@%+-]+|'[^'\n]*'|"[^"$`\\!\n]*")$/

/** Two commands of one scope are alike to the person who allowed one of them; `place` is where it runs, if not in the project's folder. */
export function scopeOf(command: string, place?: string): string {
  const shell = place === undefined ? 'shell' : `shell in ${JSON.stringify(place)}`
  const known = knownScope(command)
  return known === null ? `${shell}, exactly: ${trimmed(command)}` : `${shell}: ${known}`
}

function knownScope(command: string): string | null {
  const words = wordsOf(command)
  if (words === null) return null
  const length = knownLength(words)
  if (length === 0) return null
  const options: string[] = []
  for (const word of words.slice(length)) {
    const value = unquoted(word)
    if (value.startsWith('-')) {
      if (value !== word) return null // a quoted option could be read as several
      options.push(word)
    } else if (leadsOut(value)) {
      return null
    }
  }
  return [...words.slice(0, length), ...options].join(' ')
}

/** How many leading words name a known command; 0 when they name none. */
function knownLength(words: readonly string[]): number {
  if (KNOWN.has(words[0]!)) return 1
  const two = words.slice(0, 2).join(' ')
  if (KNOWN.has(two)) return 2
  return SCRIPT_RUNNERS.has(two) && /^\w[\w:.-]*$/.test(words[2] ?? '') ? 3 : 0
}

/** The words of a command that is nothing but words; null for anything more. */
function wordsOf(command: string): string[] | null {
  const words = trimmed(command).match(/(?:'[^']*'|"[^"]*"|[^ \t'"])+|['"]/g) ?? []
  return words.length > 0 && words.every(word => WORD.test(word)) ? words : null
}

/** Without the space around it that no shell sees. */
function trimmed(command: string): string {
  return command.replace(/^[ \t\n]+|[ \t\n]+$/g, '')
}

function unquoted(word: string): string {
  return /^['"]/.test(word) ? word.slice(1, -1) : word
}

/** Whether an operand may name something outside of the folder that the command runs in. */
function leadsOut(value: string): boolean {
  return value.startsWith('/') || value.split(/[/=:,]/).includes('..')
}
