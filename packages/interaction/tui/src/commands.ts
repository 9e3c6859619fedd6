/**
 * Commands of the interface: /context, /sessions, /fork, /model, /help, /quit.
 */
import type { Context } from '@deepseek-ai/cordis'
import { CommandError, usageOf, type Command } from '@deepseek-ai/dsh-commands'
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { SessionListing } from '@deepseek-ai/dsh-session'
import type { SelectItem } from '@earendil-works/pi-tui'
import type { Chat } from './chat.ts'
import { contextPicture, contextShares } from './context-picture.ts'
import { oneLine } from './text.ts'
import { ago, bytes, tokens } from './words.ts'

/** Keys, as /help tells them. */
const KEYS: readonly (readonly [key: string, does: string])[] = [
  ['Enter', 'send; while the agent works: joins its next step'],
  ['Alt+Enter', 'while the agent works: waits for the end of the turn'],
  ['Alt+Up', 'takes the newest words that wait back into the editor'],
  ['Ctrl+J, \\ Enter', 'a new line'],
  ['Up, Down', 'what was said before'],
  ['Esc', 'stops what goes on; words that wait go next'],
  ['PgUp, PgDn, wheel', 'scroll; Esc goes back to the end'],
  ['Ctrl+O, click', 'look back: Up and Down choose a line, Enter opens it'],
  ['Ctrl+T', 'open or fold all reasoning'],
  ['Ctrl+C', 'clears the editor; twice quits'],
  ['Ctrl+D', 'quits, when the editor is empty'],
]

export function interfaceCommands(ctx: Context, chat: Chat): Command[] {
  const idle = (): void => {
    if (chat.isWorking()) throw new CommandError('The agent is working. Press Esc to stop it, or wait until it is done.')
  }
  const model: Command = {
    name: 'model',
    description: 'Choose the model of the next requests',
    usage: '/model [provider/model]',
    async run(args, { signal }) {
      const items = chat.modelItems()
      const named = args === '' ? await chat.pick('Model', items, signal) : args
      if (named === null) return `Still ${chat.routeName()}.`
      const slash = named.indexOf('/')
      const [provider, name] = [named.slice(0, slash), named.slice(slash + 1)]
      if (slash < 1 || name === '') throw new CommandError(`Usage: ${usageOf(model)}`)
      const adapters = ctx.llm.list()
      if (!adapters.some(adapter => adapter.provider === provider)) {
        throw new CommandError(`There is no provider ${JSON.stringify(provider)}; there are ${adapters.map(adapter => adapter.provider).join(', ') || 'none'}.`)
      }
      chat.choose({ provider, model: name })
      const window = ctx.llm.resolveModelInfo(provider, name)?.contextWindow
      return `Requests go to ${provider}/${name} from now on${window === undefined ? '; its window is not known' : `, a window of ${tokens(window)} tokens`}.`
    },
  }
  return [
    {
      name: 'context',
      description: 'What fills the context window',
      run: (_args, { session }) => contextPicture(contextShares(session, ctx.tokenMeter.meter), chat.meter(), chat.routeName()),
    },
    {
      name: 'sessions',
      description: 'Go on with another session',
      usage: '/sessions [id]',
      async run(args, { session, signal }) {
        idle()
        const id = args === '' ? await chat.pick('Session', sessionItems(await ctx.sessions.list(), session.id), signal) : args
        if (id === null || id === session.id) return 'Still here.'
        idle()
        chat.turnTo(await orRefuse(() => ctx.sessions.resume(id)))
        return `Going on with ${id}.`
      },
    },
    {
      name: 'fork',
      description: 'Go on in a copy; this session stays as it is',
      async run(_args, { session }) {
        idle()
        const beforeCommand = session.log.length - 1 // its outcome is for this session alone
        const fork = await orRefuse(() => ctx.sessions.fork(session, beforeCommand))
        chat.turnTo(fork)
        return `Going on in ${fork.id}, a copy of ${session.id}.`
      },
    },
    model,
    {
      name: 'help',
      description: 'Commands and keys',
      run() {
        const commands = ctx.commands.list()
        const left = [...commands.map(usageOf), ...KEYS.map(([key]) => key)]
        const column = Math.max(...left.map(({ length }) => length)) + 2
        const line = (what: string, does: string): string => `${what.padEnd(column)}${does}`
        return [...commands.map(command => line(usageOf(command), command.description)), '', ...KEYS.map(([key, does]) => line(key, does))].join('\n')
      },
    },
    {
      name: 'quit',
      description: 'Leave; the session is kept',
      run() {
        chat.quitAfterCommand()
        return 'Bye.'
      },
    },
  ]
}

/** The newest first. */
function sessionItems(listings: readonly SessionListing[], currentId: string): SelectItem[] {
  return listings.toSorted((a, b) => b.modifiedAt - a.modifiedAt).map(listing => {
    const { header, modifiedAt, holder, title = '', tokens: used } = listing
    const facts = [
      ...(header.id === currentId ? ['this one'] : holder === undefined ? [] : [`open in process ${holder.pid}`]),
      ago(Date.now() - modifiedAt),
      ...(used === undefined ? [] : [`${tokens(used)} tokens`]),
      bytes(listing.bytes),
    ]
    return { value: header.id, label: oneLine(title) || `nothing said yet (${header.id})`, description: facts.join(' · ') }
  })
}

/** What a store refuses is meant for the person who asked. */
async function orRefuse<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new CommandError(messageOf(error), { cause: error })
  }
}
