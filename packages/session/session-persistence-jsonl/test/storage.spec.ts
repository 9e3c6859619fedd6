import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { encodeEvent, encodeHeader } from '../src/lines.ts'
import { copyOf, event, events, header, storageIn, temporaryFolder } from './folder.ts'

const text = (path: string): string => readFileSync(path, 'utf8')

/** A folder with one session of these events, and the path of its file. */
function folderWith(...stored: readonly (SessionEvent | string)[]): { dir: string; path: string } {
  const dir = temporaryFolder()
  const path = join(dir, `${header.id}.jsonl`)
  writeFileSync(path, encodeHeader(header) + stored.map(one => typeof one === 'string' ? one : encodeEvent(one)).join(''))
  return { dir, path }
}

describe('a file', () => {
  it('is the header and one line an event; nothing else is in the folder but, while it is open, its lock', async () => {
    const dir = temporaryFolder()
    const store = await storageIn(dir).storage.create(header)
    for (const one of events(3)) store.append(one)
    await store.flush()
    expect(readdirSync(dir)).toEqual(['one.jsonl', 'one.jsonl.lock'])
    await store.close()
    expect(readdirSync(dir)).toEqual(['one.jsonl'])
    expect(text(join(dir, 'one.jsonl'))).toBe(encodeHeader(header) + events(3).map(encodeEvent).join(''))
  })

  it('is opened without a byte of it changing', async () => {
    const { dir, path } = folderWith(...events(3))
    const before = text(path)
    const store = await storageIn(dir).storage.open('one')
    await store.close()
    expect(text(path)).toBe(before)
  })
})

describe('a torn end', () => {
  it('is set aside at every byte of the last line; the session goes on behind the last whole event', async () => {
    const { dir, path } = folderWith(...events(3))
    const whole = readFileSync(path)
    const offset = whole.lastIndexOf('\n', -2) + 1
    let torn = 0
    for (let end = offset + 1; end < whole.length; end++) {
      const copy = copyOf(dir)
      const copied = join(copy, 'one.jsonl')
      truncateSync(copied, end)
      const store = await storageIn(copy).storage.open('one')
      expect([...store.read()]).toEqual(events(2))
      expect(store.notices).toEqual([expect.stringContaining(`line 4, ${end - offset} bytes from offset ${offset}`)])
      expect(readFileSync(`${copied}.torn-${offset}`).equals(whole.subarray(offset, end))).toBe(true)
      store.append(event(2))
      await store.close()
      expect(readFileSync(copied).equals(whole)).toBe(true)
      torn += 1
    }
    expect(torn).toBe(encodeEvent(event(2)).length - 1)
  })

  it('is set aside once when the process dies between keeping and cutting it', async () => {
    const { dir, path } = folderWith(event(0), '{"seq":1')
    const offset = statSync(path).size - 8
    writeFileSync(`${path}.torn-${offset}`, '{"seq":1')
    const store = await storageIn(dir).storage.open('one')
    expect([...store.read()]).toEqual(events(1))
    await store.close()
    expect(readdirSync(dir)).toEqual(['one.jsonl', `one.jsonl.torn-${offset}`])
  })

  it('never replaces one that was set aside before', async () => {
    const { dir, path } = folderWith(event(0))
    const offset = statSync(path).size
    for (const tail of ['first', 'second', 'third', 'second']) {
      appendFileSync(path, tail)
      const { storage } = storageIn(dir)
      const store = await storage.open('one')
      expect(store.notices).toHaveLength(1)
      await store.close()
    }
    const kept = ['', '.1', '.2', '.3'].map(suffix => `${path}.torn-${offset}${suffix}`).filter(name => existsSync(name))
    expect(kept.map(text)).toEqual(['first', 'second', 'third'])
  })
})

