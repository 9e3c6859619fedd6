/**
 * Boot: a composition file brought to life, all of it or nothing.
 *
 * The loader itself goes on without a row that fails; here every row must be active, or the boot is refused with the name of
 * each that is not, and why.
 */
import { Context, type Fiber } from '@deepseek-ai/cordis'
import { Include } from '@deepseek-ai/cordis-plugin-include'
import { Loader, type EntryOptions } from '@deepseek-ai/cordis-plugin-loader'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { pathToFileURL } from 'node:url'
import { StderrLog } from './stderr-log.ts'

export interface BootOptions {
  /** The YAML file: a list of rows, each with an id and the package it loads. It is only read. */
  readonly path: string
  /** Packages to load in place of those the file names. */
  readonly swaps?: ReadonlyMap<string, string>
  /** Packages whose rows load nothing. */
  readonly drop?: ReadonlySet<string>
  /** Configuration in place of that in the file, by row id. */
  readonly configs?: ReadonlyMap<string, unknown>
}

/** Some rows are not active; the message names each, and why. */
export class BootError extends Error {
  override readonly name = 'BootError'
}

/** The context is the caller's to dispose of. @throws BootError, with nothing left running. */
export async function boot(options: BootOptions): Promise<Context> {
  const ctx = new Context()
  new StderrLog(ctx)
  await ctx.plugin(Loader, { baseUrl: pathToFileURL(`${process.cwd()}/`).href })
  const loader = ctx.get('loader')!
  const { path, swaps = new Map(), drop = new Set(), configs = new Map() } = options
  loader.builtins['include'] = compositionOf(swaps, drop)
  const patches = [...configs].map(([id, config]) => ({ id, config }))
  await loader.create({ name: 'cordis:include', config: { path: pathToFileURL(path).href, patches } })
  await loader.await()
  const faults = await faultsOf(loader)
  if (faults.length === 0) return ctx
  await ctx.fiber.dispose()
  throw new BootError([`${path} cannot be booted:`, ...faults].join('\n  '))
}

/** The ids of the rows of a booted composition that are loaded, in the order of the file. */
export function rowsOf(ctx: Context): string[] {
  const [include] = Object.values(ctx.get('loader')?.store ?? {})
  return (include?.subtree?.root.data ?? []).filter(({ disabled }) => disabled !== true).map(({ id }) => id)
}

/** The file's tree: never written back, and it remembers why an import failed. */
function compositionOf(swaps: ReadonlyMap<string, string>, drop: ReadonlySet<string>): typeof Composition {
  return class extends Composition {
    protected override readonly swaps = swaps
    protected override readonly drop = drop
  }
}

class Composition extends Include {
  readonly importErrors = new Map<string, unknown>()
  protected readonly swaps: ReadonlyMap<string, string> = new Map()
  protected readonly drop: ReadonlySet<string> = new Set()

  override write(): void {}

  override async import(name: string, getOuterStack?: () => string[]): Promise<unknown> {
    if (this.drop.has(name)) return { default: () => {} }
    try {
      return await super.import(this.swaps.get(name) ?? name, getOuterStack)
    } catch (error) {
      this.importErrors.set(name, error)
      throw error
    }
  }
}

async function faultsOf(loader: Loader): Promise<string[]> {
  const [include] = Object.values(loader.store)
  const fault = await fiberFault(include?.fiber)
  if (fault !== null || !(include?.subtree instanceof Composition)) return [fault ?? 'it is no composition']
  const { subtree } = include
  const faults: string[] = []
  for (const [index, row] of subtree.root.data.entries()) {
    if (typeof row !== 'object' || row === null) {
      faults.push(`row ${index + 1} is no mapping with an id and a name: ${JSON.stringify(row)}`)
      continue
    }
    const why = await rowFault(subtree, row)
    if (why !== null) faults.push(`${row.id} (${row.name}): ${why.replaceAll('\n', '\n    ')}`)
  }
  return faults
}

async function rowFault(tree: Composition, row: EntryOptions): Promise<string | null> {
  const entry = tree.store[row.id]
  if (entry?.options !== row) return 'another row has the same id'
  if (row.disabled === true) return null
  if (typeof row.name !== 'string') return 'it names no package'
  if (entry.fiber !== undefined) return (await fiberFault(entry.fiber)) ?? configFault(row, entry.fiber)
  const error = tree.importErrors.get(row.name)
  return error === undefined ? 'its module exports no plugin' : messageOf(error)
}

/** The packages of the harness refuse what they do not know; those without a schema know nothing. */
function configFault({ name, config }: EntryOptions, fiber: Fiber): string | null {
  if (!name.startsWith('@deepseek-ai/dsh-') || fiber.runtime?.Config !== undefined) return null
  const keys = Object.keys(Object(config))
  return keys.length === 0 ? null : `it takes no configuration: ${keys.join(', ')}`
}

/** As cordis numbers them; the enumeration itself exists for the compiler only. */
const PENDING = 0
const ACTIVE = 2

async function fiberFault(fiber: Fiber | undefined): Promise<string | null> {
  if (fiber === undefined) return 'it was not loaded'
  try {
    await fiber.await()
  } catch (error) {
    return messageOf(error)
  }
  const state: number = fiber.state
  if (state === ACTIVE) return null
  if (state !== PENDING) return 'it was unloaded'
  const missing = Object.keys(fiber.inject).filter(name => fiber.ctx.get(name) === undefined)
  return `it waits for ${missing.map(name => `"${name}"`).join(', ')}, which no active row provides`
}
