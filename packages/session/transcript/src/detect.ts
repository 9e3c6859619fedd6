/**
 * Detect: one conversation log, of whatever known format, as a Transcript.
 *
 * Pure. The content decides, never the name of the file.
 */
import { claudeCode } from './claude-code.ts'
import { codexRollout } from './codex-rollout.ts'
import { dshSession } from './dsh-session.ts'
import { TranscriptError } from './error.ts'
import type { DocumentFormat, LinesFormat } from './format.ts'
import { isObject, type JsonObject } from './json.ts'
import { readJsonLines, type JsonLines } from './lines.ts'
import { miniSweAgent } from './mini-swe-agent.ts'
import type { Transcript } from './model.ts'
import { openaiChat } from './openai-chat.ts'
import { piSession } from './pi-session.ts'

const LINES_FORMATS: readonly LinesFormat[] = [dshSession, claudeCode, codexRollout, piSession]
const DOCUMENT_FORMATS: readonly DocumentFormat[] = [miniSweAgent, openaiChat]
const EXPECTED = `one of: ${[...LINES_FORMATS, ...DOCUMENT_FORMATS].map(format => format.expected).join('; ')}`

/**
 * Throws a {@link TranscriptError} that names the formats expected and the first line that disagreed: with all of them, or,
 * in a file of a known format, with that one. `name` only serves its message.
 */
export function importTranscript(bytesOrText: Uint8Array | string, name?: string): Transcript {
  const decoded = typeof bytesOrText === 'string' ? bytesOrText : new TextDecoder().decode(bytesOrText)
  const text = decoded.startsWith('\uFEFF') ? decoded.slice(1) : decoded
  const file = name === undefined ? {} : { file: name }
  const document = wholeDocument(text)
  if (document !== undefined) return importDocument(document, file)
  const firstRow = text.slice(0, text.search(/\n|$/))
  if (!firstRow.trimStart().startsWith('{') || !isJson(firstRow)) throw noFormat(1, whyNoJson(text), file)
  return importLines(text, file)
}

function importDocument(document: JsonObject | readonly unknown[], file: { file?: string }): Transcript {
  // A log of a single line is a JSON value too.
  const format = DOCUMENT_FORMATS.find(candidate => candidate.objection(document) === null)
  if (format !== undefined) return format.read(document)
  if (isObject(document) && typeof document.type === 'string') return importLines(JSON.stringify(document), file)
  const objection = openaiChat.objection(document)!
  throw new TranscriptError({ expected: EXPECTED, line: objection.message, unit: 'message', found: objection.found, ...file })
}

function importLines(text: string, file: { file?: string }): Transcript {
  const jsonLines = readJsonLines(text)
  return decide(jsonLines, file).read(jsonLines)
}

/** Strikes out formats line by line, until one is sure. */
function decide({ lines }: JsonLines, file: { file?: string }): LinesFormat {
  let candidates = LINES_FORMATS
  for (const line of lines) {
    const claims = candidates.map(format => ({ format, claim: format.claims(line) }))
    const sure = claims.find(({ claim }) => claim === 'yes')
    if (sure !== undefined) return sure.format
    candidates = claims.filter(({ claim }) => claim === 'maybe').map(({ format }) => format)
    if (candidates.length === 0) throw noFormat(line.line, `an object with ${keysOf(line.value)}`, file)
  }
  throw noFormat(lines.at(-1)?.line ?? 1, 'the end, and no message before it', file)
}

function noFormat(line: number, found: string, file: { file?: string }): TranscriptError {
  return new TranscriptError({ expected: EXPECTED, line, found, ...file })
}

function keysOf(object: JsonObject): string {
  const keys = Object.keys(object).slice(0, 6).join(', ')
  return typeof object.type === 'string' ? `type ${JSON.stringify(object.type)} and the keys ${keys}` : `the keys ${keys}`
}

function wholeDocument(text: string): JsonObject | readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) || isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function whyNoJson(text: string): string {
  const start = text.trimStart().slice(0, 40)
  return start === '' ? 'nothing' : `text that is no JSON (${JSON.stringify(start)})`
}
