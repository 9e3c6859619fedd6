/**
 * The tools of a context: `ctx.tools` knows them, shows them to a model and runs its calls.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import { busOf, untilAborted, type ToolCallBlock, type ToolSchema } from '@deepseek-ai/dsh-llm'
import { registerInvariant, teller, type Session, type Tell } from '@deepseek-ai/dsh-session'
import { argumentReader, type ArgumentReader } from './arguments.ts'
import { toolsInvariant } from './invariant.ts'
import { errorOutcome, outcomeOfReturn, outcomeOfThrow } from './tool.ts'
import type { PermissionAnswer, PermissionRequest, Tool, ToolContext, ToolOutcome, ToolParameters } from './tool.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    tools: ToolService
  }
  interface Events {
    /**
     * Around a call that needs permission; the waiting ends when `signal` aborts. A listener that does not decide passes on
     * what `next()` gives. Where nobody decides, that is a denial without a reason.
     */
    'tools/permission'(event: PermissionEvent, next: () => Promise<PermissionAnswer>): Promise<PermissionAnswer>
    /** What a running call says, as it says it. A listener that throws is logged and does not stop the others. */
    'tools/output'(output: ToolOutput): void
  }
}

export interface PermissionEvent {
  readonly call: ToolCallBlock
  readonly request: PermissionRequest
  readonly session?: Session
  readonly signal: AbortSignal
}

export interface ToolOutput {
  readonly callId: string
  readonly session?: Session
  readonly text: string
}

interface Registered {
  readonly tool: Tool
  readonly arguments: ArgumentReader
}

export class ToolService extends Service {
  private readonly registered = new Map<string, Registered>()
  /** Rebuilt when asked for after a change. */
  private shown: readonly ToolSchema[] | null = null
  private readonly bus: Context['events']
  private readonly tell: Tell

  constructor(ctx: Context) {
    super(ctx, 'tools')
    this.bus = busOf(ctx)
    this.tell = teller(ctx, 'tools')
    registerInvariant(ctx, toolsInvariant)
  }

  /**
   * Belongs to the calling context and goes with it; a call that runs then is not cut short.
   *
   * @throws Error when the name is taken or the parameters cannot be shown to a model.
   */
  registerTool<P extends ToolParameters>(tool: Tool<P>): () => void {
    const { name } = tool
    return this.ctx.effect(() => {
      if (this.registered.has(name)) throw new Error(`a tool "${name}" is registered already`)
      this.registered.set(name, { tool: tool as unknown as Tool, arguments: argumentReader(tool.parameters) })
      this.shown = null
      return () => {
        this.registered.delete(name)
        this.shown = null
      }
    }, `ctx.tools.registerTool(${JSON.stringify(name)})`)
  }

  /** What a model is told of the tools, in the order of their registration; the same array while nothing changes. */
  schemas(): readonly ToolSchema[] {
    this.shown ??= Object.freeze(
      [...this.registered.values()].map(({ tool: { name, description }, arguments: { schema } }) => ({
        name,
        ...(description === undefined ? {} : { description }),
        parameters: schema,
      })),
    )
    return this.shown
  }

  /** Whether calls of this tool may run beside others that may, too. */
  isParallel(name: string): boolean {
    return this.registered.get(name)?.tool.parallel === true
  }

  /**
   * Runs one call, when it is allowed. Never rejects: every failure is an outcome with `isError`. An abort answers at once,
   * whatever the tool does and whoever is still asked.
   */
  async execute(call: ToolCallBlock, { signal, session }: Pick<ToolContext, 'signal' | 'session'>): Promise<ToolOutcome> {
    const found = this.registered.get(call.name)
    if (found === undefined) return errorOutcome('TOOL_UNKNOWN', unknownTool(call.name, [...this.registered.keys()]))
    if (signal.aborted) return abortedOutcome(NOT_RUN)
    const read = found.arguments.read(call.arguments)
    if ('fault' in read) return errorOutcome('TOOL_ARGUMENTS_INVALID', read.fault)
    const { tool } = found
    const { tell } = this
    const args = read.value as { readonly [key: string]: unknown }
    const about = { callId: call.id, ...(session === undefined ? {} : { session }) }
    let running = true
    const output = (text: string): void => {
      if (running) tell('tools/output', { ...about, text })
    }
    const context: ToolContext = { signal, ...about, output }
    let cancelled = NOT_RUN
    try {
      if (tool.permission !== undefined) {
        const answer = await untilAborted(this.permissionOf(call, tool.permission(args, context), context), signal)
        if (answer.kind !== 'allow') return errorOutcome('PERMISSION_DENIED', denied(answer.reason), 'PermissionError')
      }
      cancelled = OUTCOME_UNKNOWN
      return outcomeOfReturn(await untilAborted(Promise.resolve(tool.execute(args, context)), signal))
    } catch (error) {
      return signal.aborted ? abortedOutcome(cancelled) : outcomeOfThrow(error)
    } finally {
      running = false
    }
  }

  private async permissionOf(call: ToolCallBlock, asked: ReturnType<Tool['permission'] & {}>, { signal, session }: ToolContext): Promise<PermissionAnswer> {
    const request = await asked
    if (request === null) return { kind: 'allow' }
    const event: PermissionEvent = { call, request, ...(session === undefined ? {} : { session }), signal }
    return this.bus.waterfall('tools/permission', event, async () => ({ kind: 'deny' }))
  }
}

const NOT_RUN = 'The call was cancelled before it was run.'
const OUTCOME_UNKNOWN = 'The call was cancelled before it returned; whether it took effect is not known.'

function abortedOutcome(text: string): ToolOutcome {
  return errorOutcome('ABORTED', text, 'AbortError')
}

const NO_REASON = 'Do not try the same in another way: go on without it, or ask what to do instead.'

function denied(reason: string = NO_REASON): string {
  return `The call was not run: permission was denied. ${reason}`
}

function unknownTool(name: string, known: readonly string[]): string {
  return `There is no tool "${name}". Available: ${known.length === 0 ? 'none' : known.join(', ')}.`
}
