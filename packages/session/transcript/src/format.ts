/**
 * What `detect.ts` needs to know of a format: whether a file is of it, and how to read it.
 *
 * Pure. The builder that `read` fills has been made for this format.
 */
import type { TranscriptBuilder } from './builder.ts'
import type { JsonObject } from './json.ts'
import type { Line } from './lines.ts'
import type { Transcript, TranscriptFormat } from './model.ts'

/** A format that is no JSON. */
export interface TextFormat {
  readonly name: TranscriptFormat
  readonly expected: string
  claims(text: string): boolean
  read(text: string, builder: TranscriptBuilder): Transcript
}

/** A format of JSON Lines. Lines are shown one after the other until a single format says `yes`. */
export interface LinesFormat {
  readonly name: TranscriptFormat
  /** How a file begins, in words; stands in the error of a file that is of no format. */
  readonly expected: string
  /** `maybe`: the line fits, but fits others too, or says nothing. */
  claims(line: Line): 'yes' | 'maybe' | 'no'
  /** `lines` is not empty. */
  read(lines: readonly Line[], builder: TranscriptBuilder): Transcript
}

/** What is wrong with a document, and at which message; an index is 1-based. */
export interface Objection {
  readonly message: number
  readonly found: string
}

/** A format of one JSON value. */
export interface DocumentFormat {
  readonly name: TranscriptFormat
  readonly expected: string
  /** Null: read it. */
  objection(document: JsonObject | readonly unknown[]): Objection | null
  read(document: JsonObject | readonly unknown[], builder: TranscriptBuilder): Transcript
}
