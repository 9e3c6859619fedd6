/**
 * A task that does not fit: a model reads parts of a text with the real shell, one after the other, and notes what it finds,
 * in a window that holds about half of them. The whole shipped composition works on it, in a folder of its own.
 */
import type { Context } from '@deepseek-ai/cordis'
import { promptTokens } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-permissions'
import type { SessionEvent, SessionEventType, SessionService } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { boot } from '../../apps/dsh/src/boot.ts'
import { chooseModel, type Route } from '../../apps/dsh/src/choose-model.ts'
import { INTERFACE } from '../../apps/dsh/src/composition.ts'
import { SHIPPED } from '../house.ts'

/** Tokens; whatever the model really has. */
export const LOWERED_WINDOW = 20_000
const MAX_TOKENS = 4_000
const PARTS = 10
/** Short enough that no result is pruned. */
const PART_CHARS = 7_500

const ASSIGNMENT = `This folder has ${PARTS} files, part-1.txt to part-${PARTS}.txt. Each has one line "code: " followed by a word.
Go through them in order. For each file make two calls of the shell tool, one a message: first \`cat part-N.txt\` and read it, then
append the word to codes.txt with \`echo WORD >> codes.txt\`. Do not use loops, grep or other shortcuts, and only the shell tool.
When all ${PARTS} words are in codes.txt, answer "finished".`

export interface TaskOutcome {
  /** How the turns ended. */
  readonly turns: readonly string[]
  readonly compactions: number
  /** Compactions that began and did not end well. */
  readonly failed: number
  /** Entries of the surface when the first compaction began, and right after. */
  readonly entries: { readonly before: number; readonly after: number }
  /** Tokens of the prompt as the provider counted them, of the last request before the first compaction and of the next. */
  readonly prompts: { readonly before: number; readonly after: number }
  /** The words that were to be found, and those that were noted. */
  readonly codes: { readonly hidden: readonly string[]; readonly noted: readonly string[] }
}

/** The model that the environment has a key for, `DSH_MODEL` before others; null without one. */
export async function routeOfEnvironment(): Promise<Route | null> {
  const ctx = await booted(new Map(), tmpdir())
  try {
    const choice = chooseModel({ env: process.env['DSH_MODEL'], providers: ctx.get('llm')!.list() })
    return 'route' in choice ? choice.route : null
  } finally {
    await ctx.fiber.dispose()
  }
}

/** Rows that lower the window of a model whose key is in the environment. */
export function lowered({ provider, model }: Route): ReadonlyMap<string, unknown> {
  const endpoint = { models: { [model]: { contextWindow: LOWERED_WINDOW } } }
  return new Map<string, unknown>([provider === 'deepseek' ? ['llm-deepseek', endpoint] : ['llm-ai-sdk', { providers: { [provider]: endpoint } }]])
}

export async function workOn(route: Route, rows: ReadonlyMap<string, unknown>): Promise<TaskOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'dsh-task-'))
  try {
    const hidden = hideCodes(folder)
    const ctx = await booted(rows, join(folder, '.sessions'))
    try {
      ctx.get('permissions')!.allowAll()
      const session = await ctx.get('sessions')!.create({ cwd: folder })
      const agent = ctx.get('agents')!.create(session, { ...route, maxTokens: MAX_TOKENS })
      const entries = { before: 0, after: 0 }
      ctx.on('session/event', (_session, { type }) => {
        if (type === 'compaction/start' && entries.before === 0) entries.before = session.surface.entries.length
        if (type === 'compaction/end' && entries.after === 0) entries.after = session.surface.entries.length
      })
      agent.send(ASSIGNMENT)
      await agent.whenIdle()
      expectReplays(session)
      return { ...outcomeOf(session), entries, codes: { hidden, noted: notedIn(folder) } }
    } finally {
      await ctx.fiber.dispose()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function booted(rows: ReadonlyMap<string, unknown>, dir: string): Promise<Context> {
  return boot({ path: SHIPPED, drop: INTERFACE, configs: new Map<string, unknown>([['session-persistence', { dir }], ...rows]) })
}

type Session = Awaited<ReturnType<SessionService['create']>>

function outcomeOf({ log }: Session): Pick<TaskOutcome, 'turns' | 'compactions' | 'failed' | 'prompts'> {
  const events = [...log.from(0)]
  const of = <T extends SessionEventType>(type: T) => events.filter((event): event is SessionEvent<T> => event.type === type)
  const first = of('compaction/start')[0]?.seq ?? Infinity
  const asked = of('assistant/message').map(({ seq, data: { usage } }) => ({ seq, tokens: usage === undefined ? 0 : promptTokens(usage) }))
  const ends = of('compaction/end')
  return {
    turns: of('turn/end').map(({ data }) => (data.reason === 'error' ? data.failure.code : data.reason)),
    compactions: ends.filter(({ data }) => data.error === undefined).length,
    failed: of('compaction/start').length - ends.filter(({ data }) => data.error === undefined).length,
    prompts: { before: asked.findLast(({ seq }) => seq < first)?.tokens ?? 0, after: asked.find(({ seq }) => seq > first)?.tokens ?? 0 },
  }
}

function hideCodes(folder: string): string[] {
  return Array.from({ length: PARTS }, (_, index) => {
    const code = `${['amber', 'birch', 'cedar', 'delta', 'ember'][index % 5]}${(index + 3) * 37}`
    const filler = Array.from({ length: PART_CHARS / 75 }, (_item, line) => `${index + 1}.${line} The report of this line says that nothing happened at post ${(line * 7919 + index) % 1_000}.`)
    filler.splice(filler.length >> 1, 0, `code: ${code}`)
    writeFileSync(join(folder, `part-${index + 1}.txt`), `${filler.join('\n')}\n`)
    return code
  })
}

/** Each once, in the order in which they were first noted; a model may well note one twice. */
function notedIn(folder: string): string[] {
  try {
    return [...new Set(readFileSync(join(folder, 'codes.txt'), 'utf8').split(/\s+/).filter(word => word !== ''))]
  } catch {
    return []
  }
}
