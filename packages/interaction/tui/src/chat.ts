/**
 * Chat: one agent on the screen, and everything that a person does to it.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent'
import { pendingInput } from '@deepseek-ai/dsh-agent'
import { parseCommand } from '@deepseek-ai/dsh-commands'
import { liveCompaction } from '@deepseek-ai/dsh-compaction'
import type {} from '@deepseek-ai/dsh-compaction-basic'
import { messageOf, textOf } from '@deepseek-ai/dsh-llm'
import type { Message } from '@deepseek-ai/dsh-llm'
import type {} from '@deepseek-ai/dsh-llm-retry'
import type { Answer } from '@deepseek-ai/dsh-permissions'
import { isPersonSource, latestContext, latestHeader, openStep, openTurn, pendingCalls, type Seq, type Session } from '@deepseek-ai/dsh-session'
import type {} from '@deepseek-ai/dsh-token-meter'
import type { PermissionEvent } from '@deepseek-ai/dsh-tools'
import type { SelectItem, SlashCommand, Terminal } from '@earendil-works/pi-tui'
import { eventAt } from './canvas.ts'
import { costOf, lastCompaction, saidSeqs } from './facts.ts'
import { Live } from './live.ts'
import { Questions } from './questions.ts'
import { Screen, type ScreenHost } from './screen.ts'
import type { Activity, Meter, Status } from './status.ts'
import { oneLine } from './text.ts'
import type { Theme } from './theme.ts'
import { Timeline } from './timeline.ts'

export interface Route {
  readonly provider: string
  readonly model: string
}

interface RunningCommand {
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly since: number
  readonly controller: AbortController
}

export interface ChatInit {
  readonly agent: Agent
  readonly intro?: string
  readonly terminal: Terminal
  readonly theme: Theme
}

/** Earlier words that the arrow keys bring back. */
const HISTORY = 100

export class Chat implements ScreenHost {
  private readonly ctx: Context
  private readonly screen: Screen
  private readonly questions: Questions
  private current: Agent
  private shown: Timeline
  /** Set by /model, for every agent of this screen. */
  private chosenRoute: Route | null = null
  /** What a command decided, and is done once its outcome is logged. */
  private afterCommand: (() => Promise<void>) | null = null
  /** Those that run, the oldest first. */
  private readonly running = new Set<RunningCommand>()
  private listening: readonly (() => void)[] = []
  /** Resolves what `run` waits for; null while nothing runs. */
  private leave: (() => void) | null = null

  constructor(ctx: Context, { agent, intro, terminal, theme }: ChatInit) {
    this.ctx = ctx
    this.current = agent
    this.shown = this.timelineOf(agent)
    this.screen = new Screen(terminal, theme, this)
    this.questions = new Questions(this.screen, theme)
    if (intro !== undefined) this.shown.notice(intro, 'info')
  }

  get agent(): Agent {
    return this.current
  }

  /** Resolves when the person quits, or somebody else makes them; the terminal is theirs again then. */
  run(): Promise<void> {
    return new Promise(resolve => {
      this.leave = resolve
      this.listening = this.listen()
      this.remember()
      this.screen.start()
    })
  }

  /** At once, since what the next frame asks may be gone. */
  quit(): void {
    if (this.leave === null) return
    for (const stop of this.listening) stop()
    this.screen.stop()
    for (const { controller } of this.running) controller.abort()
    this.questions.leave()
    this.leave()
    this.leave = null
  }

  /** Tells the person something that belongs to no log. */
  notice(text: string, level: 'info' | 'warning'): void {
    this.shown.notice(text, level)
    this.screen.changed()
  }

  // ── what the screen asks ─────────────────────────────────────────────────────────────────────────────────────────────

  timeline(): Timeline {
    return this.shown
  }

  readonly estimateMessage = (message: Message): number => this.ctx.tokenMeter.meter.estimateMessage(message)

  status(): Status {
    const { session, id } = this.current
    const last = lastCompaction(session)
    return {
      route: this.routeName(),
      meter: this.meter(),
      compaction: last === null ? null : {
        beforeTokens: last.shadowedTokens,
        afterTokens: this.estimateMessage({ role: 'user', content: eventAt(session.log, last.checkpointSeq, 'user/message').data.content }),
        turn: last.turn,
        agoMs: Date.now() - last.endedAt,
      },
      cost: costOf(session, (provider, model) => this.ctx.llm.resolveModelInfo(provider, model)?.prices),
      title: this.title(),
      id,
    }
  }

