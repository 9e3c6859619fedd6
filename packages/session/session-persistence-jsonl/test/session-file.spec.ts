import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSessionFile, writeSessionFile } from '../src/session-file.ts'
import { events, header, temporaryFolder } from './folder.ts'

const parent = { id: 'parent', seq: 3 }

describe('a session file anywhere', () => {
  it('comes back as it was written, in place of what was there', async () => {
    const dir = temporaryFolder()
    const path = join(dir, 'OUT.log')
    writeFileSync(path, 'old')
    await writeSessionFile(path, { ...header, cwd: '/x', parent }, events(2_000))
    expect(await readSessionFile(path)).toEqual({ header: { ...header, cwd: '/x', parent }, events: events(2_000), notices: [] })
    expect(readdirSync(dir)).toEqual(['OUT.log'])
  })

  it('keeps the old file and leaves no other when the events cannot be had', async () => {
    const dir = temporaryFolder()
    const path = join(dir, 'log')
    writeFileSync(path, 'old')
    const failing = function* () {
      yield* events(2)
      throw new Error('no more')
    }
    await expect(writeSessionFile(path, header, failing())).rejects.toThrow('no more')
    expect(readdirSync(dir)).toEqual(['log'])
    expect(readFileSync(path, 'utf8')).toBe('old')
  })

  it('is written where a symbolic link leads', async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'real'), '')
    symlinkSync('real', join(dir, 'link'))
    await writeSessionFile(join(dir, 'link'), header, events(1))
    expect((await readSessionFile(join(dir, 'real'))).events).toEqual(events(1))
    expect(readdirSync(dir).toSorted()).toEqual(['link', 'real'])
  })

  it.skipIf(!existsSync('/dev/null'))('never takes the place of a device or a folder', async () => {
    for (const path of ['/dev/null', temporaryFolder()]) {
      await expect(writeSessionFile(path, header, [])).rejects.toThrow(`${path} is not a regular file`)
    }
  })

  it('is read without being touched; a torn end is told and left out', async () => {
    const dir = temporaryFolder()
    const path = join(dir, 'log')
    await writeSessionFile(path, header, events(2))
    const torn = `${readFileSync(path, 'utf8')}{"seq":2,"time"`
    writeFileSync(path, torn)
    const file = await readSessionFile(path)
    expect(file.events).toEqual(events(2))
    expect(file.notices).toEqual([expect.stringMatching(/log: the end was torn \(line 4, 15 bytes from offset \d+: it has no end\); it was left out$/)])
    expect(readFileSync(path, 'utf8')).toBe(torn)
    expect(readdirSync(dir)).toEqual(['log'])
  })

  it('is told from what is absent and from what is something else', async () => {
    const path = join(temporaryFolder(), 'log')
    await expect(readSessionFile(path)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND', message: expect.stringContaining(path) })
    writeFileSync(path, '{"messages": []}\n')
    await expect(readSessionFile(path)).rejects.toMatchObject({ code: 'SESSION_FOREIGN', message: expect.stringContaining(path) })
  })
})
