/** The recorded sessions that lie beside the project, where they do. */
import { importTranscript, TranscriptError, type Transcript } from '@deepseek-ai/dsh-transcript'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CORPUS = fileURLToPath(new URL('../../shared/corpus', import.meta.url))

export function hasRecordings(): boolean {
  return existsSync(CORPUS)
}

/** Every file of the corpus, by its path below it. */
export function recordings(): string[] {
  return readdirSync(CORPUS, { recursive: true, encoding: 'utf8' })
    .filter(file => statSync(join(CORPUS, file)).isFile())
    .sort()
}

/** Null for a file of no known format. */
export function read(file: string): Transcript | null {
  try {
    return importTranscript(readFileSync(join(CORPUS, file), 'utf8'), file)
  } catch (error) {
    if (error instanceof TranscriptError) return null
    throw error
  }
}
