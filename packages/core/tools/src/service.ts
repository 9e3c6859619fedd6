/**
 * The tools of a context: `ctx.tools` knows them, shows them to a model and runs its calls.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import { untilAborted, type ToolCallBlock, type ToolSchema } from '@deepseek-ai/dsh-llm'
import { registerInvariant } from '@deepseek-ai/dsh-session'
import { argumentReader, type ArgumentReader } from './arguments.ts'
import { toolsInvariant } from './invariant.ts'
import { errorOutcome, outcomeOfReturn, outcomeOfThrow } from './tool.ts'
import type { Tool, ToolContext, ToolOutcome, ToolParameters } from './tool.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    tools: ToolService
  }
}

interface Registered {
  readonly tool: Tool
  readonly arguments: ArgumentReader
}

export class ToolService extends Service {
  private readonly registered = new Map<string, Registered>()
  /** Rebuilt when asked for after a change. */
  private shown: readonly ToolSchema[] | null = null

  constructor(ctx: Context) {
    super(ctx, 'tools')
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

  /** Runs one call. Never rejects: every failure is an outcome with `isError`. An abort answers at once, whatever the tool does. */
  async execute(call: ToolCallBlock, { signal, session }: Omit<ToolContext, 'callId'>): Promise<ToolOutcome> {
    const found = this.registered.get(call.name)
    if (found === undefined) return errorOutcome('TOOL_UNKNOWN', unknownTool(call.name, [...this.registered.keys()]))
    if (signal.aborted) return abortedOutcome()
    const args = found.arguments.read(call.arguments)
    if ('fault' in args) return errorOutcome('TOOL_ARGUMENTS_INVALID', args.fault)
    try {
      const context: ToolContext = { signal, callId: call.id, ...(session === undefined ? {} : { session }) }
      const returned = found.tool.execute(args.value as { readonly [key: string]: unknown }, context)
      return outcomeOfReturn(await untilAborted(Promise.resolve(returned), signal))
    } catch (error) {
      return signal.aborted ? abortedOutcome() : outcomeOfThrow(error)
    }
  }
}

function abortedOutcome(): ToolOutcome {
  return errorOutcome('ABORTED', 'The call was cancelled before it returned; whether it took effect is not known.', 'AbortError')
}

function unknownTool(name: string, known: readonly string[]): string {
  return `There is no tool "${name}". Available: ${known.length === 0 ? 'none' : known.join(', ')}.`
}
