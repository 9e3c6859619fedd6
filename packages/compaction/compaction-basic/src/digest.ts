/**
 * Digest: a checkpoint that needs no model. Requests, files, commands, errors, answers and open todos, each with the seqs
 * it came from, in the words of those who said them.
 *
 * Pure, and linear in the entries. Laws: the result costs at most `budgetTokens` by `estimate`; the same entries give the
 * same text; where nothing has to be left out, digest([digest(A), …B]) is digest([…A, …B]). Under a budget what is oldest
 * goes first, commands and files long before requests and todos.
 */
import type { ContentBlock, Message, ToolCallBlock, ToolResultBlock } from '@deepseek-ai/dsh-llm'
import type { Seq } from '@deepseek-ai/dsh-session'
import { fitFacts, type Estimate } from './digest-budget.ts'
import { Facts, once, type Occurrences } from './digest-facts.ts'
import { readFacts } from './digest-format.ts'
import { checkboxes, clip, standingSentences, visibleText } from './text.ts'
import { newTodoId, readCall, readOutcome, type CallReading } from './digest-tools.ts'

export interface DigestEntry {
  readonly seq: Seq
  readonly message: Message
  /** Whose words they are, or what they stand for. */
  readonly from: 'person' | 'context' | 'checkpoint' | 'assistant' | 'tool'
}

const MAX_ANSWER_CHARS = 1_200
const MAX_STATEMENT_CHARS = 600
const MAX_CONTEXT_CHARS = 600

/** Empty when the entries say nothing, or nothing fits. Never throws on content, whatever it holds. */
export function digest(entries: readonly DigestEntry[], budgetTokens: number, estimate: Estimate): string {
  return fitFacts(factsOf(entries), budgetTokens, estimate)
}

interface OpenCall {
  readonly seq: Seq
  readonly reading: CallReading
}

function factsOf(entries: readonly DigestEntry[]): Facts {
  const facts = new Facts()
  const openCalls = new Map<string, OpenCall>()
  for (const { seq, message, from } of entries) {
    if (from === 'tool') {
      for (const block of message.content) if (block.type === 'tool-result') takeResult(facts, openCalls, seq, block)
      continue
    }
    if (from !== 'context') leaveUnanswered(facts, openCalls)
    if (from === 'person') takeRequest(facts, seq, visibleText(message.content))
    else if (from === 'context') facts.add('context', { text: clip(visibleText(message.content), MAX_CONTEXT_CHARS), at: once(seq) })
    else if (from === 'checkpoint') takeCheckpoint(facts, seq, visibleText(message.content))
    else takeAnswer(facts, openCalls, seq, message.content)
  }
  leaveUnanswered(facts, openCalls)
  return facts
}

function takeRequest(facts: Facts, seq: Seq, text: string): void {
  facts.add('requests', { text, at: once(seq) })
  for (const rule of standingSentences(text)) if (rule !== text) facts.add('instructions', { text: rule, at: once(seq) })
  takeCheckboxes(facts, seq, text)
}

function takeCheckpoint(facts: Facts, seq: Seq, text: string): void {
  if (readFacts(text, facts)) return
  const framed = /<compacted-summary>\s*([\s\S]*?)\s*<\/compacted-summary>/.exec(text)
  facts.add('checkpoints', { text: framed?.[1] ?? text, at: once(seq) })
}

function takeAnswer(facts: Facts, openCalls: Map<string, OpenCall>, seq: Seq, content: readonly ContentBlock[]): void {
  const text = visibleText(content)
  const calls = content.filter((block): block is ToolCallBlock => block.type === 'tool-call')
  for (const call of calls) openCalls.set(call.id, { seq, reading: readCall(call) })
  takeCheckboxes(facts, seq, text)
  if (text === '') return
  if (calls.length > 0) facts.add('statements', { text: clip(text, MAX_STATEMENT_CHARS), at: once(seq) })
  else {
    facts.clear('statements')   // the answer says what came of the work that they were about
    facts.add('answers', { text: clip(text, MAX_ANSWER_CHARS), at: once(seq) })
    facts.answer(seq)
  }
}