  meter(): Meter {
    const { session } = this.current
    const { totalTokens, basis } = this.ctx.tokenMeter.meter.measure(session)
    const route = this.route()
    const context = latestContext(session)?.data
    // What was just chosen has sent nothing yet, and the engine speaks of the route before.
    const isNew = context === undefined ? this.chosenRoute !== null : context.provider !== route?.provider || context.model !== route.model
    const windowTokens = (isNew ? undefined : context?.contextWindow) ?? (route === null ? undefined : this.ctx.llm.resolveModelInfo(route.provider, route.model)?.contextWindow) ?? null
    return {
      totalTokens,
      isMeasured: basis === 'usage',
      windowTokens,
      thresholdTokens: windowTokens === null || isNew ? null : (this.ctx.get('compaction')?.thresholdTokens(this.current) ?? null),
    }
  }

  /** What the next request goes to, as far as it is known. */
  route(): Route | null {
    if (this.chosenRoute !== null) return this.chosenRoute
    const { session, options: { provider, model } } = this.current
    if (provider !== undefined && model !== undefined) return { provider, model }
    return latestHeader(session)?.data.config ?? null
  }

  routeName(): string {
    const route = this.route()
    return route === null ? 'no model' : `${route.provider}/${route.model}`
  }

  doing(): Activity['doing'] {
    const { live } = this.shown
    if (this.screen.isAsking) return null
    const [command] = this.running
    if (command !== undefined) return { words: command.name === 'compact' ? 'Compacting' : `/${command.name}`, ms: Date.now() - command.since }
    if (!this.isWorking()) return null
    const compaction = liveCompaction(this.current.session)
    if (compaction !== null) return { words: 'Compacting', ms: Date.now() - this.current.session.log.at(compaction.startSeq).time }
    const ms = Date.now() - (live.turnStartedAt ?? Date.now())
    if (live.retry !== null) {
      const seconds = Math.max(0, Math.ceil((live.retry.until - Date.now()) / 1_000))
      return { words: `${live.retry.reason} · again in ${seconds}s ·`, ms }
    }
    return { words: this.words(), ms }
  }

  private words(): string {
    const { session } = this.current
    const [call, ...others] = pendingCalls(session)
    if (call !== undefined) return others.length === 0 ? `Running ${call.name}` : `Running ${others.length + 1} tools`
    const streaming = this.shown.live.blocks().at(-1)
    switch (streaming?.kind) {
      case 'answer':
        return 'Answering'
      case 'reasoning':
        return 'Thinking'
      case 'call':
        return 'Writing a call'
      default:
        return 'Waiting for the model'
    }
  }

  waiting(): ReturnType<ScreenHost['waiting']> {
    return pendingInput(this.current.session).filter(({ source }) => isPersonSource(source)).map(({ kind, content }) => ({ kind, text: textOf(content) }))
  }

  isWorking(): boolean {
    return this.current.status === 'running'
  }

  isInTurn(): boolean {
    return openTurn(this.current.session) !== null
  }

  commands(): SlashCommand[] {
    return this.ctx.commands.list().map(({ name, description }) => ({
      name,
      description,
      ...(name === 'model' ? { getArgumentCompletions: (prefix: string) => this.modelItems().filter(({ value }) => value.includes(prefix)) } : {}),
    }))
  }

  cwd(): string {
    return this.current.session.header.cwd ?? process.cwd()
  }

  submit(words: string, when: 'now' | 'later'): void {
    try {
      if (words === '') this.current.wake()
      else if (parseCommand(words) !== null) void this.execute(words)
      else if (when === 'now' && this.isInTurn()) this.current.steer(words)
      else this.current.send(words)
    } catch (error) {
      this.notice(`This could not be said: ${messageOf(error)}`, 'warning')
    }
    this.screen.changed()
  }

  cancel(): void {
    for (const { controller } of this.running) controller.abort()
    this.current.cancel('user')
  }

  takeBack(): string | null {
    const last = pendingInput(this.current.session).findLast(({ source }) => isPersonSource(source))
    if (last === undefined || !this.current.withdraw(last.inputId)) return null
    return textOf(last.content)
  }

  // ── what commands ask ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Null when the person chose nothing. */
  pick(title: string, items: readonly SelectItem[], signal: AbortSignal): Promise<string | null> {
    return this.questions.pick(title, items, signal)
  }

