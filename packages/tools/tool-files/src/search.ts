/**
 * The tool `search`.
 */
import type { Tool } from '@deepseek-ai/dsh-tools'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { FileError } from './failure.ts'
import { globOf } from './glob.ts'
import type { Limits } from './limits.ts'
import { matchCount, shownMatches, upTo, type Searcher, type SearchRequest } from './matches.ts'
import { ownSearch } from './own-search.ts'
import { notFound, permissionToLook, placeOf, statsOf } from './place.ts'
import { hasRipgrep, ripgrep } from './ripgrep.ts'

const Parameters = z.strictObject({
  pattern: z.string().min(1).describe('A regular expression for a part of a line, without look-around and back-references.'),
  path: z.string().min(1).default('.').describe("The folder or file to search, relative to the project's folder, absolute, or from `~`."),
  glob: z.string().min(1).exactOptional().describe('Only files like this, such as `*.ts`, `src/**/*.{js,jsx}` or `!*.test.ts`; relative to the folder.'),
  ignoreCase: z.boolean().default(false).describe('Whether a and A are the same.'),
  context: z.int().nonnegative().max(20).default(0).describe('How many lines to show before and after each match.'),
})

export function searchTool(limits: Limits): Tool<typeof Parameters> {
  let searcher: Promise<Searcher> | undefined
  return {
    name: 'search',
    description: `Searches the lines of text files. The result has the path of each file and its matching lines with their numbers. What .gitignore names is left out.
One call returns up to ${limits.maxMatches} matches.`,
    parameters: Parameters,
    parallel: true,
    permission: ({ path }, context) => permissionToLook('Search', path, context),
    async execute({ pattern, path, glob, ignoreCase, context: contextLines }, context) {
      const place = await placeOf(path, context)
      const stats = await statsOf(place)
      if (stats === null) throw notFound(place)
      const isFolder = stats.isDirectory()
      if (!isFolder && !stats.isFile()) throw new FileError('NOT_TEXT', `${place.shown} is no file that can be searched.`)
      const { matches, names } = glob === undefined ? { matches: () => true, names: null } : globOf(glob)
      const request: SearchRequest = {
        folder: isFolder ? place.path : dirname(place.path),
        file: isFolder ? null : basename(place.path),
        pattern,
        ignoreCase,
        contextLines,
        isWanted: matches,
        names,
        maxMatches: limits.maxMatches + 1,
        maxFileBytes: limits.maxFileBytes,
        signal: context.signal,
      }
      const shownPath = (found: string): string => (isFolder && place.shown !== '.' ? join(place.shown, found) : isFolder ? found : place.shown)
      searcher ??= hasRipgrep().then(has => (has ? ripgrep : ownSearch))
      const search = await searcher
      const parts: string[] = []
      let left = limits.maxMatches
      let files = 0
      for await (const found of search(request)) {
        const lines = upTo(found.lines, left)
        if (matchCount(lines) > 0) {
          parts.push(shownMatches(shownPath(found.path), lines, contextLines > 0))
          files += 1
        }
        if (lines.length < found.lines.length) {
          parts.push(`[only the first ${limits.maxMatches} matches; narrow the pattern, the path or the glob]`)
          left = 0
          break
        }
        left -= matchCount(lines)
      }
      return { content: [{ type: 'text', text: parts.length === 0 ? 'No matches.' : parts.join('\n') }], meta: { path: place.shown, files, matches: limits.maxMatches - left } }
    },
  }
}
