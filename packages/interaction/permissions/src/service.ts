/**
 * `ctx.permissions`: who answers when a tool asks for permission.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import { untilAborted } from '@deepseek-ai/dsh-llm'
import type { PermissionAnswer, PermissionEvent, PermissionRequest } from '@deepseek-ai/dsh-tools'
import { z } from 'zod'
import { isGranted } from './grants.ts'
import { visible } from './visible.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    permissions: PermissionService
  }
}

/** A person's answer; `always` allows the scope for the rest of the session, `deny` says why in their words, or nothing. */
export type Answer = 'once' | 'always' | { readonly deny: string }

/** Puts one question to a person, its request spelled so that nothing in it hides. It takes the question away when `signal` aborts: then the answer does not matter any more. */
export type Asker = (question: PermissionEvent) => Promise<Answer>

const Config = z
  .strictObject({
    /** Whether calls that need permission wait for a person, or all run. */
    mode: z.enum(['ask', 'allow']).default('ask'),
  })
  .prefault({})

interface SeatedAsker {
  readonly ask: Asker
  /** Aborts when the asker goes. */
  readonly leaving: AbortController
}

export class PermissionService extends Service {
  static readonly Config = Config
  private mode: 'ask' | 'allow'
  private asker: SeatedAsker | null = null
  /** Settles when every earlier question is over; never rejects. */
  private queue: Promise<unknown> = Promise.resolve()

  constructor(ctx: Context, config: z.output<typeof Config> = { mode: 'ask' }) {
    super(ctx, 'permissions')
    this.mode = config.mode
    ctx.on('tools/permission', (event, next) => this.decide(event, next))
    ctx.on('session/loading', log => void isGranted(log, ''))
  }

  /**
   * Who asks the person from here on. Belongs to the calling context and goes with it; what it still asks then is asked by
   * nobody.
   *
   * @throws Error when somebody else asks.
   */
  setAsker(asker: Asker): () => void {
    return this.ctx.effect(() => {
      if (this.asker !== null) throw new Error('somebody asks for permission already')
      const seated = { ask: asker, leaving: new AbortController() }
      this.asker = seated
      return () => {
        this.asker = null
        seated.leaving.abort(new Error('who asked has left'))
      }
    }, 'ctx.permissions.setAsker()')
  }

  /** From here on nobody is asked and everything may be done: the person said yes to all of it. */
  allowAll(): void {
    this.mode = 'allow'
  }

  private async decide(event: PermissionEvent, next: () => Promise<PermissionAnswer>): Promise<PermissionAnswer> {
    if (this.isAllowed(event)) return ALLOW
    const turn = this.queue.then(() => this.ask(event))
    this.queue = turn.catch(() => {}) // whoever asked hears of it
    const answer = await turn
    if (answer !== null) return answer
    const decided = await next()
    return decided.kind === 'deny' ? { reason: UNATTENDED, ...decided } : decided
  }

  /** Null when there is nobody to ask. */
  private async ask(event: PermissionEvent): Promise<PermissionAnswer | null> {
    event.signal.throwIfAborted()
    if (this.isAllowed(event)) return ALLOW // by the answer to an earlier question
    if (this.asker === null) return null
    const { ask, leaving } = this.asker
    const signal = AbortSignal.any([event.signal, leaving.signal])
    let answer: Answer
    try {
      answer = await untilAborted(ask({ ...event, request: asShown(event.request), signal }), signal)
    } catch (error) {
      if (leaving.signal.aborted && !event.signal.aborted) return null
      throw error
    }
    if (answer === 'always') event.session?.append('permission/granted', { scope: event.request.scope })
    if (typeof answer === 'string') return ALLOW
    return answer.deny.trim() === '' ? { kind: 'deny' } : { kind: 'deny', reason: `The person says: ${answer.deny.trim()}` }
  }

  private isAllowed({ session, request }: PermissionEvent): boolean {
    return this.mode === 'allow' || (session !== undefined && isGranted(session, request.scope))
  }
}

function asShown({ scope, title, detail }: PermissionRequest): PermissionRequest {
  return { scope: visible(scope), title: visible(title), ...(detail === undefined ? {} : { detail: visible(detail) }) }
}

const ALLOW: PermissionAnswer = Object.freeze({ kind: 'allow' })

const UNATTENDED =
  'Nobody is here to be asked. Go on without it, and say in your answer what you could not do: a person can allow it in a terminal, or by starting with --yes.'
