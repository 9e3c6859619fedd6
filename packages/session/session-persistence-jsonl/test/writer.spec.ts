import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineWriter } from '../src/writer.ts'
import { temporaryFolder } from './folder.ts'

const writeFailed = (reason: string): unknown => expect.objectContaining({ code: 'SESSION_WRITE_FAILED', message: expect.stringContaining(reason) })

async function writerOn(path: string): Promise<{ writer: LineWriter; close: () => Promise<void> }> {
  const handle = await open(path, existsSync(path) ? 'r+' : 'wx+')
  const durableBytes = (await handle.stat()).size
  return { writer: new LineWriter(path, handle, durableBytes), close: () => handle.close() }
}

/** The handle itself, telling how much of the file an fsync has been through with. */
function watchedSyncs(handle: FileHandle): { readonly handle: FileHandle; syncedBytes(): number } {
  let syncedBytes = 0
  const sync = async (): Promise<void> => {
    const { size } = await handle.stat()
    await handle.datasync()
    syncedBytes = size
  }
  const watched = new Proxy(handle, {
    get(target, key) {
      if (key === 'datasync') return sync
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { handle: watched, syncedBytes: () => syncedBytes }
}

const lineOf = (index: number, chars: number): string => `${index}:${'x'.repeat(chars)}\n`

describe('group commit', () => {
  it('resolves no flush before an fsync is through with every line it was asked for', async () => {
    const path = join(temporaryFolder(), 'synced')
    const real = await open(path, 'wx+')
    const { handle, syncedBytes } = watchedSyncs(real)
    const writer = new LineWriter(path, handle, 0)
    let writtenBytes = 0
    const flushes: Promise<void>[] = []
    for (let index = 0; index < 20; index++) {
      const line = lineOf(index, index * 50)
      writer.append(line)
      writtenBytes += line.length
      const promisedBytes = writtenBytes
      flushes.push(writer.flush().then(() => expect(syncedBytes()).toBeGreaterThanOrEqual(promisedBytes)))
      if (index % 3 === 0) await new Promise(setImmediate)
    }
    await Promise.all(flushes)
    expect(syncedBytes()).toBe(writtenBytes)
    await real.close()
  })

  it('keeps order and promise for any mix of appends, flushes and pauses', async () => {
    const folder = temporaryFolder()
    let runs = 0
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ append: fc.oneof(fc.nat(40), fc.nat(40), fc.constant(700_000)) }) },
      { weight: 3, arbitrary: fc.constant('flush' as const) },
      { weight: 1, arbitrary: fc.constant('await' as const) },
      { weight: 1, arbitrary: fc.constant('tick' as const) },
    )
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      const path = join(folder, String(runs++))
      const { writer, close } = await writerOn(path)
      let written = ''
      let index = 0
      const flushes: Promise<void>[] = []
      for (const one of steps) {
        if (one === 'flush') {
          const promised = written
          flushes.push(writer.flush().then(() => {
            expect(writer.durableBytes).toBeGreaterThanOrEqual(promised.length)
            expect(readFileSync(path, 'utf8').startsWith(promised)).toBe(true)
          }))
        } else if (one === 'await') await flushes.at(-1)
        else if (one === 'tick') await new Promise(setImmediate)
        else {
          const line = lineOf(index++, one.append)
          writer.append(line)
          written += line
        }
      }
      await Promise.all(flushes)
      await writer.flush()
      expect(readFileSync(path, 'utf8')).toBe(written)
      expect(writer.pendingLines).toEqual([])
      await close()
      rmSync(path)
    }), { seed: 2, numRuns: 100 })
    expect(runs).toBe(100)
  })

  it('takes everything appended during a commit into the one after it', async () => {
    const { writer, close } = await writerOn(join(temporaryFolder(), 'log'))
    writer.append('a\n')
    const first = writer.flush()
    writer.append('b\n')
    const second = writer.flush()
    writer.append('c\n')
    expect(writer.flush()).toBe(second)
    await first
    expect(writer.durableBytes).toBe(2)
    await second
    expect(writer.durableBytes).toBe(6)
    await close()
  })
})

