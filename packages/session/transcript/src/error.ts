/** Why a file could not be imported. */
export class TranscriptError extends Error {
  override readonly name = 'TranscriptError'
  /** The first place that disagreed: a 1-based line, or a 1-based message index where `unit` says so. */
  readonly line: number
  readonly expected: string

  constructor(init: { expected: string; line: number; found: string; unit?: 'line' | 'message'; file?: string }) {
    const file = init.file === undefined ? '' : `${init.file}: `
    super(`${file}${init.unit ?? 'line'} ${init.line}: ${init.found}; expected ${init.expected}`)
    this.line = init.line
    this.expected = init.expected
  }
}
