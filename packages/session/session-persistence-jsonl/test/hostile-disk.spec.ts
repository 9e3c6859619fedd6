import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { temporaryFolder } from './folder.ts'

const PROGRAM = fileURLToPath(new URL('./hostile-disk.ts', import.meta.url))
const canMount = spawnSync('bash', ['-c', `unshare -rm bash -c 'mount -t tmpfs none /mnt'`]).status === 0

it.skipIf(!canMount)('a full, missing or read-only disk fails each act with the file and the cause, and all goes on once it is cured (needs bash and unshare)', () => {
  const disk = temporaryFolder()
  const outcomes = JSON.parse(execFileSync('bash', ['-c', 'exec unshare -rm "$0" "$@"', process.execPath, PROGRAM, disk], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })) as Record<string, unknown>
  const failed = (id: string, cause: string): unknown => ({ code: 'SESSION_WRITE_FAILED', message: expect.stringMatching(new RegExp(`^${disk}/sessions/${id}\\.jsonl.*${cause}`)) })
  expect(outcomes).toEqual({
    'flush, disk full': failed('one', '3 events could not be stored: ENOSPC'),
    'flush again, disk full': failed('one', '3 events could not be stored: ENOSPC'),
    'create, disk full': failed('two', 'ENOSPC'),
    'open, disk full': failed('torn', 'ENOSPC'),
    'files, disk full': ['one.jsonl', 'one.jsonl.lock', 'torn.jsonl'],
    'torn file, disk full': true,
    'read, disk full': null,
    'flush, room again': null,
    'create, room again': null,
    'open, room again': null,
    'flush, folder gone': failed('one', '1 event could not be stored: ENOENT'),
    'open, folder gone': { code: 'SESSION_NOT_FOUND', message: expect.stringContaining(`${disk}/sessions/two.jsonl`) },
    'list, folder gone': [],
    'flush, folder back': null,
    'close': null,
    'open, read-only': failed('one', 'EROFS'),
    'create, read-only': failed('three', 'EROFS'),
    'list, read-only': ['one', 'torn', 'two'],
    'open, writable again': null,
    'seqs at the end': [0, 1, 2, 3, 4, 5, 6],
    'files at the end': ['one.jsonl', 'torn.jsonl', expect.stringMatching(/^torn\.jsonl\.torn-\d+$/), 'two.jsonl'],
  })
})