describe('a flush that fails', () => {
  it('rejects again and again while the file is gone, and forgets nothing once it is back', async () => {
    const path = join(temporaryFolder(), 'log')
    const { writer, close } = await writerOn(path)
    writer.append('a\n')
    await writer.flush()
    renameSync(path, `${path}.elsewhere`)
    writer.append('b\n')
    await expect(writer.flush()).rejects.toEqual(writeFailed('ENOENT'))
    writer.append('c\n')
    for (const result of await Promise.allSettled([writer.flush(), writer.flush()])) {
      expect(result).toEqual({ status: 'rejected', reason: writeFailed('ENOENT') })
    }
    expect(readFileSync(`${path}.elsewhere`, 'utf8')).toBe('a\n')
    expect(writer.pendingLines).toEqual(['b\n', 'c\n'])
    renameSync(`${path}.elsewhere`, path)
    await writer.flush()
    expect(readFileSync(path, 'utf8')).toBe('a\nb\nc\n')
    await close()
  })

  it('leaves a file alone that took the place of its own, and goes on when that is back', async () => {
    const path = join(temporaryFolder(), 'log')
    const { writer, close } = await writerOn(path)
    writer.append('a\n')
    await writer.flush()
    renameSync(path, `${path}.elsewhere`)
    writeFileSync(path, 'somebody else\n')
    writer.append('b\n')
    for (let attempt = 0; attempt < 2; attempt++) await expect(writer.flush()).rejects.toEqual(writeFailed('another file has taken its place'))
    expect(readFileSync(path, 'utf8')).toBe('somebody else\n')
    renameSync(`${path}.elsewhere`, path)
    await writer.flush()
    expect(readFileSync(path, 'utf8')).toBe('a\nb\n')
    await close()
  })

  it('overwrites nothing that another program appended', async () => {
    const path = join(temporaryFolder(), 'log')
    const { writer, close } = await writerOn(path)
    writer.append('a\n')
    await writer.flush()
    appendFileSync(path, 'stranger\n')
    writer.append('b\n')
    await expect(writer.flush()).rejects.toEqual(writeFailed('another program changed it'))
    expect(readFileSync(path, 'utf8')).toBe('a\nstranger\n')
    await close()
  })

  it('leaves a file alone that another program cut, and goes on when it is whole again', async () => {
    const path = join(temporaryFolder(), 'log')
    const { writer, close } = await writerOn(path)
    writer.append('a\n')
    await writer.flush()
    writeFileSync(path, '')
    writer.append('b\n')
    await expect(writer.flush()).rejects.toEqual(writeFailed('it has 0 bytes where 2 were written'))
    expect(readFileSync(path, 'utf8')).toBe('')
    writeFileSync(path, 'a\n')
    await writer.flush()
    expect(readFileSync(path, 'utf8')).toBe('a\nb\n')
    await close()
  })

  it('rejects for ever once the handle is lost', async () => {
    const path = join(temporaryFolder(), 'log')
    const { writer, close } = await writerOn(path)
    writer.append('a\n')
    await writer.flush()
    await close()
    writer.append('b\n')
    for (let attempt = 0; attempt < 3; attempt++) await expect(writer.flush()).rejects.toEqual(writeFailed(path))
    expect(writer.pendingLines).toEqual(['b\n'])
    expect(readFileSync(path, 'utf8')).toBe('a\n')
  })

  it.skipIf(!existsSync('/dev/full'))('rejects for ever on a full device that cannot go back (needs /dev/full)', async () => {
    const { writer, close } = await writerOn('/dev/full')
    writer.append('a\n')
    await expect(writer.flush()).rejects.toEqual(writeFailed('ENOSPC'))
    await expect(writer.flush()).rejects.toEqual(writeFailed('EINVAL'))
    expect(writer.pendingLines).toEqual(['a\n'])
    await close()
  })

  const canLimit = spawnSync('bash', ['-c', 'command -v prlimit']).status === 0
  it.skipIf(!canLimit)('goes back after half a write, and writes all of it once there is room (needs prlimit and bash)', () => {
    const folder = temporaryFolder()
    const program = fileURLToPath(new URL('./limited-writer.ts', import.meta.url))
    const outcome = execFileSync('bash', ['-c', `trap '' XFSZ; ulimit -S -f 64; exec "$0" "$@"`, process.execPath, program, join(folder, 'log')])
    expect(JSON.parse(outcome.toString('utf8'))).toEqual({ code: 'SESSION_WRITE_FAILED', reason: 'EFBIG', bytesAfterFailure: 40_000, bytesAtTheEnd: 140_000, inOrder: true })
    expect(statSync(join(folder, 'log')).size).toBe(140_000)
  })
})
