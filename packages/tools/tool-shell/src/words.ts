/**
 * Words: what a model reads of a command that has ended, and what a person is asked before it begins.
 *
 * Pure.
 */
import type { OutputSummary } from './output.ts'
import type { Ended } from './run.ts'

/** The output as it was, then a line in brackets for everything else that counts. */
export function resultText(output: OutputSummary, ended: Ended, timeoutMs: number): string {
  const text = shownText(output)
  const notes = [...endingNotes(ended, timeoutMs), ...outputNotes(output, ended)]
  if (text === '' && notes.length === 0) return '(no output)'
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${notes.map(note => `[${note}]`).join('\n')}`
}

function shownText({ head, tail, omitted, file, lines }: OutputSummary): string {
  if (omitted === null) return head
  const where = file === null || file.path === '' ? 'it is kept nowhere' : `the whole output is in ${file.path} (${count(lines)} lines, ${count(file.bytes)} bytes)`
  const missing = file?.missing === undefined ? '' : `; not all of it: ${file.missing}`
  const gap = `[… ${count(omitted.lines)} lines (${count(omitted.chars)} characters) are left out here; ${where}${missing} …]`
  return `${head}${head.endsWith('\n') ? '' : '\n'}${gap}\n${tail}`
}

function endingNotes({ exitCode, signal, killed }: Ended, timeoutMs: number): string[] {
  if (killed === 'timeout') {
    return [`timed out after ${timeoutMs / 1_000} s and was killed, with every process it had started; give a larger timeoutMs, or run it in the background with its output in a file`]
  }
  if (signal !== null) return [`ended by ${signal}`]
  return exitCode === 0 ? [] : [`exit code ${exitCode}`]
}

function outputNotes({ binaryBytes }: OutputSummary, { left, group }: Ended): string[] {
  const dropped = left === 'heard' ? ' and what they print is dropped; start them with their output in a file to see it' : ''
  return [
    ...(binaryBytes === 0 ? [] : [`${count(binaryBytes)} bytes from here on are binary and not shown; write them to a file, or pass them through a program that prints them`]),
    ...(left === null ? [] : [`processes go on in the background (process group ${group})${dropped}; end them with: kill -- -${group}`]),
  ]
}

/** A title has one line; what it leaves out must be shown beside it. */
const MAX_TITLE_CHARS = 100

export interface Question {
  readonly title: string
  readonly detail?: string
}

export function questionOf(command: string, place?: string): Question {
  const trimmed = command.trim()
  const [first = ''] = trimmed.split('\n', 1)
  const isShort = first === trimmed && first.length <= MAX_TITLE_CHARS
  const line = isShort ? first : `${[...first].slice(0, MAX_TITLE_CHARS).join('')}…`
  return { title: `Run ${line}${place === undefined ? '' : ` in ${place}`}`, ...(isShort ? {} : { detail: trimmed }) }
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
