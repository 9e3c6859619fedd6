/**
 * Failure: why a file tool does not do what it was asked, in words that a model can act on.
 *
 * Pure.
 */

export type FileFailure =
  | 'NOT_FOUND' | 'NO_FOLDER' | 'IS_FOLDER' | 'IS_FILE' | 'NOT_TEXT' | 'TOO_LARGE' | 'OUT_OF_RANGE'
  | 'NOT_READ' | 'CHANGED_ON_DISK' | 'NO_SINGLE_MATCH' | 'INVALID_PATTERN'

export class FileError extends Error {
  override readonly name = 'FileError'
  readonly code: FileFailure

  constructor(code: FileFailure, message: string) {
    super(message)
    this.code = code
  }
}
