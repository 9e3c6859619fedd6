/**
 * Lines: which of them are commands, and which command a mistyped one may have meant.
 *
 * Pure.
 */

export interface CommandLine {
  readonly name: string
  /** What follows the name, without the space around it; may be empty, may hold line breaks. */
  readonly args: string
}

const NAME = /^[a-z][a-z0-9-]*$/
const LINE = /^\/([a-z][a-z0-9-]*)(?:\s+([^]*))?$/i

export function isCommandName(name: string): boolean {
  return NAME.test(name)
}

/**
 * The command that a line names, known or not; null for a line that is a message. A slash must come first and be followed by
 * nothing but a name: a path is a message, and so is anything with a space before the slash. Names ignore case.
 */
export function parseCommand(line: string): CommandLine | null {
  const [, name, args = ''] = LINE.exec(line) ?? []
  return name === undefined ? null : { name: name.toLowerCase(), args: args.trim() }
}

/** Suggestions beyond this many help nobody. */
const MAX_SUGGESTIONS = 3

/** The names nearest to a mistyped one, nearest first: a third of its letters may be wrong, or the rest of it missing. */
export function closestNames(mistyped: string, names: Iterable<string>): string[] {
  const allowed = Math.max(1, Math.floor(mistyped.length / 3))
  return [...names]
    .map(name => ({ name, distance: name.startsWith(mistyped) ? 0 : editDistance(mistyped, name) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name)
}

/** Letters to insert, leave out, change, or swap with their neighbour, to make one word of the other (optimal string alignment). */
function editDistance(one: string, other: string): number {
  let before: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const change = one[row - 1] === other[column - 1] ? 0 : 1
      let distance = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + change)
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        distance = Math.min(distance, before[column - 2]! + 1)
      }
      current.push(distance)
    }
    before = last
    last = current
  }
  return last[other.length]!
}
