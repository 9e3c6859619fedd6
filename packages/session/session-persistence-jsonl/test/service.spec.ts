import { Context } from '@deepseek-ai/cordis'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SessionService } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import JsonlSessionPersistence, { readSessionFile } from '../src/index.ts'
import { event, header, temporaryFolder } from './folder.ts'

describe('the plugin', () => {
  it.each([
    ['an empty folder name', { dir: '' }, 'dir'],
    ['an unknown key', { dir: 'x', folder: 'y' }, 'folder'],
  ])('refuses %s, naming the key', async (_name, config, key) => {
    await expect(new Context().plugin(JsonlSessionPersistence, config as never)).rejects.toThrow(key)
  })

  it('provides ctx.sessionPersistence, and when it goes it stores and closes what is open', async () => {
    const ctx = new Context()
    const dir = join(temporaryFolder(), 'sessions')
    const fiber = await ctx.plugin(JsonlSessionPersistence, { dir })
    expect(existsSync(dir)).toBe(false)
    const store = await ctx.get('sessionPersistence')!.create(header)
    store.append(event(0))
    await fiber.dispose()
    expect(ctx.get('sessionPersistence')).toBeUndefined()
    expect(() => store.append(event(1))).toThrow('closed')
    expect((await readSessionFile(join(dir, 'one.jsonl'))).events).toEqual([event(0)])

    await ctx.plugin(JsonlSessionPersistence, { dir })
    expect([...(await ctx.get('sessionPersistence')!.open('one')).read()]).toEqual([event(0)])
    await ctx.fiber.dispose()
  })

  it('carries a session of ctx.sessions from one process to the next', async () => {
    const dir = temporaryFolder()
    const one = new Context()
    await one.plugin(JsonlSessionPersistence, { dir })
    await one.plugin(SessionService)
    const session = await one.get('sessions')!.create({ cwd: dir })
    session.append('user/message', { content: [{ type: 'text', text: 'hello' }], source: { kind: 'user' } }, { surfaceOp: 'append' })
    await session.flush()
    const messages = session.deriveMessages().slice()
    await one.fiber.dispose()

    const two = new Context()
    await two.plugin(JsonlSessionPersistence, { dir })
    await two.plugin(SessionService)
    const resumed = await two.get('sessions')!.resume(session.id)
    expect(resumed.header).toEqual(session.header)
    expect(resumed.deriveMessages()).toEqual(messages)
    expect((await two.get('sessions')!.list()).map(listing => listing.header.id)).toEqual([session.id])
    await two.fiber.dispose()
  })
})
