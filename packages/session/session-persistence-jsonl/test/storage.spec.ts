import { Context } from '@deepseek-ai/cordis'
import { appendFileSync, chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SessionService, type SessionEvent, type SurfacePlacement } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { encodeEvent, encodeHeader } from '../src/lines.ts'
import JsonlSessionPersistence from '../src/index.ts'
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

  it('is for its owner alone, also in a folder that is not', async () => {
    const dir = temporaryFolder()
    chmodSync(dir, 0o755)
    await (await storageIn(dir).storage.create(header)).close()
    expect(statSync(join(dir, 'one.jsonl')).mode & 0o777).toBe(0o600)
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

describe('reading back', () => {
  it('goes on after closing, and does not mistake another file for its own', async () => {
    const { dir, path } = folderWith(...events(3))
    const store = await storageIn(dir).storage.open('one')
    await store.close()
    expect([store.at(1), ...store.read(1)]).toEqual([event(1), event(1), event(2)])
    renameSync(path, `${path}.elsewhere`)
    expect(() => store.at(1)).toThrow('ENOENT')
    cpSync(`${path}.elsewhere`, path)
    expect(() => store.at(1)).toThrow(`${path}: another file has taken its place`)
    expect(() => [...store.read()]).toThrow(`${path}: another file has taken its place`)
  })

  it('names the event that is no longer where it was written', async () => {
    const { dir, path } = folderWith(...events(3))
    const store = await storageIn(dir).storage.open('one')
    const damaged = { code: 'SESSION_DAMAGED', message: expect.stringContaining(`${path}: event 1 is no longer at offset`) }
    const whole = text(path)
    writeFileSync(path, whole.replace('message 1', 'mess"ge 1'))
    expect(() => store.at(1)).toThrow(expect.objectContaining(damaged))
    expect(() => [...store.read()]).toThrow(expect.objectContaining(damaged))
    expect(store.at(2)).toEqual(event(2))
    writeFileSync(path, whole.slice(0, -10))
    expect(() => store.at(2)).toThrow(`${path} ends before offset ${whole.length}; another program changed it`)
    writeFileSync(path, whole)
    expect([...store.read()]).toEqual(events(3))
  })

  it('gives a session that goes on what it said before its compaction', async () => {
    const { dir } = folderWith()
    rmSync(join(dir, 'one.jsonl'))
    const ctx = new Context()
    await ctx.plugin(JsonlSessionPersistence, { dir })
    await ctx.plugin(SessionService)
    const sessions = ctx.get('sessions')!
    const session = await sessions.create({ id: 'one' })
    const say = (data: string, surface: SurfacePlacement = { surfaceOp: 'append' }) =>
      session.append('user/message', { content: [{ type: 'text', text: data }], source: { kind: 'user' } }, surface)
    for (let seq = 0; seq < 2_000; seq++) say(`said ${seq} 中`)
    const sourceEventSeqs = session.surface.entries.slice(0, 1_990)
    say('summary', { surfaceOp: { op: 'replace', start: 0, end: 1_989 }, sourceEventSeqs })
    const before = [...session.log.from(0)]
    await sessions.close(session)
    const resumed = await sessions.resume('one')
    for (const one of [session, resumed]) {
      expect([...one.log.from(0)].slice(0, 2_001)).toEqual(before)
      expect([0, 7, 1_989, 1_990, 2_000].map(seq => one.log.at(seq))).toEqual([0, 7, 1_989, 1_990, 2_000].map(seq => before[seq]))
      expectReplays(one)
    }
    expect(resumed.deriveMessages()).toEqual(session.deriveMessages())
    await ctx.fiber.dispose()
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

  it('an event that no session can hold is damage, found before a torn end is set aside', async () => {
    const { dir, path } = folderWith(event(0), { ...event(1), surfaceOp: { op: 'replace', start: 7, end: 7 } } as SessionEvent, event(2), '{"seq":3')
    const before = text(path)
    const ctx = new Context()
    await ctx.plugin(JsonlSessionPersistence, { dir })
    await ctx.plugin(SessionService)
    await expect(ctx.get('sessions')!.resume('one')).rejects.toMatchObject({
      code: 'SESSION_DAMAGED', message: expect.stringContaining(`${path}: line 3: event 1 (user/message) is refused: start 7 is no current entry`),
    })
    await ctx.fiber.dispose()
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
    const lost = { code: 'SESSION_WRITE_FAILED', message: expect.stringContaining('what was appended last is lost, 2 events: ') }
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
    expect(problems).toEqual([expect.stringContaining('session lost was closed, and what was appended last is lost, 1 event: ')])
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
      { header, modifiedAt: 1_000_000, bytes: statSync(path).size, title: 'message 0' },
    ])
    expect(problems.toSorted()).toEqual([
      expect.stringMatching(/empty\.jsonl was left out of the list/),
      expect.stringMatching(/folder\.jsonl was left out of the list: EISDIR/),
      expect.stringMatching(/renamed\.jsonl was left out of the list: .*rename it to one\.jsonl/),
    ])
  })
})
