import type { TranscriptFormat } from '../src/index.ts'
import { DOCUMENT_FORMATS, LINES_FORMATS, TEXT_FORMATS } from '../src/formats.ts'
import { isObject, parseJson } from '../src/json.ts'
import { readJsonLines, type Line } from '../src/lines.ts'

/** Every format that would read a file if it were the only one, in place of the one that does. */
export function claimants(text: string): TranscriptFormat[] {
  const document = parseJson(text)
  const whole = isObject(document) || Array.isArray(document) ? DOCUMENT_FORMATS.filter(format => format.objection(document) === null) : []
  const lines = isObject(document) ? [{ line: 1, value: document }] : readJsonLines(text).lines
  return [...TEXT_FORMATS.filter(format => format.claims(text)), ...whole, ...LINES_FORMATS.filter(format => claimsAny(format.claims, lines))].map(({ name }) => name)
}

function claimsAny(claims: (line: Line) => 'yes' | 'maybe' | 'no', lines: readonly Line[]): boolean {
  for (const line of lines) {
    const claim = claims(line)
    if (claim !== 'maybe') return claim === 'yes'
  }
  return false
}
