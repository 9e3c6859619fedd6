import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { compose } from '../src/compose.ts'
import { dsh } from './run-dsh.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dsh-sessions-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** A stored session of two turns, the second interrupted in its first step, with a message that waits; still held by us. */
async function interrupted(id: string): Promise<{ release(): Promise<void> }> {
  const ctx = await compose({ sessionDir: dir })
  const session = await ctx.get('sessions')!.create({ id })
  session.append('turn/start', { turn: 1 })
  session.append('user/message', { content: [{ type: 'text', text: 'Find the leak.' }], source: { kind: 'user' } }, { surfaceOp: 'append' })
  session.append('step/start', { turn: 1, step: 1 })
  session.append('request/header', { config: { provider: 'p', model: 'm' }, reason: 'initial' })
  session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'text', text: 'Found it.' }], provider: 'p', model: 'm', finish: 'stop' }, { surfaceOp: 'append' })
  session.append('step/end', { turn: 1, step: 1 })
  session.append('turn/end', { turn: 1, reason: 'completed' })
  session.append('turn/start', { turn: 2 })
  session.append('step/start', { turn: 2, step: 1 })
  session.append('inbox/spliced', { inserted: [{ inputId: 'late', kind: 'send', content: [{ type: 'text', text: 'And the other?' }], source: { kind: 'user' } }] })
  await session.flush()
  return { release: async () => ctx.fiber.dispose() }
}

const ENDED_TURN = 7

describe('dsh sessions', () => {
  it('lists what is stored and who holds it, and shows one beside its writer', async () => {
    expect(await dsh('sessions', '--dir', dir)).toEqual({ code: 0, stdout: `no sessions in ${dir}\n`, stderr: '' })
    const { release } = await interrupted('leak')
    const listed = await dsh('sessions', '--dir', dir)
    expect(listed.stdout).toMatch(new RegExp(`^leak  .* kB  held by process ${process.pid} on `))
    const shown = await dsh('sessions', 'show', 'leak', '--dir', dir)
    expect(shown.code).toBe(0)
    expect(shown.stdout).toContain('10 events, 2 turns, 2 entries on the surface')
    expect(shown.stdout).toContain('turn 2 has not ended; a resume completes it with 2 events')
    expect(shown.stdout).toContain('1 accepted messages wait in the inbox')
    expect(shown.stdout).toContain('last said: Find the leak.')
    await release()
  })

  it('refuses to resume what another process holds, naming it, and resumes once that has let go', async () => {
    const { release } = await interrupted('leak')
    const refused = await dsh('sessions', 'resume', 'leak', '--dir', dir)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(`pid ${process.pid}`)
    await release()
    const resumed = await dsh('sessions', 'resume', 'leak', '--dir', dir)
    expect(resumed).toMatchObject({ code: 0, stderr: '' })
    expect(resumed.stdout).toContain('13 events, 2 turns') // end-seed, step/end, turn/end
    expect(resumed.stdout).not.toContain('interrupted')
    expect(resumed.stdout).toContain('1 accepted messages wait')
    expect((await dsh('check', join(dir, 'leak.jsonl'))).code).toBe(0)
  })

  it('forks at an event outside any turn, and leaves the source as it was', async () => {
    const { release } = await interrupted('leak')
    const before = await readFile(join(dir, 'leak.jsonl'), 'utf8')
    const inside = await dsh('sessions', 'fork', 'leak', '--dir', dir)
    expect(inside).toMatchObject({ code: 2, stdout: '' })
    expect(inside.stderr).toContain('turn 2 is open there')
    const forked = await dsh('sessions', 'fork', 'leak', '--at', String(ENDED_TURN), '--dir', dir)
    expect(forked.code).toBe(0)
    expect(forked.stdout).toContain(`fork of leak at event ${ENDED_TURN}`)
    expect(forked.stdout).toContain('8 events, 1 turns')
    expect(await readFile(join(dir, 'leak.jsonl'), 'utf8')).toBe(before)
    await release()
  })

  it('says of a session that is not there where it looked', async () => {
    const ended = await Promise.all(['show', 'resume', 'fork'].map(verb => dsh('sessions', verb, 'nobody', '--dir', dir)))
    for (const { code, stdout, stderr } of ended) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(join(dir, 'nobody.jsonl'))
    }
  })
})

describe('dsh check --salvage', () => {
  it('writes what holds up to the damage and what an interrupted turn needs, and leaves the original', async () => {
    await (await interrupted('leak')).release()
    const [damaged, out] = [join(dir, 'damaged.jsonl'), join(dir, 'saved.jsonl')]
    const lines = (await readFile(join(dir, 'leak.jsonl'), 'utf8')).split('\n')
    lines[9] = lines[9]!.slice(0, 20)
    await copyFile(join(dir, 'leak.jsonl'), damaged)
    await writeFile(damaged, lines.join('\n') + '{"torn":true}\n')
    const refused = await dsh('check', damaged)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(`${damaged}`)
    expect(refused.stderr).toContain('10')
    const salvaged = await dsh('check', damaged, '--salvage', out)
    expect(salvaged.code).toBe(1)
    expect(salvaged.stdout).toContain(out)
    expect(await readFile(damaged, 'utf8')).toBe(lines.join('\n') + '{"torn":true}\n')
    expect((await dsh('check', out)).code).toBe(0)
  })
})
