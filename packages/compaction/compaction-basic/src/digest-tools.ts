/**
 * What a tool call means for somebody who goes on with the work, whatever harness named the tool.
 *
 * Pure. Read by name and by argument keys: Read/Write/Edit/Bash/TodoWrite, shell/exec_command/apply_patch/update_plan,
 * read/write/edit/bash, and whatever looks like one of them.
 */
import type { ToolCallBlock, ToolResultBlock } from '@deepseek-ai/dsh-llm'
import { readShell, shellLine, type ShellReading } from './digest-shell.ts'
import { clip, oneLine, plainText, withoutPayloads } from './text.ts'

export type TodoStatus = 'pending' | 'in progress' | 'done'

export interface Todo {
  readonly text: string
  readonly status: TodoStatus
}

export type CallReading =
  /** `subject` names the call in one bounded line; equal calls have equal subjects. */
  | { readonly kind: 'command'; readonly subject: string; readonly shell: ShellReading }
  | { readonly kind: 'file'; readonly subject: string; readonly verb: 'read' | 'wrote'; readonly paths: readonly string[] }
  | { readonly kind: 'other'; readonly subject: string }
  /** A whole new list. */
  | { readonly kind: 'todos'; readonly subject: string; readonly todos: readonly Todo[] }
  /** One item added, or its status changed; the id of a new one stands in its result. */
  | { readonly kind: 'todo'; readonly subject: string; readonly id?: string; readonly text?: string; readonly status: TodoStatus }

export interface Outcome {
  readonly failed: boolean
  /** One line that says how it ended: the exit code where known, then the verdict, the error, or the last line that says something. */
  readonly line: string
  /** At most two lines that look like errors; empty unless it failed. */
  readonly errors: readonly string[]
  /** Lines of output. */
  readonly lines: number
  /** A person declined the call; with their words, where they gave some. */
  readonly declined?: { readonly words: string }
}

const MAX_SUBJECT_CHARS = 240
const MAX_LINE_CHARS = 200
const MAX_TODO_CHARS = 200

const PATH_KEYS = ['file_path', 'path', 'filePath', 'filepath', 'filename', 'file', 'notebook_path', 'target_file', 'absolute_path', 'paths', 'files']
const COMMAND_KEYS = ['command', 'cmd', 'script', 'commands']
const LIST_KEYS = ['todos', 'plan', 'items', 'tasks', 'todoList']

export function readCall(call: Pick<ToolCallBlock, 'name' | 'arguments'>): CallReading {
  const name = call.name
  const args = argumentsOf(call.arguments)
  const paths = strings(args, PATH_KEYS)

  if (/todo|plan|task_?list/i.test(name)) {
    const list = LIST_KEYS.map(key => args[key]).find(Array.isArray)
    if (list) return { kind: 'todos', subject: name, todos: list.map(todoOf).filter(todo => todo.text !== '') }
  }
  if (/^task_?(create|update)$/i.test(name)) {
    const id = text(args.taskId) ?? text(args.id)
    const words = text(args.subject) ?? text(args.title)
    const status = statusOf(args.status)
    return { kind: 'todo', subject: name, ...(id !== undefined && { id }), ...(words !== undefined && { text: clip(oneLine(words), MAX_TODO_CHARS) }), status }
  }

  const patched = patchedFiles(call.arguments)
  if (patched.length > 0) return { kind: 'file', subject: subjectOf('apply_patch', patched.join(' ')), verb: 'wrote', paths: patched }

  const isShell = /bash|shell|exec|terminal|powershell|^run(_|$)|command|^cmd$/i.test(name)
  const command = commandOf(args)
  if (command !== null && (isShell || paths.length === 0)) {
    return { kind: 'command', subject: clip(withoutPayloads(shellLine(command)), MAX_SUBJECT_CHARS), shell: readShell(command) }
  }

  const action = `${name} ${text(args.command) ?? ''}`
  if (paths.length > 0 && !/grep|glob|search|find|^ls$|list/i.test(name)) {
    if (/write|edit|patch|create|insert|replace|append|update|delete|remove|move|rename/i.test(action)) {
      return { kind: 'file', subject: subjectOf(name, paths.join(' ')), verb: 'wrote', paths }
    }
    if (/read|view|cat|open|load|get|show/i.test(action)) {
      return { kind: 'file', subject: subjectOf(name, paths.join(' ')), verb: 'read', paths }
    }
  }
  return { kind: 'other', subject: subjectOf(name, plainArguments(args, call.arguments)) }
}

