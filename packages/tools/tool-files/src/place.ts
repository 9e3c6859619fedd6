/**
 * Place: what a path that a model wrote means, and whether that is in the project.
 */
import type { Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { PermissionRequest, ToolContext } from '@deepseek-ai/dsh-tools'
import { FileError } from './failure.ts'

export interface Place {
  /** Absolute, without symbolic links as far as it exists. */
  readonly path: string
  /** As it is named to models and people: relative to the project's folder where it is inside, `.` for that folder itself. */
  readonly shown: string
  readonly inProject: boolean
  /** Where the system keeps temporary files, long outputs of commands among them. */
  readonly isTemporary: boolean
}

export async function placeOf(written: string, { session }: Pick<ToolContext, 'session'>): Promise<Place> {
  const base = await real(resolve(session?.header.cwd ?? process.cwd()))
  const path = await real(resolve(base, written.replace(/^~(?=\/|$)/, homedir())))
  const inProject = isWithin(base, path)
  return { path, shown: inProject ? relative(base, path) || '.' : path, inProject, isTemporary: isWithin(await real(tmpdir()), path) }
}

/** Like `realpath`, also for what does not exist yet: then of as much as does. */
async function real(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const parent = dirname(path)
    if (parent === path || !isMissing(error)) return path
    return join(await real(parent), basename(path))
  }
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** What is there; null for nothing. */
export async function statsOf({ path }: Place): Promise<Stats | null> {
  try {
    return await stat(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'ENOENT' || code === 'ENOTDIR'
}

export function notFound({ shown }: Place): FileError {
  return new FileError('NOT_FOUND', `There is no ${shown}. List the folder, or search, to see what there is.`)
}

/** Looking is free in the project and among temporary files. */
export async function permissionToLook(verb: string, written: string, context: ToolContext): Promise<PermissionRequest | null> {
  const place = await placeOf(written, context)
  return place.inProject || place.isTemporary ? null : { scope: 'read outside the project', title: `${verb} ${place.shown}` }
}
