/** The recorded sessions that lie beside the project, where they do. */
import { importTranscript, type Transcript } from '@deepseek-ai/dsh-transcript'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const CORPUS = fileURLToPath(new URL('../../shared/corpus', import.meta.url))

export function hasRecordings(): boolean {
  return existsSync(CORPUS)
}

/** Every file in a folder of the corpus, by its path; what stands beside the folders is about them. */
export function recordings(): string[] {
  return readdirSync(CORPUS, { recursive: true, encoding: 'utf8' })
    .filter(file => file.includes(sep) && statSync(join(CORPUS, file)).isFile())
    .sort()
}

/** Texts that were cut after their tokens had been counted: what was counted then is no truth about what stands there now. */
export const CUT_SHORT: ReadonlySet<string> = new Set(['kimi-wire/kimi-context-100msgs.jsonl'])

/** Throws for a file that cannot be read: none is left out. */
export function read(file: string): Transcript {
  return importTranscript(readFileSync(join(CORPUS, file), 'utf8'), file)
}
