import { Session, type SessionEvent } from '@deepseek-ai/dsh-session'
import { expect, it } from 'vitest'
import { listingLines, sessionLines } from '../src/session-summary.ts'

const header = { id: 'a', createdAt: Date.UTC(2026, 0, 2, 3, 4, 5) }

function linesOf(session: Session): string {
  return sessionLines(session.header, session.log.from(0)).join('\n')
}

it('counts a compaction whose process died as failed, and one that runs as unfinished', () => {
  const session = new Session({ header })
  const start = session.append('compaction/start', { turn: null, trigger: 'manual' })
  expect(linesOf(session)).toContain(`0 compactions, one unfinished since event ${start.seq}`)
  const seed = [...session.log.from(0)].map((event): SessionEvent => structuredClone(event))
  expect(linesOf(new Session({ header, seed }))).toMatch(/0 compactions, 1 failed$/m)
})

it('says of a fork what it is one of', () => {
  const lines = linesOf(new Session({ header: { ...header, cwd: '/src', parent: { id: 'b', seq: 7 } } }))
  expect(lines).toContain('session a, created 2026-01-02 03:04:05 in /src')
  expect(lines).toContain('fork of b at event 7')
})

it('shortens what was said last to its first line', () => {
  const session = new Session({ header })
  session.append('user/message', { content: [{ type: 'text', text: `${'long '.repeat(40)}\nsecond line` }], source: { kind: 'user' } }, { surfaceOp: 'append' })
  const [said] = linesOf(session).split('\n').filter(line => line.includes('last said'))
  expect(said).toMatch(/long…$/)
  expect(said!.length).toBeLessThan(130)
})

it('lists a session with what it is about, how old and how large it is, and who holds it', () => {
  const now = header.createdAt
  const holder = { pid: 12, host: 'here', startedAt: header.createdAt }
  expect(listingLines([
    { header: { ...header, cwd: '/src' }, modifiedAt: now - 3 * 3_600_000, bytes: 2_500_000, title: 'Find the leak.', tokens: 34_500, holder },
    { header: { id: 'b', createdAt: 0 }, modifiedAt: now, bytes: 100 },
  ], now)).toEqual([
    'a  3 h ago  2.5 MB  34.5k tokens  /src  held by process 12 on here since 2026-01-02 03:04:05',
    '    Find the leak.',
    'b  just now  1 kB',
    '    (nothing said yet)',
  ])
})
