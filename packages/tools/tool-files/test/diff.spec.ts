import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boundedDiff, diffOf } from '../src/diff.ts'
import { linesOf } from '../src/text.ts'

/** What a reader of unified diffs makes of `before`; it checks that what the diff says of it is so. */
function applied(before: string, diff: string): string {
  const old = linesOf(before)
  const out: string[] = []
  let at = 0
  let owed = { old: 0, new: 0 }
  const lines = linesOf(diff)
  for (const [index, line] of lines.entries()) {
    const header = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n$/.exec(line)
    if (header !== null) {
      expect(owed).toEqual({ old: 0, new: 0 })
      const [oldStart, oldCount, newStart, newCount] = header.slice(1).map(Number) as [number, number, number, number]
      const start = oldCount === 0 ? oldStart : oldStart - 1
      while (at < start) out.push(old[at++]!)
      expect(out.length).toBe(newCount === 0 ? newStart : newStart - 1)
      owed = { old: oldCount, new: newCount }
      continue
    }
    if (line.startsWith('\\')) continue
    const text = lines[index + 1]?.startsWith('\\') ? line.slice(1, -1) : line.slice(1)
    if (line[0] !== '+') {
      expect(text).toBe(old[at++])
      owed.old -= 1
    }
    if (line[0] !== '-') {
      out.push(text)
      owed.new -= 1
    }
  }
  expect(owed).toEqual({ old: 0, new: 0 })
  return [...out, ...old.slice(at)].join('')
}

const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 40, size: 'max' }).chain(lines => fc.constantFrom('\n', '').map(end => (lines.length === 0 ? '' : lines.join('\n') + end)))

describe('a diff', () => {
  it('is a unified diff', () => {
    expect(diffOf('1\n2\n3\n4\n5\n6\n7\n8\n', '1\n2\n3\n4\nfive\n6\n7\n8\n9\n')).toEqual({
      added: 2,
      removed: 1,
      text: '@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n+9\n',
    })
    expect(diffOf('', 'a\nb').text).toBe('@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n')
    expect(diffOf('a\n', '').text).toBe('@@ -1,1 +0,0 @@\n-a\n')
    expect(diffOf('a\n', 'a\n')).toEqual({ added: 0, removed: 0, text: '' })
  })

  it('applied to the old text is the new text, and counts what it adds and removes', () => {
    fc.assert(fc.property(text, text, (before, after) => {
      const diff = diffOf(before, after)
      expect(applied(before, diff.text)).toBe(after)
      const marks = diff.text.split('\n').map(line => line[0])
      expect([diff.added, diff.removed]).toEqual([marks.filter(mark => mark === '+').length, marks.filter(mark => mark === '-').length])
    }), { seed: 5, numRuns: 1_000 })
  })

  it('has no more changes than the longest common lines leave', () => {
    fc.assert(fc.property(text, text, (before, after) => {
      const old = linesOf(before)
      const now = linesOf(after)
      const { added, removed } = diffOf(before, after)
      expect(added + removed).toBe(old.length + now.length - 2 * commonLength(old, now))
    }), { seed: 6, numRuns: 500 })
  })

  it('of texts that have nothing in common is one change, however long they are', () => {
    const lines = (name: string) => Array.from({ length: 5_000 }, (_, index) => `${name} ${index}\n`).join('')
    const diff = diffOf(`same\n${lines('a')}end\n`, `same\n${lines('b')}end\n`)
    expect(diff).toMatchObject({ added: 5_000, removed: 5_000 })
    expect(applied(`same\n${lines('a')}end\n`, diff.text)).toBe(`same\n${lines('b')}end\n`)
  })

  it('can be cut, and says how much is missing', () => {
    expect(boundedDiff('@@\n+a\n+b\n+c\n', 7)).toBe('@@\n+a\n… 2 more lines of this diff\n')
    expect(boundedDiff('@@\n+a\n', 7)).toBe('@@\n+a\n')
  })
})

function commonLength(one: readonly string[], other: readonly string[]): number {
  let row = Array.from({ length: other.length + 1 }, () => 0)
  for (const line of one) {
    const next = [0]
    for (const [index, candidate] of other.entries()) next.push(line === candidate ? row[index]! + 1 : Math.max(row[index + 1]!, next[index]!))
    row = next
  }
  return row[other.length]!
}
