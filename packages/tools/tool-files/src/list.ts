/**
 * The tool `list`.
 */
import type { Tool } from '@deepseek-ai/dsh-tools'
import { z } from 'zod'
import { FileError } from './failure.ts'
import type { Limits } from './limits.ts'
import { notFound, permissionToLook, placeOf, statsOf } from './place.ts'
import { walk, type Entry } from './walk.ts'

const Parameters = z.strictObject({
  path: z.string().min(1).default('.').describe("The folder, relative to the project's folder, absolute, or from `~`."),
  depth: z.int().positive().max(20).default(1).describe('How many levels deep; 1 is what is in the folder itself.'),
})

export function listTool({ maxListEntries }: Limits): Tool<typeof Parameters> {
  return {
    name: 'list',
    description: 'Lists files and folders (with a slash at the end) by their paths below a folder. What .gitignore names is left out.',
    parameters: Parameters,
    parallel: true,
    permission: ({ path }, context) => permissionToLook('List', path, context),
    async execute({ path, depth }, context) {
      const place = await placeOf(path, context)
      const stats = await statsOf(place)
      if (stats === null) throw notFound(place)
      if (!stats.isDirectory()) throw new FileError('IS_FILE', `${place.shown} is a file, not a folder. Use read.`)
      const lines: string[] = []
      let isCut = false
      for await (const entry of walk(place.path, { depth, signal: context.signal })) {
        isCut = lines.length === maxListEntries
        if (isCut) break
        lines.push(lineOf(entry))
      }
      if (isCut) lines.push(`[only the first ${maxListEntries}; list a folder below, or with less depth]`)
      return { content: [{ type: 'text', text: lines.length === 0 ? '[nothing, or nothing that .gitignore does not name]' : lines.join('\n') }], meta: { path: place.shown, entries: lines.length - (isCut ? 1 : 0) } }
    },
  }
}

function lineOf({ path, kind }: Entry): string {
  switch (kind) {
    case 'folder':
      return `${path}/`
    case 'file':
      return path
    default:
      return `${path} (${kind})`
  }
}
