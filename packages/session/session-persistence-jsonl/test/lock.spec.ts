import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isDead, thisHolder, type Holder } from '../src/holder.ts'
import { encodeEvent, encodeHeader } from '../src/lines.ts'
import { acquireLock, holderOf } from '../src/lock.ts'
import { readSessionFile } from '../src/session-file.ts'
import { event, events, header, storageIn, temporaryFolder } from './folder.ts'

interface Answer {
  readonly ok?: true
  readonly code?: string
  readonly message?: string
}

interface WriterProcess {
  readonly pid: number
  send(act: 'open' | 'close', id: string): Promise<Answer>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./writer-process.ts', import.meta.url))

function writerProcess(dir: string): WriterProcess {
  const child = spawn(process.execPath, [PROGRAM, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    pid: child.pid!,
    async send(act, id) {
      child.stdin.write(`${act} ${id}\n`)
      return JSON.parse((await answers.next()).value as string) as Answer
    },
    kill,
  }
}

function folderOf(...ids: readonly string[]): string {
  const dir = temporaryFolder()
  for (const id of ids) writeFileSync(join(dir, `${id}.jsonl`), encodeHeader({ ...header, id }) + encodeEvent(event(0)))
  return dir
}

const names = (answer: Answer, { pid }: { readonly pid: number }): boolean =>
  answer.code === 'SESSION_BUSY' && answer.message!.includes(`pid ${pid} on ${hostname()}, started 20`)

describe('two processes', () => {
  it('are told of each other: the second gets SESSION_BUSY with the holder, and the session once the holder was killed', async () => {
    const dir = folderOf('one')
    const [first, second] = [writerProcess(dir), writerProcess(dir)]
    expect(await first.send('open', 'one')).toEqual({ ok: true })
    const refused = await second.send('open', 'one')
    expect(refused).toSatisfy((answer: Answer) => names(answer, first))
    const { storage } = storageIn(dir)
    await expect(storage.open('one')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    expect(await storage.list()).toMatchObject([{ holder: { pid: first.pid, host: hostname(), startedAt: expect.any(Number) } }])
    expect((await readSessionFile(join(dir, 'one.jsonl'))).events).toEqual(events(1))

    await first.kill()
    expect((await storage.list())[0]).not.toHaveProperty('holder')
    expect(await second.send('open', 'one')).toEqual({ ok: true })
    expect(await second.send('close', 'one')).toEqual({ ok: true })
    expect(readdirSync(dir)).toEqual(['one.jsonl'])
  })

  it('hand a session over when the first closes it', async () => {
    const dir = folderOf('one')
    const [first, second] = [writerProcess(dir), writerProcess(dir)]
    expect(await first.send('open', 'one')).toEqual({ ok: true })
    expect(await first.send('close', 'one')).toEqual({ ok: true })
    expect(await second.send('open', 'one')).toEqual({ ok: true })
    expect(await first.send('open', 'one')).toSatisfy((answer: Answer) => names(answer, second))
  })
})

describe('many processes that start at once', () => {
  const PROCESSES = 4
  const ROUNDS = 8

  it(`let exactly one in, ${ROUNDS} times each: free, left by a killed holder, left by a killed taker of a killed holder`, async () => {
    const free = Array.from({ length: ROUNDS }, (_, round) => `free-${round}`)
    const left = Array.from({ length: ROUNDS }, (_, round) => `left-${round}`)
    const twice = Array.from({ length: ROUNDS }, (_, round) => `twice-${round}`)
    const dir = folderOf(...free, ...left, ...twice)
    const dead = writerProcess(dir)
    for (const id of [...left, ...twice]) expect(await dead.send('open', id)).toEqual({ ok: true })
    await dead.kill()
    for (const id of twice) {
      const lock = join(dir, `${id}.jsonl.lock`)
      writeFileSync(`${lock}.guard`, readFileSync(lock)) // what a process leaves that is killed while it takes over
    }

    const rivals = Array.from({ length: PROCESSES }, () => writerProcess(dir))
    for (const id of [...free, ...left, ...twice]) {
      const answers = await Promise.all(rivals.map(rival => rival.send('open', id)))
      const winners = rivals.filter((_, index) => answers[index]!.ok)
      expect(winners).toHaveLength(1)
      const [winner] = winners as [WriterProcess]
      for (const answer of answers) if (!answer.ok) expect(answer).toSatisfy((one: Answer) => names(one, winner))
      expect(await winner.send('close', id)).toEqual({ ok: true })
    }
    expect(readdirSync(dir).toSorted()).toEqual([...free, ...left, ...twice].map(id => `${id}.jsonl`).toSorted())
  })
})

describe('a holder', () => {
  const here = thisHolder()
  const linux = existsSync('/proc/self/stat')

  it('that is this process is alive', () => {
    expect(here).toMatchObject({ pid: process.pid, host: hostname() })
    expect(Math.abs(here.startedAt - (Date.now() - process.uptime() * 1000))).toBeLessThan(5_000)
    expect(isDead(here)).toBe(false)
  })

  it.skipIf(!linux).each<[string, Partial<Holder>, boolean]>([
    ['whose number was given to another process', { processStart: '1' }, true],
    ['of an earlier boot, whatever its number', { bootId: 'earlier' }, true],
    ['on another host, also when its number is free here', { host: 'elsewhere', pid: 2 ** 22 - 1 }, false],
    ['in another container, also when its number is free here', { pidNamespace: 'pid:[1]', pid: 2 ** 22 - 1 }, false],
    ['whose number is free', { pid: 2 ** 22 - 1 }, true],
    ['of another user', { pid: 1, processStart: startOf(1) }, false],
  ])('%s (needs /proc)', (_name, change, dead) => {
    expect(isDead({ ...here, ...change })).toBe(dead)
  })

  it.skipIf(!linux)('that ended is dead before its parent asks for its end (needs /proc)', async () => {
    const parent: ChildProcess = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = await once(createInterface({ input: parent.stdout! }), 'line') as [string]
    const { processStart: _, ...anyStart } = here
    await expect.poll(() => isDead({ ...anyStart, pid: Number(line) })).toBe(true)
    expect(existsSync(`/proc/${line}`)).toBe(true)
  })

  it('that cannot be judged is told, and named', async () => {
    const dir = folderOf('one')
    const elsewhere = { pid: 7, host: 'elsewhere', startedAt: 1_700_000_000_000 }
    writeFileSync(join(dir, 'one.jsonl.lock'), JSON.stringify({ ...elsewhere, token: 'theirs' }))
    const { storage } = storageIn(dir)
    await expect(storage.open('one')).rejects.toMatchObject({
      code: 'SESSION_BUSY',
      message: expect.stringContaining(`pid 7 on elsewhere, started 2023-11-14T22:13:20.000Z`),
    })
    expect(await storage.list()).toMatchObject([{ holder: elsewhere }])
  })
})

function startOf(pid: number): string {
  return existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19]! : ''
}

describe('a lock', () => {
  const held = async (path: string) => {
    const attempt = await acquireLock(path)
    if ('busy' in attempt) throw new Error(`held by ${attempt.busy.pid}`)
    return attempt.held
  }

  it('is one file while it is held, and none before and after', async () => {
    const dir = temporaryFolder()
    const path = join(dir, 'lock')
    expect(await holderOf(path)).toBeNull()
    const lock = await held(path)
    expect(readdirSync(dir)).toEqual(['lock'])
    expect(await holderOf(path)).toEqual(thisHolder())
    expect(await acquireLock(path)).toEqual({ busy: thisHolder() })
    await lock.release()
    await lock.release()
    expect(readdirSync(dir)).toEqual([])
  })

  it('is not removed by whoever held it before', async () => {
    const path = join(temporaryFolder(), 'lock')
    const first = await held(path)
    await first.release()
    const second = await held(path)
    await first.release()
    expect(await holderOf(path)).toEqual(thisHolder())
    await second.release()
  })

  it('that cannot be removed is reported, and closing succeeds', async () => {
    const dir = folderOf('one')
    const path = join(dir, 'one.jsonl.lock')
    const { storage, problems } = storageIn(dir)
    const store = await storage.open('one')
    rmSync(path)
    mkdirSync(path)
    store.append(event(1))
    await store.close()
    expect(problems).toEqual([expect.stringContaining(`${path} could not be removed: EISDIR`)])
    expect((await readSessionFile(join(dir, 'one.jsonl'))).events).toEqual(events(2))
  })

  it.each(['', '{"pid":1}', '{"pid":0,"host":"x","startedAt":1,"token":"t"}', '{"pid":1,"host":"x","startedAt":1}'])('is never taken from a file that is none: %j', async text => {
    const dir = folderOf('one')
    const path = join(dir, 'one.jsonl.lock')
    writeFileSync(path, text)
    const { storage, problems } = storageIn(dir)
    await expect(storage.open('one')).rejects.toMatchObject({ code: 'SESSION_WRITE_FAILED', message: expect.stringContaining(`${path} is no lock`) })
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(readdirSync(dir)).toEqual(['one.jsonl', 'one.jsonl.lock'])
    expect((await storage.list()).map(listing => listing.header.id)).toEqual(['one'])
    expect(problems).toEqual([expect.stringContaining(`${path} is no lock`)])
  })
})