  modelItems(): SelectItem[] {
    return this.ctx.llm.list().flatMap(({ provider, models = [], origin }) =>
      models.map(model => ({ value: `${provider}/${model}`, label: `${provider}/${model}`, ...(origin === undefined ? {} : { description: origin }) })))
  }

  choose(route: Route): void {
    this.chosenRoute = route
    this.screen.changed()
  }

  /** Shows another session once the command is done. */
  turnTo(session: Session): void {
    this.afterCommand = () => this.switchTo(session)
  }

  quitAfterCommand(): void {
    this.afterCommand = async () => this.quit()
  }

  // ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async execute(line: string): Promise<void> {
    const { name } = parseCommand(line)!
    const controller = new AbortController()
    const running = { name, since: Date.now(), controller }
    this.running.add(running)
    try {
      await this.ctx.commands.execute(line, this.current, controller.signal)
    } catch (error) {
      this.notice(`${line}: ${messageOf(error)}`, 'warning')
    }
    this.running.delete(running)
    const next = this.afterCommand
    this.afterCommand = null
    try {
      await next?.()
    } catch (error) {
      this.notice(messageOf(error), 'warning')
    }
    this.screen.changed()
  }

  private async switchTo(session: Session): Promise<void> {
    const before = this.current
    const options: AgentOptions = { ...before.options, ...this.chosenRoute }
    this.current = this.ctx.agents.create(session, options)
    this.shown = this.timelineOf(this.current)
    this.remember()
    this.screen.turnedTo()
    await this.ctx.agents.release(before)
    await this.ctx.sessions.close(before.session)
  }

  private timelineOf({ session, status }: Agent): Timeline {
    return new Timeline(session, new Live(openStep(session), status === 'running' ? Date.now() : null))
  }

  private remember(): void {
    for (const seq of saidSeqs(this.current.session).slice(-HISTORY)) this.screen.editor.addToHistory(this.said(seq))
  }

  private title(): string {
    const [first] = saidSeqs(this.current.session)
    return first === undefined ? '' : oneLine(this.said(first))
  }

  private said(seq: Seq): string {
    return textOf(eventAt(this.current.session.log, seq, 'user/message').data.content)
  }

  private listen(): (() => void)[] {
    const { ctx } = this
    const isShown = (session: Session | undefined): boolean => session === this.current.session
    const changes = (when: boolean, work: () => void): void => {
      if (!when) return
      work()
      this.screen.changed()
    }
    const permissions = ctx.get('permissions')
    return [
      ctx.on('session/event', (session, event) => changes(isShown(session), () => this.shown.live.event(event))),
      ctx.on('agent/delta', (agent, chunk) => changes(agent === this.current, () => this.shown.live.chunk(chunk))),
      ctx.on('agent/status', (agent, status) => changes(agent === this.current, () => void (status === 'idle' && this.shown.live.rest()))),
      ctx.on('tools/output', ({ callId, session, text }) => changes(isShown(session), () => this.shown.live.output(callId, text))),
      ctx.on('compaction/rung', (session, rung) => changes(isShown(session), () => this.shown.live.rungs.push(rung))),
      ctx.on('compaction/notice', (session, notice) => changes(isShown(session), () => this.shown.notice(notice, 'info'))),
      ctx.on('llm/retry-wait', (session, { failure, until, retry, maxRetries }) =>
        changes(isShown(session), () => void (this.shown.live.retry = { reason: `${failure.code} · try ${retry + 1} of ${maxRetries + 1}`, until }))),
      ctx.on('llm/retry-wait-ended', session => changes(isShown(session), () => void (this.shown.live.retry = null))),
      // Prepended: a person's choice is what the others judge.
      ctx.on('agent/request', async (event, next) => {
        if (event.agent === this.current && this.chosenRoute !== null) event.config = { ...event.config, ...this.chosenRoute }
        return next()
      }, { prepend: true }),
      // Around all who decide: a call that waits for its turn to be asked about waits as well.
      ctx.on('tools/permission', async ({ call, session }, next) => {
        const { live } = this.shown
        changes(isShown(session), () => live.asks(call.id, Date.now()))
        try {
          return await next()
        } finally {
          changes(isShown(session), () => live.answered(call.id, Date.now()))
        }
      }, { prepend: true }),
      ...(permissions === undefined ? [] : [permissions.setAsker(question => this.permit(question))]),
    ]
  }

  private async permit(question: PermissionEvent): Promise<Answer> {
    const choice = await this.questions.permission(question)
    if (typeof choice === 'string') return choice
    if (choice.stop) this.current.cancel('user')
    return { deny: choice.deny }
  }
}
