/**
 * Change: a file gets a new text, after a person has seen the difference and only if it still is what it was then.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { PermissionRequest, Tool, ToolContext, ToolOutcome } from '@deepseek-ai/dsh-tools'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import type { z } from 'zod'
import { boundedDiff, diffOf, type Diff } from './diff.ts'
import { FileError } from './failure.ts'
import { stampOf, type KnownFiles, type Stamp } from './known.ts'
import type { Limits } from './limits.ts'
import { placeOf, statsOf, type Place } from './place.ts'
import { decodeText, encodeText, lineCount, linesOf, type TextFile } from './text.ts'

export interface Found {
  readonly place: Place
  /** Null for a new file. */
  readonly old: { readonly file: TextFile; readonly stamp: Stamp; readonly mode: number } | null
  /** Whether the model has seen some state of it in this session. */
  readonly isKnown: boolean
}

interface Plan extends Found {
  readonly now: TextFile
  readonly diff: Diff
}

/** What a tool that changes one file brings of its own. */
export interface Changer<P extends z.ZodType<{ readonly path: string }>> {
  readonly name: string
  readonly description: string
  readonly parameters: P
  /** The new text. A throw says why there is none. */
  newText(args: z.output<P>, found: Found): TextFile
}

export function changeTool<P extends z.ZodType<{ readonly path: string }>>(changer: Changer<P>, limits: Limits, known: KnownFiles): Tool<P> {
  // A call is planned before the person is asked, so that what was seen is what is done.
  const plans = new WeakMap<ToolContext, Plan>()

  const planOf = async (args: z.output<P>, context: ToolContext): Promise<Plan> => {
    const place = await placeOf(args.path, context)
    const old = await existing(place, limits)
    const seen = known.stamp(context.session, place.path)
    if (old !== null && seen !== undefined && seen !== old.stamp) throw changedOnDisk(place)
    const found: Found = { place, old, isKnown: seen !== undefined }
    const now = changer.newText(args, found)
    return { ...found, now, diff: diffOf(old?.file.raw ?? '', now.raw) }
  }

  return {
    name: changer.name,
    description: changer.description,
    parameters: changer.parameters,
    async permission(args, context) {
      const plan = await planOf(args as z.output<P>, context)
      plans.set(context, plan)
      return isNothing(plan) ? null : requestOf(plan, limits)
    },
    async execute(args, context) {
      const plan = plans.get(context) ?? (await planOf(args as z.output<P>, context))
      if (isNothing(plan)) return { content: [{ type: 'text', text: `${plan.place.shown} is that already; nothing was written.` }], meta: metaOf(plan, limits) }
      await commit(plan, context.signal)
      known.see(context.session, plan.place.path, stampOf(await stat(plan.place.path)))
      return outcomeOf(plan, limits)
    },
  }
}

async function existing(place: Place, { maxFileBytes }: Limits): Promise<Found['old']> {
  const stats = await statsOf(place)
  if (stats === null) return null
  if (stats.isDirectory()) throw new FileError('IS_FOLDER', `${place.shown} is a folder.`)
  if (!stats.isFile() || stats.size > maxFileBytes) throw new FileError('TOO_LARGE', `${place.shown} is no file of at most ${maxFileBytes} bytes. Use a command.`)
  const file = decodeText(await readFile(place.path))
  if (file === null) throw new FileError('NOT_TEXT', `${place.shown} is not UTF-8 text. Use a command to change it.`)
  return { file, stamp: stampOf(stats), mode: stats.mode }
}

function changedOnDisk({ shown }: Place): FileError {
  return new FileError('CHANGED_ON_DISK', `${shown} was changed by somebody else, or by a command, since you last read or wrote it. Read it again first.`)
}

/** A new file without content is a change; so the old must exist. */
function isNothing({ old, diff }: Plan): boolean {
  return old !== null && diff.text === ''
}

function requestOf(plan: Plan, { maxDiffChars }: Limits): PermissionRequest {
  const { place, old, diff, now } = plan
  const what = old === null ? `Write ${place.shown} (new file, ${lineCount(linesOf(now.raw).length)})` : `Edit ${place.shown} (${changed(diff)})`
  return { scope: scopeOf(place), title: what, ...(diff.text !== '' && { detail: boundedDiff(diff.text, maxDiffChars) }) }
}

/** What lies in a `.git` folder can make git run it, so it is not part of what writing in the project is allowed for. */
function scopeOf({ inProject, path }: Place): string {
  if (path.toLowerCase().split(sep).includes('.git')) return 'write in .git'
  return inProject ? 'write' : 'write outside the project'
}

function outcomeOf(plan: Plan, limits: Limits): ToolOutcome {
  const { place, old, diff, now } = plan
  const text = old === null ? `Wrote ${place.shown} (new file, ${lineCount(linesOf(now.raw).length)}).` : `Changed ${place.shown} (${changed(diff)}).`
  return { content: [{ type: 'text', text }], meta: metaOf(plan, limits) }
}

function metaOf({ place, diff: { added, removed, text } }: Plan, { maxDiffChars }: Limits): { readonly [key: string]: unknown } {
  return { path: place.shown, added, removed, ...(text !== '' && { diff: boundedDiff(text, maxDiffChars) }) }
}

function changed({ added, removed }: Diff): string {
  return `+${added} −${removed}`
}

/** Whole or not at all: a reader sees the old file or the new one. */
async function commit({ place, old, now }: Plan, signal: AbortSignal): Promise<void> {
  const folder = dirname(place.path)
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new FileError('NO_FOLDER', `The folder of ${place.shown} cannot be made: ${messageOf(error)}`)
  })
  if ((await realpath(folder)) !== folder) throw changedOnDisk(place) // a link by now, to somewhere that nobody was asked about
  const temporary = join(folder, `.dsh-${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeFile(temporary, encodeText(now), { flag: 'wx' })
    if (old !== null) await chmod(temporary, old.mode)
    const stats = await statsOf(place)
    if ((stats === null ? null : stampOf(stats)) !== (old?.stamp ?? null)) throw changedOnDisk(place)
    signal.throwIfAborted()
    await rename(temporary, place.path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
