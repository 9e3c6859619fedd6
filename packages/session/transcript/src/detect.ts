/**
 * Detect: one conversation log, of whatever known format, as a Transcript.
 *
 * Pure. The content decides, never the name of the file.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import { TranscriptBuilder } from './builder.ts'
import { TranscriptError } from './error.ts'
import type { DocumentFormat, LinesFormat, Objection } from './format.ts'
import { DOCUMENT_FORMATS, LINES_FORMATS, TEXT_FORMATS } from './formats.ts'
import { isObject, parseJson, type JsonObject } from './json.ts'
import { readJsonLines, type JsonLines } from './lines.ts'
import type { Transcript } from './model.ts'

const NO_OBJECT = 'no JSON object'
const EXPECTED = `one of: ${[...LINES_FORMATS, ...DOCUMENT_FORMATS, ...TEXT_FORMATS].map(format => format.expected).join('; ')}`

/**
 * Throws a {@link TranscriptError} that names the formats expected and the first line that disagreed: with all of them, or,
 * in a file of a known format, with that one. `name` only serves its message.
 */
export function importTranscript(bytesOrText: Uint8Array | string, name?: string): Transcript {
  const text = typeof bytesOrText === 'string' ? bytesOrText.replace(/^\uFEFF/, '') : new TextDecoder().decode(bytesOrText)
  const file: Named = name === undefined ? {} : { file: name }
  const document = parseJson(text)
  if (Array.isArray(document) || (isObject(document) && !isLine(document))) return importDocument(document, file)
  if (isObject(document)) return importLines({ lines: [{ line: 1, value: document }] }, file)
  const format = TEXT_FORMATS.find(candidate => candidate.claims(text))
  if (format !== undefined) return format.read(text, new TranscriptBuilder(format.name))
  const lines = readJsonLines(text)
  if (lines.lines.length === 0) throw new TranscriptError({ expected: EXPECTED, ...jsonFault(text), ...file })
  return importLines(lines, file)
}

interface Named {
  readonly file?: string
}

/** A log of a single line is a JSON value too. */
function isLine(value: JsonObject): boolean {
  const isTyped = typeof value.type === 'string' && value.messages === undefined
  return isTyped || LINES_FORMATS.some(format => format.claims({ line: 1, value }) === 'yes')
}

function importDocument(document: JsonObject | readonly unknown[], file: Named): Transcript {
  const objections = DOCUMENT_FORMATS.map(format => ({ format, objection: format.objection(document) }))
  const { format, objection } = objections.find(each => each.objection === null) ?? objections.reduce(furthest)
  if (objection === null) return format.read(document, new TranscriptBuilder(format.name))
  throw new TranscriptError({ expected: EXPECTED, line: objection.message, unit: 'message', found: objection.found, ...file })
}

interface Objected {
  readonly format: DocumentFormat
  readonly objection: Objection | null
}

/** The format that read the furthest says best what is wrong; of equals the last, which is the most general. */
function furthest(a: Objected, b: Objected): Objected {
  return (a.objection?.message ?? 0) > (b.objection?.message ?? 0) ? a : b
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