function takeCheckboxes(facts: Facts, seq: Seq, text: string): void {
  for (const box of checkboxes(text)) {
    if (box.done) facts.removeTodo(todo => todo === box.text)
    else facts.add('todos', { text: box.text, at: once(seq) })
  }
}

/** Results follow their calls at once, so a call that is still open when somebody else speaks was cut off. */
function leaveUnanswered(facts: Facts, openCalls: Map<string, OpenCall>): void {
  for (const { seq, reading } of openCalls.values()) {
    const section = reading.kind === 'command' ? 'commands' : 'searches'
    facts.add(section, { text: reading.subject, at: once(seq), outcome: 'no result: it was cut off' })
  }
  openCalls.clear()
}

function takeResult(facts: Facts, openCalls: Map<string, OpenCall>, seq: Seq, result: ToolResultBlock): void {
  const call = openCalls.get(result.toolCallId)
  if (!call) return
  openCalls.delete(result.toolCallId)
  const { reading } = call
  const at = once(call.seq, seq)
  const outcome = readOutcome(result, reading.kind === 'command')
  if (outcome.declined) {
    facts.add(reading.kind === 'command' ? 'commands' : 'searches', { text: reading.subject, at, outcome: outcome.line })
    if (outcome.declined.words !== '') takeRequest(facts, seq, outcome.declined.words)
    return
  }
  for (const line of outcome.errors) facts.add('errors', { text: reading.subject, at, outcome: line })
  if (!outcome.failed) facts.pass(reading.subject, seq)
  if (reading.kind === 'command') takeCommand(facts, at, reading, outcome)
  else if (reading.kind === 'file') {
    if (!outcome.failed) for (const path of reading.paths) facts.add(reading.verb === 'wrote' ? 'written' : 'read', { text: path, at })
  } else if (reading.kind === 'todos') takeTodos(facts, call.seq, reading)
  else if (reading.kind === 'todo') takeTodo(facts, call.seq, reading, newTodoId(result))
  else if (!outcome.failed) facts.add('searches', { text: reading.subject, at, outcome: lineCount(outcome.lines) })
}

function takeCommand(facts: Facts, at: Occurrences, { subject, shell }: CallReading & { kind: 'command' }, outcome: ReturnType<typeof readOutcome>): void {
  for (const path of shell.writes) facts.add('written', { text: path, at })
  if (!outcome.failed) for (const path of shell.reads) facts.add('read', { text: path, at })
  const uneventful = !outcome.failed && shell.purpose !== 'act'
  if (uneventful && shell.purpose === 'read') return   // the files say it
  if (uneventful) facts.add('searches', { text: subject, at, outcome: lineCount(outcome.lines) })
  else facts.add('commands', { text: subject, at, outcome: outcome.line })
}

function takeTodos(facts: Facts, seq: Seq, { todos }: CallReading & { kind: 'todos' }): void {
  facts.clear('todos')
  for (const { text, status } of todos) {
    if (status !== 'done') facts.add('todos', { text, at: once(seq), ...(status === 'in progress' && { outcome: status }) })
  }
}

function takeTodo(facts: Facts, seq: Seq, reading: CallReading & { kind: 'todo' }, newId: string | null): void {
  const id = reading.id ?? newId
  const known = id === null ? undefined : facts.items('todos').find(todo => todo.text.startsWith(`#${id} `))
  const text = reading.text === undefined ? known?.text : id === null ? reading.text : `#${id} ${reading.text}`
  if (text === undefined) return
  facts.removeTodo(todo => todo === known?.text || todo === text)
  if (reading.status !== 'done') facts.add('todos', { text, at: once(seq), ...(reading.status === 'in progress' && { outcome: reading.status }) })
}

function lineCount(lines: number): string {
  return lines === 1 ? '1 line' : `${lines} lines`
}
