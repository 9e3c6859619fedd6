/**
 * The composition that a command boots: the shipped file or a person's own, without the rows that a command has no use for.
 */
import type { Context } from '@deepseek-ai/cordis'
import InvariantService from '@deepseek-ai/dsh-invariants'
import { fileURLToPath } from 'node:url'
import { boot, BootError, type BootOptions } from './boot.ts'
import { UsageError } from './exit.ts'

export const SHIPPED = fileURLToPath(new URL('../../../examples/tui-agent/cordis.yml', import.meta.url))

/** The row that says where sessions are kept. */
const STORE_ROW = 'session-persistence'

/** What needs a terminal. */
export const INTERFACE: ReadonlySet<string> = new Set(['@deepseek-ai/dsh-tui'])

/**
 * What would stand in a recording's way: it brings its own system prompt and its own tools, which may have the names of ours,
 * and its model answers for every provider.
 */
export const LIVE_ONLY: ReadonlySet<string> = new Set([
  '@deepseek-ai/dsh-system-prompt/coding-agent',
  '@deepseek-ai/dsh-tool-files',
  '@deepseek-ai/dsh-tool-shell',
  '@deepseek-ai/dsh-llm-ai-sdk',
  '@deepseek-ai/dsh-llm-deepseek',
])

/** No key, no model to summarize with: the same engine with the digest. */
export const DIGEST_FOR_MODEL: ReadonlyMap<string, string> = new Map([['@deepseek-ai/dsh-compaction-basic', '@deepseek-ai/dsh-compaction-digest']])

/** Understood by every command that boots a composition. */
export interface CompositionFlags {
  /** A file in place of the shipped one. */
  readonly config?: string | undefined
  readonly invariants: boolean
}

export interface CompositionNeeds extends Pick<BootOptions, 'drop' | 'swaps'> {
  /** Where sessions are kept, in place of what the file says. */
  readonly dir?: string | undefined
}

/** The context is the caller's to dispose of. @throws UsageError naming every row that is not active. */
export async function bootComposition({ config, invariants }: CompositionFlags, { dir, ...needs }: CompositionNeeds): Promise<Context> {
  const configs = new Map(dir === undefined ? [] : [[STORE_ROW, { dir }]])
  const ctx = await boot({ path: config ?? SHIPPED, configs, ...needs }).catch(error => {
    throw error instanceof BootError ? new UsageError(error.message, { cause: error }) : error
  })
  if (invariants) await ctx.plugin(InvariantService)
  return ctx
}

/**
 * Runs `task` where the named services are at hand.
 *
 * @throws UsageError naming those that the composition lacks; else what `task` throws.
 */
export async function withServices<T>(root: Context, names: readonly string[], task: (ctx: Context) => Promise<T>): Promise<T> {
  const missing = names.filter(name => root.get(name) === undefined)
  if (missing.length > 0) throw new UsageError(`the composition has no row that provides ${missing.join(', ')}`)
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const fiber = root.inject([...names], ctx => {
    task(ctx).then(resolve, reject)
  })
  try {
    return await promise
  } finally {
    await fiber.dispose()
  }
}