describe('what cannot be opened', () => {
  const damaged = encodeHeader(header) + encodeEvent(event(0)) + 'x\n' + encodeEvent(event(2))
  it.each([
    ['a damaged line', 'SESSION_DAMAGED', 'line 3: it is not JSON', damaged],
    ['a damaged line before a torn one', 'SESSION_DAMAGED', 'line 3: it is not JSON', `${damaged}{"se`],
    ['a file under another name', 'SESSION_DAMAGED', 'rename it to two.jsonl', `${encodeHeader({ ...header, id: 'two' })}{"torn`],
    ['a newer format', 'SESSION_VERSION', 'format 9', `${encodeHeader(header).replace('"version":1', '"version":9')}{"torn`],
  ])('%s is refused; nothing is written, and it is not held', async (_name, code, reason, content) => {
    const { dir, path } = folderWith()
    writeFileSync(path, content)
    const before = text(path)
    const { storage } = storageIn(dir)
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(storage.open('one')).rejects.toMatchObject({ code, message: expect.stringContaining(reason) })
    }
    expect(text(path)).toBe(before)
    expect(readdirSync(dir)).toEqual(['one.jsonl'])
  })

  it('a folder that cannot be made fails the creation, naming it', async () => {
    const dir = join(temporaryFolder(), 'file')
    writeFileSync(dir, '')
    const { storage } = storageIn(join(dir, 'below'))
    await expect(storage.create(header)).rejects.toMatchObject({ code: 'SESSION_WRITE_FAILED', message: expect.stringContaining('ENOTDIR') })
  })
})

describe('one writer', () => {
  it('holds across storages and across names of one folder', async () => {
    const { dir } = folderWith(event(0))
    const alias = join(temporaryFolder(), 'alias')
    symlinkSync(dir, alias)
    const store = await storageIn(dir).storage.open('one')
    for (const other of [dir, alias, join(dir, '.')]) {
      await expect(storageIn(other).storage.open('one')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    }
    await store.close()
    await (await storageIn(alias).storage.open('one')).close()
  })
})

describe('closing', () => {
  it('lets go even when the last events cannot be stored, and says how many are lost', async () => {
    const { dir, path } = folderWith(event(0))
    const { storage, problems } = storageIn(dir)
    const store = await storage.open('one')
    appendFileSync(path, 'stranger\n')
    store.append(event(1))
    store.append(event(2))
    const lost = { code: 'SESSION_WRITE_FAILED', message: expect.stringContaining('its last 2 events are lost') }
    await expect(store.close()).rejects.toMatchObject(lost)
    await expect(store.flush()).rejects.toMatchObject(lost)
    truncateSync(path, statSync(path).size - 'stranger\n'.length)
    expect([...(await storage.open('one')).read()]).toEqual(events(1))
    expect(problems).toEqual([])
  })

  it('of a storage closes what is open and reports what fails', async () => {
    const dir = temporaryFolder()
    const { storage, problems } = storageIn(dir)
    const [kept, lost] = await Promise.all(['kept', 'lost'].map(id => storage.create({ ...header, id })))
    kept!.append(event(0))
    lost!.append(event(0))
    appendFileSync(join(dir, 'lost.jsonl'), 'stranger\n')
    await storage.close()
    expect(problems).toEqual([expect.stringContaining('session lost was closed, and its last 1 events are lost')])
    expect([...(await storageIn(dir).storage.open('kept')).read()]).toEqual(events(1))
  })

  it('of a storage leaves nothing behind that was about to be opened', async () => {
    const { dir } = folderWith(event(0))
    const { storage } = storageIn(dir)
    const opening = storage.open('one')
    await storage.close()
    await expect(opening).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
    await (await storageIn(dir).storage.open('one')).close()
  })
})

describe('list', () => {
  it('reads header lines only, the latest change first, and reports what it cannot read', async () => {
    const { dir, path } = folderWith(event(0), 'damage\n', event(1))
    cpSync(path, join(dir, 'renamed.jsonl'))
    writeFileSync(join(dir, 'two.jsonl'), encodeHeader({ ...header, id: 'two' }))
    writeFileSync(join(dir, 'empty.jsonl'), '')
    writeFileSync(join(dir, 'notes.txt'), 'no session')
    writeFileSync(join(dir, 'one.jsonl.torn-7'), 'x')
    mkdirSync(join(dir, 'folder.jsonl'))
    utimesSync(path, 1_000, 1_000)
    utimesSync(join(dir, 'two.jsonl'), 2_000, 2_000)
    const { storage, problems } = storageIn(dir)
    expect(await storage.list()).toEqual([
      { header: { ...header, id: 'two' }, modifiedAt: 2_000_000, bytes: statSync(join(dir, 'two.jsonl')).size },
      { header, modifiedAt: 1_000_000, bytes: statSync(path).size },
    ])
    expect(problems.toSorted()).toEqual([
      expect.stringMatching(/empty\.jsonl was left out of the list/),
      expect.stringMatching(/folder\.jsonl was left out of the list: EISDIR/),
      expect.stringMatching(/renamed\.jsonl was left out of the list: .*rename it to one\.jsonl/),
    ])
  })
})
