/**
 * A process that may mount file systems, with a folder of its own where a small one is mounted: it fills the disk, makes it
 * read-only, and takes it away, while sessions are open and closed. Tells on stdout what each act came to: null, or the code
 * and the message of its error.
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readSessionFile } from '../src/session-file.ts'
import { JsonlStorage } from '../src/storage.ts'
import { event, header } from './example.ts'

const disk = process.argv[2]!
const dir = join(disk, 'sessions')
const pathOf = (id: string): string => join(dir, `${id}.jsonl`)
const outcomes: Record<string, unknown> = {}

async function act(name: string, task: () => Promise<unknown> | unknown): Promise<void> {
  try {
    await task()
    outcomes[name] = null
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    outcomes[name] = { code, message }
  }
}

function fillDisk(): void {
  const fd = openSync(join(disk, 'filler'), 'a')
  try {
    for (;;) writeSync(fd, Buffer.alloc(4_096))
  } catch {
    closeSync(fd)
  }
}
const freeDisk = (): void => rmSync(join(disk, 'filler'))
const remount = (mode: 'ro' | 'rw'): void => void execFileSync('bash', ['-c', `mount -o remount,${mode} "$0"`, disk])

execFileSync('bash', ['-c', 'mount -t tmpfs -o size=1m none "$0"', disk])
const storage = new JsonlStorage(dir, problem => process.stderr.write(`${problem}\n`))
const one = await storage.create({ ...header, id: 'one' })
await (await storage.create({ ...header, id: 'torn' })).close()
appendFileSync(pathOf('torn'), '{"seq":0')
const big = 'x'.repeat(20_000)
one.append(event(0, big))
await one.flush()

fillDisk()
for (const seq of [1, 2, 3]) one.append(event(seq, big))
await act('flush, disk full', () => one.flush())
await act('flush again, disk full', () => one.flush())
await act('create, disk full', () => storage.create({ ...header, id: 'two' }))
await act('open, disk full', () => storage.open('torn'))
outcomes['files, disk full'] = readdirSync(dir).toSorted()
outcomes['torn file, disk full'] = readFileSync(pathOf('torn'), 'utf8').endsWith('\n{"seq":0')
await act('read, disk full', () => readSessionFile(pathOf('one')))
freeDisk()
one.append(event(4, big))
await act('flush, room again', () => one.flush())
await act('create, room again', async () => (await storage.create({ ...header, id: 'two' })).close())
await act('open, room again', async () => (await storage.open('torn')).close())

const elsewhere = join(disk, 'elsewhere')
renameSync(dir, elsewhere)
one.append(event(5))
await act('flush, folder gone', () => one.flush())
await act('open, folder gone', () => storage.open('two'))
outcomes['list, folder gone'] = await storage.list()
renameSync(elsewhere, dir)
await act('flush, folder back', () => one.flush())
await act('close', () => one.close())

remount('ro')
await act('open, read-only', () => storage.open('one'))
await act('create, read-only', () => storage.create({ ...header, id: 'three' }))
outcomes['list, read-only'] = (await storage.list()).map(listing => listing.header.id).toSorted()
remount('rw')
await act('open, writable again', async () => {
  const store = await storage.open('one')
  store.append(event(6))
  await store.close()
})
outcomes['seqs at the end'] = (await readSessionFile(pathOf('one'))).events.map(({ seq }) => seq)
outcomes['files at the end'] = readdirSync(dir).toSorted()
process.stdout.write(JSON.stringify(outcomes))
