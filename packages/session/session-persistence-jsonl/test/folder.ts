import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { JsonlStorage } from '../src/storage.ts'

const cleanups: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** An empty folder that goes when the test ends. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'dsh-jsonl-'))
  cleanups.push(() => rmSync(path, { recursive: true }))
  return path
}

/** A storage that is closed when the test ends, and what it reported. */
export function storageIn(dir: string): { storage: JsonlStorage; problems: string[] } {
  const problems: string[] = []
  const storage = new JsonlStorage(dir, problem => problems.push(problem))
  cleanups.push(() => storage.close())
  return { storage, problems }
}

/** A folder as a crash would leave it now; without locks, whose holder is this process and goes on. */
export function copyOf(dir: string): string {
  const copy = temporaryFolder()
  cpSync(dir, copy, { recursive: true, filter: path => !path.includes('.lock') })
  return copy
}

export { event, events, header } from './example.ts'
