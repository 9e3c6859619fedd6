/**
 * The tool `read`.
 */
import type { Tool, ToolOutcome } from '@deepseek-ai/dsh-tools'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { FileError } from './failure.ts'
import { imageKind } from './image.ts'
import { stampOf, type KnownFiles } from './known.ts'
import type { Limits } from './limits.ts'
import { notFound, permissionToLook, placeOf, statsOf, type Place } from './place.ts'
import { lineCount, linesOf, viewOf } from './text.ts'

const Parameters = z.strictObject({
  path: z.string().min(1).describe("The file, relative to the project's folder, absolute, or from `~`."),
  offset: z.int().positive().exactOptional().describe('The first line to read, counted from 1. Default: 1.'),
  limit: z.int().positive().exactOptional().describe('How many lines to read. Default: as many as one call returns.'),
})

type Arguments = z.output<typeof Parameters>

export function readTool(limits: Limits, known: KnownFiles): Tool<typeof Parameters> {
  return {
    name: 'read',
    description: `Reads a text file, or an image (PNG, JPEG, GIF, WebP). Text is returned as it is in the file, without line numbers.
One call returns up to ${limits.maxReadLines} lines or ${limits.maxReadChars} characters; where there is more, the result says how to go on.`,
    parameters: Parameters,
    parallel: true,
    permission: ({ path }, context) => permissionToLook('Read', path, context),
    async execute(args, context) {
      const place = await placeOf(args.path, context)
      const stats = await statsOf(place)
      if (stats === null) throw notFound(place)
      if (stats.isDirectory()) throw new FileError('IS_FOLDER', `${place.shown} is a folder. Use list.`)
      if (!stats.isFile()) throw new FileError('NOT_TEXT', `${place.shown} is no file that can be read.`)
      if (stats.size > Math.max(limits.maxFileBytes, limits.maxImageBytes)) throw tooLarge(place, stats.size)
      const bytes = await readFile(place.path, { signal: context.signal })
      const image = imageOf(bytes, place, limits)
      if (image !== null) return image
      if (bytes.length > limits.maxFileBytes) throw tooLarge(place, bytes.length)
      if (bytes.includes(0)) throw new FileError('NOT_TEXT', `${place.shown} is binary (${bytes.length} bytes). Use a command that prints what you need of it.`)
      known.see(context.session, place.path, stampOf(stats))
      return textOf(new TextDecoder().decode(bytes), place, args, limits)
    },
  }
}

function tooLarge({ shown }: Place, bytes: number): FileError {
  return new FileError('TOO_LARGE', `${shown} is too large to read (${bytes} bytes). Search it, or print a part of it with a command.`)
}

function imageOf(bytes: Buffer, place: Place, { maxImageBytes }: Limits): ToolOutcome | null {
  const kind = imageKind(bytes)
  if (kind === null) return null
  if (bytes.length > maxImageBytes) throw new FileError('TOO_LARGE', `${place.shown} is an image of ${bytes.length} bytes; at most ${maxImageBytes} can be shown. Make it smaller first.`)
  return {
    content: [{ type: 'image', mediaType: kind.mediaType, data: bytes.toString('base64'), ...kind.size }],
    meta: { path: place.shown, bytes: bytes.length },
  }
}

function textOf(text: string, { shown }: Place, { offset = 1, limit = Infinity }: Arguments, { maxReadLines, maxReadChars }: Limits): ToolOutcome {
  const lines = linesOf(viewOf(text))
  if (offset > 1 && offset > lines.length) throw new FileError('OUT_OF_RANGE', `${shown} has ${lineCount(lines.length)}; there is no line ${offset}.`)
  const part: string[] = []
  let chars = 0
  for (const line of lines.slice(offset - 1, offset - 1 + Math.min(limit, maxReadLines))) {
    if (part.length > 0 && chars + line.length > maxReadChars) break
    part.push(line)
    chars += line.length
  }
  const last = offset - 1 + part.length
  const notes = [
    ...(chars > maxReadChars ? [`line ${offset} is ${chars} characters long and cut here; print what you need of it with a command`] : []),
    ...(last < lines.length ? [`lines ${offset} to ${last} of ${lines.length}; go on with offset ${last + 1}`] : []),
    ...(text.includes('\uFFFD') ? ['where � stands, the file may hold bytes that are no UTF-8'] : []),
    ...(lines.length === 0 ? ['the file is empty'] : []),
  ]
  const body = cut(part.join(''), maxReadChars)
  const gap = notes.length === 0 || body === '' || body.endsWith('\n') ? '' : '\n'
  return { content: [{ type: 'text', text: `${body}${gap}${notes.map(note => `[${note}]`).join('\n')}` }], meta: { path: shown, lines: part.length, ofLines: lines.length } }
}

/** At most so many code units, and no half of a character. */
function cut(text: string, maxChars: number): string {
  const end = /[\uD800-\uDBFF]/.test(text[maxChars - 1] ?? '') ? maxChars - 1 : maxChars
  return text.length <= maxChars ? text : text.slice(0, end)
}
