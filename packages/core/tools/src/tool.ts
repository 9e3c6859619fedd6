/**
 * Tools: what a model can call, and what becomes of a call.
 *
 * Pure. A call never throws: whatever goes wrong is a result that the model can read.
 */
import { messageOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import type { Session } from '@deepseek-ai/dsh-session'
import type * as z from 'zod'

export type JsonSchema = { readonly [key: string]: unknown }

/** How arguments are described: a zod schema, which also gives them their type, or a JSON Schema as it is sent. */
export type ToolParameters = z.ZodType | JsonSchema

export type ToolArguments<P extends ToolParameters> = P extends z.ZodType ? z.output<P> : { readonly [key: string]: unknown }

export interface ToolContext {
  /** Aborts when the call is cancelled; its result is `ABORTED` then, whatever the tool still returns. */
  readonly signal: AbortSignal
  readonly callId: string
  readonly session?: Session
  /** Shows what a call says while it runs. Live only: nothing of it is logged, the result says what counts. */
  readonly output: (text: string) => void
}

/** What a call is about to do that a person may want to have a say in. */
export interface PermissionRequest {
  /** What "always" would allow: calls that ask with the same scope. Short and stable, such as `write` or `shell: npm test`. */
  readonly scope: string
  /** One line: what will be done. */
  readonly title: string
  /** The whole of it, where a line does not say all: a script, a diff. */
  readonly detail?: string
}

export type PermissionAnswer = { readonly kind: 'allow' } | { readonly kind: 'deny'; readonly reason?: string }

/** What a tool answers: text, blocks, or blocks with a verdict. */
export type ToolReturn = string | readonly ContentBlock[] | ToolOutcome

export interface Tool<P extends ToolParameters = ToolParameters> {
  readonly name: string
  readonly description?: string
  readonly parameters: P
  /** Whether calls of one message may run at the same time as neighbouring calls that may, too. Default: one after the other. */
  readonly parallel?: boolean
  /** What these arguments need permission for; null for nothing. A throw is a failure of the call. */
  permission?(args: ToolArguments<P>, context: ToolContext): PermissionRequest | null | Promise<PermissionRequest | null>
  /** What it throws becomes an error result: the message for the model, the error's name and `code` for programs. */
  execute(args: ToolArguments<P>, context: ToolContext): ToolReturn | Promise<ToolReturn>
}

export interface ToolOutcome {
  readonly content: readonly ContentBlock[]
  readonly isError?: true
  readonly error?: { readonly name: string; readonly code: string }
  /** For programs and interfaces; a model never sees it. Plain JSON. */
  readonly meta?: { readonly [key: string]: unknown }
}

export function errorOutcome(code: string, text: string, name = 'ToolError'): ToolOutcome {
  return { content: [{ type: 'text', text }], isError: true, error: { name, code } }
}

/** The outcome of whatever a tool threw. */
export function outcomeOfThrow(thrown: unknown): ToolOutcome {
  const { name, code } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as { name?: unknown; code?: unknown }
  return errorOutcome(
    typeof code === 'string' ? code : 'TOOL_FAILED',
    messageOf(thrown) || 'The tool failed without saying why.',
    typeof name === 'string' ? name : 'Error',
  )
}

/** The outcome of whatever a tool returned. */
export function outcomeOfReturn(returned: unknown): ToolOutcome {
  if (typeof returned === 'string') return { content: returned === '' ? [] : [{ type: 'text', text: returned }] }
  if (isContent(returned)) return { content: returned }
  if (typeof returned === 'object' && returned !== null && isContent((returned as ToolOutcome).content)) return returned as ToolOutcome
  return errorOutcome('TOOL_RESULT_INVALID', 'The tool returned neither text nor content blocks.')
}

function isContent(value: unknown): value is readonly ContentBlock[] {
  return Array.isArray(value) && value.every(block => typeof block?.type === 'string')
}
