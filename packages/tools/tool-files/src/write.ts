/**
 * The tools `write` and `edit`.
 */
import type { Tool } from '@deepseek-ai/dsh-tools'
import { z } from 'zod'
import { changeTool } from './change.ts'
import { FileError } from './failure.ts'
import type { KnownFiles } from './known.ts'
import type { Limits } from './limits.ts'
import { notFound } from './place.ts'
import { applyEdits } from './replace.ts'
import { replaceAll } from './text.ts'

const path = z.string().min(1).describe("The file, relative to the project's folder, absolute, or from `~`.")

const WriteParameters = z.strictObject({
  path,
  content: z.string().describe('All of the file.'),
})

export function writeTool(limits: Limits, known: KnownFiles): Tool<typeof WriteParameters> {
  return changeTool(
    {
      name: 'write',
      description: 'Writes a whole file, new or in the place of one that you have read; makes the folders it needs. To change a part of a file, use edit.',
      parameters: WriteParameters,
      newText({ content }, { place, old, isKnown }) {
        if (old === null) return { bom: false, raw: content }
        if (!isKnown) throw new FileError('NOT_READ', `${place.shown} exists, and you have not read it in this session. Read it before you write over it, or use edit.`)
        return replaceAll(old.file, content)
      },
    },
    limits,
    known,
  )
}

const EditParameters = z.strictObject({
  path,
  edits: z
    .array(
      z.strictObject({
        old: z.string().min(1).describe('The text to replace, exactly as it is in the file, white space included, with enough around it to be there only once.'),
        new: z.string().describe('What comes in its place; empty to remove it.'),
        all: z.boolean().exactOptional().describe('Replace every occurrence. Default: false.'),
      }),
    )
    .min(1)
    .describe('Made one after the other, all or none.'),
})

export function editTool(limits: Limits, known: KnownFiles): Tool<typeof EditParameters> {
  return changeTool(
    {
      name: 'edit',
      description: 'Changes parts of a text file by exact replacement. Every old text must be in the file exactly once, unless all is set. Line ends stay as they are in the file.',
      parameters: EditParameters,
      newText({ edits }, { place, old }) {
        if (old === null) throw notFound(place)
        const edited = applyEdits(old.file.raw, edits)
        if ('refusal' in edited) throw new FileError('NO_SINGLE_MATCH', `${place.shown} was not changed. ${edited.refusal}`)
        return { bom: old.file.bom, raw: edited.raw }
      },
    },
    limits,
    known,
  )
}
