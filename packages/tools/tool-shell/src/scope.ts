/**
 * Scope: what "always" allows when a person says it of a command.
 *
 * Pure. Known commands are allowed with other operands; their options always count. Whatever is more than plain words, or not
 * known to be as harmless with other operands, is allowed exactly as it was written:
 *
 *     pytest tests/a.py             pytest
 *     git commit -am 'one fix'      git commit -am
 *     npm run build                 npm run build
 *     git diff --output a.patch b   git diff --output a.patch
 *     cat ../secret                 exactly: cat ../secret
 *     npm test && git push          exactly: npm test && git push
 */

/** Commands that only look at what their operands name, or keep it in git. None has an option that names what is run or written. */
const LOOKING = new Set([
  'cat', 'cut', 'diff', 'du', 'grep', 'head', 'ls', 'pwd', 'stat', 'tail', 'wc',
  'git add', 'git blame', 'git commit', 'git grep', 'git ls-files', 'git rev-parse', 'git status',
])

/**
 * Commands that look, too, or run the project's own checks, and have options that name a file to write or a program to run. So a
 * word right behind an option belongs to the scope. None that runs, deletes, overwrites or sends what a mere operand names
 * belongs here.
 */
const CAREFUL = new Set([
  'file', 'rg', 'tree', 'git diff', 'git log', 'git show',
  'npm test', 'pnpm test', 'yarn test', 'cargo build', 'cargo check', 'cargo clippy', 'cargo test', 'go build', 'go test', 'go vet',
  'eslint', 'jest', 'mypy', 'oxlint', 'pytest', 'ruff check', 'tsc', 'vitest run',
])

/** Options behind which a word is harmless with every one of these. */
const HARMLESS = new Set([
  '--', '-i', '-l', '-n', '-q', '-s', '-v', '-vv', '-w', '-x',
  '--cached', '--name-only', '--name-status', '--noEmit', '--oneline', '--quiet', '--staged', '--stat', '--verbose',
])

/** Followed by the name of a script, which belongs to the scope. */
const SCRIPT_RUNNERS = new Set(['npm run', 'pnpm run', 'yarn run'])

/** Words that the shell takes as they are. */
const WORD = /^(?:[\w./:=,@%+-]+|'[^'\n]*'|"[^"$`\\!\n]*")$/

/**
 * Two commands of one scope are alike to the person who allowed one of them.
 *
 * @param place where it runs, if not in the project's folder.
 * @param isAway whether an operand that stays in that folder by its words is a link that leads out of it.
 */
export function scopeOf(command: string, place?: string, isAway: (operand: string) => boolean = () => false): string {
  const shell = place === undefined ? 'shell' : `shell in ${JSON.stringify(place)}`
  const known = knownScope(command, isAway)
  return known === null ? `${shell}, exactly: ${trimmed(command)}` : `${shell}: ${known}`
}

function knownScope(command: string, isAway: (operand: string) => boolean): string | null {
  const words = wordsOf(command)
  const known = words === null ? null : knownStart(words)
  if (words === null || known === null) return null
  const kept = words.slice(0, known.length)
  let isBehindOption = false
  for (const word of words.slice(known.length)) {
    const value = unquoted(word)
    if (value.startsWith('-')) {
      if (value !== word) return null // a quoted option could be read as several
      kept.push(word)
      isBehindOption = known.isCareful && !HARMLESS.has(word) && !word.includes('=')
      continue
    }
    if (leadsOut(value) || isAway(value)) return null
    if (isBehindOption) kept.push(word)
    isBehindOption = false
  }
  return kept.join(' ')
}

/** How many leading words name a known command; null when they name none. */
function knownStart(words: readonly string[]): { readonly length: number; readonly isCareful: boolean } | null {
  for (const length of [1, 2]) {
    const start = words.slice(0, length).join(' ')
    if (LOOKING.has(start)) return { length, isCareful: false }
    if (CAREFUL.has(start)) return { length, isCareful: true }
    if (SCRIPT_RUNNERS.has(start) && /^\w[\w:.-]*$/.test(words[2] ?? '')) return { length: 3, isCareful: true }
  }
  return null
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
