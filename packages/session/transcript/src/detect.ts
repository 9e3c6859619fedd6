/**
 * Detect: one conversation log, of whatever known format, as a Transcript.
 *
 * Pure. The content decides, never the name of the file.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import { TranscriptBuilder } from './builder.ts'
import { claudeCode } from './claude-code.ts'
import { codexRollout } from './codex-rollout.ts'
import { dshSession } from './dsh-session.ts'
import { TranscriptError } from './error.ts'
import type { DocumentFormat, LinesFormat } from './format.ts'
import { isObject, parseJson, type JsonObject } from './json.ts'
import { readJsonLines, type JsonLines } from './lines.ts'
import { miniSweAgent } from './mini-swe-agent.ts'
import type { Transcript } from './model.ts'
import { openaiChat } from './openai-chat.ts'
import { piSession } from './pi-session.ts'

const LINES_FORMATS: readonly LinesFormat[] = [dshSession, claudeCode, codexRollout, piSession]
const DOCUMENT_FORMATS: readonly DocumentFormat[] = [miniSweAgent, openaiChat]
const NO_OBJECT = 'no JSON object'
const EXPECTED = `one of: ${[...LINES_FORMATS, ...DOCUMENT_FORMATS].map(format => format.expected).join('; ')}`

/**
 * Throws a {@link TranscriptError} that names the formats expected and the first line that disagreed: with all of them, or,
 * in a file of a known format, with that one. `name` only serves its message.
 */
export function importTranscript(bytesOrText: Uint8Array | string, name?: string): Transcript {
  const text = typeof bytesOrText === 'string' ? bytesOrText.replace(/^\uFEFF/, '') : new TextDecoder().decode(bytesOrText)
  const file: Named = name === undefined ? {} : { file: name }
  const document = parseJson(text)
  if (Array.isArray(document) || (isObject(document) && !isLine(document))) return importDocument(document, file)
  const lines = readJsonLines(text)
  if (lines.lines.length === 0) throw new TranscriptError({ expected: EXPECTED, ...jsonFault(text), ...file })
  return importLines(lines, file)
}

interface Named {
  readonly file?: string
}

/** A log of a single line is a JSON value too. */
function isLine(document: JsonObject): boolean {
  return typeof document.type === 'string' && document.messages === undefined
}

function importDocument(document: JsonObject | readonly unknown[], file: Named): Transcript {
  const format = DOCUMENT_FORMATS.find(candidate => candidate.objection(document) === null)
  if (format !== undefined) return format.read(document, new TranscriptBuilder(format.name))
  const { message, found } = openaiChat.objection(document)!
  throw new TranscriptError({ expected: EXPECTED, line: message, unit: 'message', found, ...file })
}

function importLines(jsonLines: JsonLines, file: Named): Transcript {
  const { lines, fault } = jsonLines
  const format = decide(jsonLines, file)
  const builder = new TranscriptBuilder(format.name)
  if (fault?.torn === true) builder.skip('last line, cut off while it was written', fault.line)
  else if (fault !== undefined) throw new TranscriptError({ expected: format.expected, line: fault.line, found: NO_OBJECT, ...file })
  return format.read(lines, builder)
}

/** Strikes out formats line by line, until one is sure. */
function decide({ lines, fault }: JsonLines, file: Named): LinesFormat {
  let candidates = LINES_FORMATS
  for (const line of lines) {
    const claims = candidates.map(format => ({ format, claim: format.claims(line) }))
    const sure = claims.find(({ claim }) => claim === 'yes')
    if (sure !== undefined) return sure.format
    candidates = claims.filter(({ claim }) => claim === 'maybe').map(({ format }) => format)
    if (candidates.length === 0) throw new TranscriptError({ expected: EXPECTED, line: line.line, found: described(line.value), ...file })
  }
  const found = fault === undefined ? 'the end of the file, and no message before it' : NO_OBJECT
  throw new TranscriptError({ expected: EXPECTED, line: fault?.line ?? lines.at(-1)!.line, found, ...file })
}

function described(object: JsonObject): string {
  const keys = `the keys ${Object.keys(object).slice(0, 6).join(', ')}`
  return typeof object.type === 'string' ? `an object of type ${JSON.stringify(object.type)} with ${keys}` : `an object with ${keys}`
}

/** Where a text stops being JSON; line 1 where the parser does not tell. */
function jsonFault(text: string): { line: number; found: string } {
  if (text.trim() === '') return { line: 1, found: 'nothing' }
  try {
    JSON.parse(text)
    return { line: 1, found: NO_OBJECT }
  } catch (error) {
    const [, line] = /\(line (\d+) column/.exec(messageOf(error)) ?? []
    return { line: Number(line ?? 1), found: `no JSON (${messageOf(error)})` }
  }
}
