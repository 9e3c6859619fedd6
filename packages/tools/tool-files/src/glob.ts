/**
 * Glob: which files a search looks into.
 *
 * Pure. A glob is read as a line of a `.gitignore` file is, with `{a,b}` on top; `!` before it means all others.
 */
import ignore from 'ignore'

export interface Glob {
  /** A path relative to the folder that is searched, with slashes. */
  matches(path: string): boolean
  /** The name patterns that say the same, where a file's name alone decides; null where it does not. */
  readonly names: readonly string[] | null
}

export function globOf(glob: string): Glob {
  const isNegated = glob.startsWith('!')
  const patterns = expandBraces((isNegated ? glob.slice(1) : glob).replace(/^\.\//, ''))
  const matcher = ignore({ ignorecase: false }).add([...patterns])
  return {
    matches: path => matcher.ignores(path) !== isNegated,
    names: !isNegated && patterns.every(pattern => /^\*\.[\w.-]+$/.test(pattern)) ? patterns : null,
  }
}

/** More alternatives than these are taken as they are written. */
const MAX_PATTERNS = 100

/** `*.{ts,tsx}` as `*.ts` and `*.tsx`; the innermost braces first. */
export function expandBraces(glob: string): readonly string[] {
  let patterns = [glob]
  for (;;) {
    const expanded = unique(patterns.flatMap(pattern => {
      const braces = /\{([^{}]*,[^{}]*)\}/.exec(pattern)
      return braces === null ? [pattern] : braces[1]!.split(',').map(part => pattern.replace(braces[0], () => part))
    }))
    if (expanded.length > MAX_PATTERNS || expanded.every(pattern => patterns.includes(pattern))) return patterns
    patterns = expanded
  }
}

function unique(patterns: readonly string[]): string[] {
  return [...new Set(patterns)]
}
