/**
 * Walk: the files and folders below a folder, without what `.gitignore` files leave out.
 */
import ignore, { type Ignore } from 'ignore'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

export interface Entry {
  /** Relative to the folder that is walked, with slashes. */
  readonly path: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
}

export interface WalkOptions {
  readonly signal: AbortSignal
  /** 1 for what is in the folder itself. */
  readonly depth?: number
}

/** The rules of one `.gitignore` file. */
interface Rules {
  readonly folder: string
  readonly ignore: Ignore
}

/** By name, a folder before what is in it. Links are not followed, `.git` is left out. */
export async function* walk(root: string, { signal, depth = Infinity }: WalkOptions): AsyncGenerator<Entry, void, undefined> {
  yield* walkFolder(root, '', depth, await rulesAbove(root), signal)
}

async function* walkFolder(root: string, folder: string, depth: number, above: readonly Rules[], signal: AbortSignal): AsyncGenerator<Entry, void, undefined> {
  signal.throwIfAborted()
  const path = join(root, folder)
  const found = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (folder === '') throw error
    return [] // a folder that went, or may not be read, holds nothing for us
  })
  const own = found.some(({ name }) => name === '.gitignore') ? await rulesOf(path) : null
  const rules = own === null ? above : [...above, own]
  for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === '.git' || isIgnored(rules, join(path, entry.name), entry.isDirectory())) continue
    const inner = folder === '' ? entry.name : `${folder}/${entry.name}`
    const kind = entry.isDirectory() ? 'folder' : entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : 'other'
    yield { path: inner, kind }
    if (kind === 'folder' && depth > 1) yield* walkFolder(root, inner, depth - 1, rules, signal)
  }
}

/** The innermost file that says anything decides. What is in a folder that was entered is not judged by that folder again. */
function isIgnored(rules: readonly Rules[], path: string, isFolder: boolean): boolean {
  for (const { folder, ignore } of rules.toReversed()) {
    const { ignored, unignored } = ignore.test(relative(folder, path) + (isFolder ? '/' : ''))
    if (unignored) return false
    if (ignored) {
      const parent = relative(folder, dirname(path))
      if (parent === '' || !ignore.test(`${parent}/`).ignored) return true
    }
  }
  return false
}

/** Of the folders around one, up to the top of its repository; none where there is no repository. */
async function rulesAbove(root: string): Promise<Rules[]> {
  const top = await repositoryTop(root)
  const rules: Rules[] = []
  for (let folder = root; top !== null && folder !== top; ) {
    folder = dirname(folder)
    const found = await rulesOf(folder)
    if (found !== null) rules.unshift(found)
  }
  return rules
}

/** The folder with `.git` that this one belongs to. */
export async function repositoryTop(folder: string): Promise<string | null> {
  for (let at = folder; ; at = dirname(at)) {
    if (await stat(join(at, '.git')).then(() => true, () => false)) return at
    if (dirname(at) === at) return null
  }
}

/** Null where there are none, or none that can be read. */
async function rulesOf(folder: string): Promise<Rules | null> {
  const text = await readFile(join(folder, '.gitignore'), 'utf8').catch(() => null)
  return text === null ? null : { folder, ignore: ignore({ ignorecase: false }).add(text) }
}
