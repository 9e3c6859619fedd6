/**
 * A conversation opened: its session, new or resumed where it was left, its model and its agent.
 */
import { chdir, cwd } from 'node:process'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { messageOf } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-permissions'
import { latestHeader, type Session, type SessionListing } from '@deepseek-ai/dsh-session'
import { chooseModel, type Route } from './choose-model.ts'
import type { CompositionFlags } from './composition.ts'
import { UsageError } from './exit.ts'

export interface ConversationFlags extends CompositionFlags {
  /** Where sessions are kept, in place of what the composition says. */
  readonly dir?: string | undefined
  /** As in `chooseModel`. */
  readonly model?: string | undefined
  /** A session's id. */
  readonly resume?: string | undefined
  /** The newest session of this folder. */
  readonly continue: boolean
  /** Nobody is asked for permission. */
  readonly yes: boolean
}

/** What a composition must provide for it. */
export const CONVERSATION_SERVICES = ['sessions', 'llm', 'agents'] as const

export interface Conversation {
  readonly agent: Agent
  readonly session: Session
  readonly route: Route
  /** Lets go of the agent, then of the session; everything is durable once this resolves. */
  close(): Promise<void>
}

/** @throws UsageError when there is no such session, or no model; nothing new is stored then. */
export async function openConversation(ctx: Context, flags: ConversationFlags): Promise<Conversation> {
  const resumed = await resumedSession(ctx, flags)
  const choice = chooseModel({
    flag: flags.model,
    env: process.env['DSH_MODEL'],
    last: resumed === null ? undefined : latestHeader(resumed)?.data.config,
    providers: ctx.llm.list(),
  })
  if ('refusal' in choice) {
    if (resumed !== null) await ctx.sessions.close(resumed)
    throw new UsageError(`${choice.refusal}; dsh doctor says what is understood`)
  }
  if (flags.yes) ctx.get('permissions')?.allowAll()
  const session = resumed ?? await ctx.sessions.create({ cwd: cwd() }).catch(refuse)
  const agent = ctx.agents.create(session, choice.route)
  return {
    agent,
    session,
    route: choice.route,
    close: async () => {
      await ctx.agents.release(agent)
      await ctx.sessions.close(session)
    },
  }
}

/** Null for a new conversation. */
async function resumedSession(ctx: Context, flags: ConversationFlags): Promise<Session | null> {
  const id = flags.resume ?? (flags.continue ? newestHere(await ctx.sessions.list()) : undefined)
  if (id === undefined) return null
  const session = await ctx.sessions.resume(id).catch(refuse)
  goWhereItWas(session)
  return session
}

function refuse(error: unknown): never {
  throw new UsageError(messageOf(error), { cause: error })
}

/** Of those that nobody holds, one in which something was said if there is one. */
function newestHere(listings: readonly SessionListing[]): string {
  const free = listings.filter(({ header, holder }) => header.cwd === cwd() && holder === undefined)
  const found = free.find(({ title }) => title !== undefined) ?? free[0]
  if (found === undefined) throw new UsageError(`no session of ${cwd()} can be continued; dsh sessions lists all`)
  return found.header.id
}

/** What it did was done in a folder, and goes on there. */
function goWhereItWas({ header }: Session): void {
  if (header.cwd === undefined || header.cwd === cwd()) return
  try {
    chdir(header.cwd)
  } catch (error) {
    process.stderr.write(`dsh: the session began in ${header.cwd}, which cannot be entered (${messageOf(error)}); until it can, its tools have no folder to work in\n`)
  }
}
