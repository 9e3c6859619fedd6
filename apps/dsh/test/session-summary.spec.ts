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

it('lists a session with its holder', () => {
  const holder = { pid: 12, host: 'here', startedAt: header.createdAt }
  expect(listingLines([{ header, modifiedAt: header.createdAt, bytes: 2_500_000, holder }])).toEqual([
    'a  2026-01-02 03:04:05  2.5 MB  held by process 12 on here since 2026-01-02 03:04:05',
  ])
})