/** How a call ended. `isShell` allows the output itself to tell a failure where neither a flag nor an exit code does. */
export function readOutcome(result: ToolResultBlock, isShell: boolean): Outcome {
  const raw = plainText(result.content)
  if (result.isError && /doesn't want to (?:proceed|take this action)|(?:rejected|declined|denied) by (?:the )?user/i.test(raw.slice(0, 400))) {
    const words = /the user said:\s*([\s\S]+)$/.exec(raw)?.[1]?.trim() ?? ''
    return { failed: false, line: 'declined by the person', errors: [], lines: 0, declined: { words } }
  }
  const exit = exitCodeOf(raw)
  const lines = linesOf(outputOf(raw))
  const last = lastLine(lines)
  const saysSo = isShell && exit === null && /^(?:\w+\.)*\w*(?:Error|Exception)\b|command not found|No such file or directory|Permission denied/.test(last)
  const failed = result.isError === true || (exit !== null && exit !== 0) || saysSo
  const errors = failed ? errorLines(lines) : []
  const said = VERDICT.test(last) ? last : errors[0] ?? last
  const parts = [
    ...(exit === null || (exit === 0 && failed) ? (failed ? ['failed'] : []) : [`exit ${exit}`]),
    ...(said === '' ? (exit === null && !failed ? ['no output'] : []) : [said]),
  ]
  return { failed, line: parts.join(' · '), errors, lines: lines.length }
}

/** The number that a todo tool gave to a new item. */
export function newTodoId(result: ToolResultBlock): string | null {
  return /#(\d+)/.exec(plainText(result.content))?.[1] ?? null
}

function argumentsOf(json: string): { readonly [key: string]: unknown } {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as { [key: string]: unknown } : {}
  } catch {
    return {}   // the model wrote no JSON: the raw text stands for the call
  }
}

function commandOf(args: { readonly [key: string]: unknown }): string | null {
  for (const key of COMMAND_KEYS) {
    const value = args[key]
    if (typeof value === 'string' && value.trim() !== '') return value
    if (!Array.isArray(value) || value.length === 0 || !value.every(word => typeof word === 'string')) continue
    const [program, option, script] = value as string[]
    return script !== undefined && /(^|\/)(ba|z|da|k)?sh$/.test(program!) && /^-\w*c$/.test(option!) ? script : value.join(' ')
  }
  return null
}

function strings(args: { readonly [key: string]: unknown }, keys: readonly string[]): string[] {
  for (const key of keys) {
    const value = args[key]
    if (typeof value === 'string' && value !== '') return [oneLine(value)]
    if (Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string')) return (value as string[]).map(oneLine)
  }
  return []
}

/** The files that a patch names, found in the raw arguments: line breaks may still be escaped there. */
function patchedFiles(json: string): string[] {
  const files = new Set<string>()
  for (const [, path] of json.matchAll(/\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+?)(?=\\[nr]|\\"|"|\n|$)/g)) files.add(oneLine(path!))
  return [...files]
}

function todoOf(value: unknown): Todo {
  if (typeof value === 'string') return { text: clip(oneLine(value), MAX_TODO_CHARS), status: 'pending' }
  const item = (value ?? {}) as { readonly [key: string]: unknown }
  const words = text(item.content) ?? text(item.step) ?? text(item.title) ?? text(item.text) ?? text(item.subject) ?? text(item.description) ?? text(item.task) ?? ''
  return { text: clip(oneLine(words), MAX_TODO_CHARS), status: item.done === true || item.completed === true ? 'done' : statusOf(item.status ?? item.state) }
}

function statusOf(value: unknown): TodoStatus {
  const status = text(value) ?? ''
  if (/complet|done|deleted|cancel|finished|closed/i.test(status)) return 'done'
  return /progress|active|doing/i.test(status) ? 'in progress' : 'pending'
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
}

function subjectOf(name: string, rest: string): string {
  return clip(oneLine(`${name} ${withoutPayloads(rest)}`), MAX_SUBJECT_CHARS)
}

/** Short values as they are, in order; a lone value without its key. */
function plainArguments(args: { readonly [key: string]: unknown }, raw: string): string {
  const shown = Object.entries(args).filter(([, value]) => value !== '' && value !== null)
  if (shown.length === 0) return raw.trim() === '{}' ? '' : raw
  const [only] = shown
  if (shown.length === 1 && typeof only![1] === 'string') return only![1]
  return shown.map(([key, value]) => `${key}=${clip(typeof value === 'string' ? value : JSON.stringify(value), 80)}`).join(' ')
}

