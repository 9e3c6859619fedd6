/**
 * The notation of the script: what the person says, what the model says, which calls it makes.
 *
 * A text may be a function of what the step before returned, so that what it says about an output is read off that output.
 */

export interface PlannedCall {
  readonly tool: string
  readonly args: { readonly [key: string]: unknown }
  /** What the script was written for; the recording stops where reality differs. `either` for searches that may be empty. */
  readonly ends: 'well' | 'badly' | 'either'
}

/** `results` are the whole results of the step before, of those calls that look at something: not of todo, write and edit. */
export type Say = string | ((results: readonly string[]) => string)

export interface Step {
  readonly kind: 'step'
  readonly text: Say
  readonly reasoning?: string
  readonly calls: readonly PlannedCall[]
  /** The person interrupts: the calls are made but nothing comes back. */
  readonly cutOff?: true
}

export interface Request {
  readonly kind: 'person'
  readonly text: string
}

export type Line = Step | Request

export const person = (text: string): Request => ({ kind: 'person', text })

export const step = (text: Say, ...calls: readonly PlannedCall[]): Step => ({ kind: 'step', text, calls })

/** The same, thinking first. */
export const thought = (reasoning: string, text: Say, ...calls: readonly PlannedCall[]): Step => ({ kind: 'step', reasoning, text, calls })

export const answer = (text: Say): Step => ({ kind: 'step', text, calls: [] })

export const cutOff = (text: string, ...calls: readonly PlannedCall[]): Step => ({ kind: 'step', text, calls, cutOff: true })

const call = (tool: string, args: PlannedCall['args']): PlannedCall => ({ tool, args, ends: 'well' })

export const shell = (command: string): PlannedCall => call('shell', { command })
export const read = (path: string, offset?: number, limit?: number): PlannedCall =>
  call('read', { path, ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) })
export const list = (path: string): PlannedCall => call('list', { path })
export const search = (pattern: string, path: string): PlannedCall => call('search', { pattern, path })
export const write = (path: string, content: string): PlannedCall => call('write', { path, content })
export const edit = (path: string, oldText: string, newText: string): PlannedCall => call('edit', { path, oldText, newText })

/** The whole list, one item a line: `x` done, `>` in progress, `-` pending. */
export const todo = (...items: readonly string[]): PlannedCall =>
  call('todo', {
    todos: items.map(item => ({
      content: item.slice(2),
      status: item.startsWith('x') ? 'completed' : item.startsWith('>') ? 'in_progress' : 'pending',
    })),
  })

export const badly = (planned: PlannedCall): PlannedCall => ({ ...planned, ends: 'badly' })
export const either = (planned: PlannedCall): PlannedCall => ({ ...planned, ends: 'either' })

/** The first group of `pattern` in `text`. A script that speaks of an output stops where the output says nothing of the kind. */
export function found(text: string | undefined, pattern: RegExp): string {
  const group = pattern.exec(text ?? '')?.[1]
  if (group === undefined) throw new Error(`${pattern} is not in:\n${text}`)
  return group
}

/** Lines that are not empty. */
export function linesOf(text: string | undefined): string[] {
  return (text ?? '').split('\n').filter(line => line.trim() !== '')
}

/** `1 file`, `3 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
