/**
 * A process whose files may not grow past 64 KiB: it writes beyond that, asks for room, and flushes again. Tells on stdout
 * what happened.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { LineWriter } from '../src/writer.ts'

const path = process.argv[2]!
const lines = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(letter => `${letter.repeat(19_999)}\n`)
const writer = new LineWriter(path, await open(path, 'wx+'), 0)

for (const line of lines.slice(0, 2)) writer.append(line)
await writer.flush()
for (const line of lines.slice(2, 6)) writer.append(line)
const error = await writer.flush().then(() => null, thrown => thrown)
const bytesAfterFailure = statSync(path).size
writer.append(lines[6]!)
execFileSync('bash', ['-c', `prlimit --pid ${process.pid} --fsize=unlimited:`])
await writer.flush()

process.stdout.write(JSON.stringify({
  code: error?.code,
  reason: error?.cause?.code,
  bytesAfterFailure,
  bytesAtTheEnd: statSync(path).size,
  inOrder: readFileSync(path, 'utf8') === lines.join(''),
}))