/** Exit codes stand at the very head or tail of a result, or they are output of something else. */
function exitCodeOf(raw: string): number | null {
  const metadata = /^\{"output":[\s\S]*"exit_code":\s*(-?\d+)/.exec(raw)
  const head = /^(?:<returncode>(-?\d+)<|(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?(?:Process exited with code|Exit code:?|\[?exit(?: code)?:?) (-?\d+)\b)/i.exec(raw.slice(0, 400))
  const tail = /(?:exited with(?: exit)? code|exit(?:ed)? (?:code|status):?|\[exit:?|returncode:?) ?(-?\d+)[\])>.]?\s*$/i.exec(raw.slice(-200))
  const code = metadata?.[1] ?? head?.[1] ?? head?.[2] ?? tail?.[1]
  return code === undefined ? null : Number(code)
}

/** The output itself, without what the harness put around it. */
function outputOf(raw: string): string {
  let output = raw
  if (raw.startsWith('{"output":')) {
    const parsed = argumentsOf(raw).output
    if (typeof parsed === 'string') output = parsed
  }
  return output
    .replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '')
    .replace(/^(?:Chunk ID: .*\n)?(?:Exit code: .*\n)?(?:Wall time: .*\n)?(?:Process exited with code .*\n)?(?:Original token count: .*\n)?(?:Total output lines: .*\n)?Output:(?:\n|$)/, '')
    .replace(/^<returncode>-?\d+<\/returncode>\s*/, '')
    .replace(/^<(system|tool_use_error|output|error)>|<\/(system|tool_use_error|output|error)>/g, '\n')
    .replace(/^<(output|error)>|<\/(output|error)>$/gm, '')
    .replace(/\n\[?(?:Command exited with code|exit code:?) -?\d+\]?\s*$/i, '')
    .replace(/^\[?exit(?: code)?:? -?\d+\]?\n/i, '')
    .replace(/\nShell cwd was reset to .*\s*$/, '')
}

function linesOf(output: string): string[] {
  return output.split('\n').map(line => line.trim()).filter(line => line !== '')
}

const VERDICT = /\b\d+ (?:tests? |specs? )?(?:passed|failed|passing|failing|pass|fail|ok|tests?|errors?|warnings?|problems?|insertions?|files? changed)\b|\bTests?:? +\d|^(?:PASS|FAIL|ok|OK)\b|^# fail \d+/

/** The line that tells most about the end: a count of tests or errors near the tail, else the last line with a word in it. */
function lastLine(lines: readonly string[]): string {
  const tail = lines.slice(-12).filter(line => /[\p{L}\p{N}]/u.test(line) && !/^> |^\(no output\)$/.test(line))
  const line = tail.findLast(candidate => VERDICT.test(candidate)) ?? tail.at(-1) ?? ''
  return boundedLine(line.replace(/^[=─━-]{3,}|[=─━-]{3,}$/g, ''))
}

const ERROR = /error|exception|fail|fatal|cannot|could not|couldn't|unable|not found|no such|denied|panic|undefined|unexpected|invalid|refused|does not|doesn't|✗|✘|错误|失败|异常|找不到|无法|エラー|失敗|오류|실패/i
/** What says outright that it is one, in the first words or after a place. */
const PLAIN_ERROR = /^(?:E +)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b|^\W*(?:error|fatal)\b|\)?: (?:error|fatal)\b/i

/** What only frames an error: stack frames, the source line that threw it, keys without their text, zero counts. */
const NO_ERROR = /^Traceback \(most recent|^at |^(?:raise|throw) |\bthrow new \w+\(|^(?:failureType|name|code): |^error: *\|-$|^[>│|]? *\d+ *[│|] |\b0 (?:errors?|failed|failures?)\b/

function errorLines(lines: readonly string[]): string[] {
  const candidates = lines.filter(line => ERROR.test(line) && !NO_ERROR.test(line))
  const plain = candidates.filter(line => PLAIN_ERROR.test(line))
  const found = (plain.length > 0 ? plain : candidates).slice(0, 2).map(boundedLine)
  const last = lastLine(lines)
  return found.length > 0 || last === '' ? found : [last]
}

function boundedLine(line: string): string {
  return clip(oneLine(withoutPayloads(line)), MAX_LINE_CHARS)
}
