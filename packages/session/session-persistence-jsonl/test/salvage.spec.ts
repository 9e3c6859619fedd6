import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkLog, Session, sessionInvariant, type SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { encodeEvent, encodeHeader } from '../src/lines.ts'
import { salvageSessionFile } from '../src/salvage.ts'
import { readSessionFile } from '../src/session-file.ts'
import { event, header, storageIn, temporaryFolder } from './folder.ts'

/** A turn of one step whose call has an answer. */
function conversation(): SessionEvent[] {
  const session = new Session({ header, now: () => 1 })
  const where = { turn: 1, step: 1 }
  session.append('turn/start', { turn: 1 })
  session.append('user/message', { content: [{ type: 'text', text: 'Look.' }], source: { kind: 'user' } }, { surfaceOp: 'append' })
  session.append('step/start', where)
  session.append('assistant/message', { ...where, content: [{ type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }], provider: 'p', model: 'm', finish: 'tool-calls' }, { surfaceOp: 'append' })
  session.append('tool/call', { ...where, callId: 'x' })
  session.append('tool/result', { ...where, callId: 'x', content: [{ type: 'text', text: 'seen' }] }, { surfaceOp: 'append' })
  session.append('step/end', where)
  session.append('turn/end', { turn: 1, reason: 'completed' })
  return [...session.log.from(0)]
}

const linesOf = (events: readonly SessionEvent[]): string[] => [encodeHeader(header), ...events.map(encodeEvent)]

function fileOf(text: string): { dir: string; path: string; out: string } {
  const dir = temporaryFolder()
  const path = join(dir, 'one.jsonl')
  writeFileSync(path, text)
  return { dir, path, out: join(dir, 'out.jsonl') }
}

describe('salvage', () => {
  it('keeps what stands before the damaged line, whichever it is, and completes the turn; the original is untouched', async () => {
    const events = conversation()
    const lines = linesOf(events)
    for (let line = 1; line < lines.length; line++) {
      const text = lines.toSpliced(line, 1, '{"seq":!\n').join('') + '{}\n'
      const { path, out } = fileOf(text)
      const salvage = await salvageSessionFile(path, out)
      expect(salvage).toMatchObject({ header, keptEvents: line - 1, damage: expect.stringContaining(`${path}: line ${line + 1}: it is not JSON`) })
      const salvaged = await readSessionFile(out)
      expect(salvaged.header).toEqual(header)
      expect(salvaged.events.slice(0, line)).toMatchObject([...events.slice(0, line - 1), { type: 'session/end-seed' }])
      expect(salvaged.events).toHaveLength(salvage.keptEvents + salvage.addedEvents)
      expect(checkLog(salvaged.events, [sessionInvariant])).toEqual([])
      expect(salvaged.events.at(-1)!.type).toBe(line === 1 ? 'session/end-seed' : line === 9 ? 'session/end-seed' : 'turn/end')
      expect(readFileSync(path, 'utf8')).toBe(text)
    }
  })

  it.each<[string, (lines: string[]) => string[], number, string]>([
    ['a doubled line', lines => lines.toSpliced(3, 0, lines[2]!), 2, 'line 4: event 1 follows event 1'],
    ['a missing line', lines => lines.toSpliced(3, 1), 2, 'line 4: event 3 follows event 1: event 2 is missing'],
    ['an event that no surface can hold', lines => lines.with(6, encodeEvent({ ...event(5), surfaceOp: { op: 'replace', start: 0, end: 0 } } as SessionEvent)), 5, 'event 5 (user/message) is refused: start 0 is no current entry'],
    ['a torn end', lines => lines.with(8, '{"seq":7'), 7, 'the end was torn (line 9, 8 bytes'],
    ['nothing', lines => lines, 8, ''],
  ])('stops at %s', async (_name, damaged, keptEvents, damage) => {
    const { path, out } = fileOf(damaged(linesOf(conversation())).join(''))
    const salvage = await salvageSessionFile(path, out)
    expect(salvage).toMatchObject({ keptEvents, damage: damage === '' ? null : expect.stringContaining(damage) })
    expect((await readSessionFile(out)).events.slice(0, keptEvents)).toEqual(conversation().slice(0, keptEvents))
  })

  it('makes a session that opens and goes on', async () => {
    const { dir, path } = fileOf(`${linesOf(conversation()).slice(0, 5).join('')}x\ny\n`)
    const copy = temporaryFolder()
    await salvageSessionFile(path, join(copy, 'one.jsonl'))
    const store = await storageIn(copy).storage.open('one')
    const events = [...store.read()]
    expect(store.notices).toEqual([])
    store.append(event(events.length))
    await store.close()
    expect((await readSessionFile(join(copy, 'one.jsonl'))).events).toHaveLength(events.length + 1)
    expect(readdirSync(dir)).toEqual(['one.jsonl'])
  })

  it.each([
    ['another kind of file', '# Notes\n', 'SESSION_FOREIGN'],
    ['a newer format', encodeHeader(header).replace('"version":1', '"version":2'), 'SESSION_VERSION'],
    ['a file without its header', encodeHeader(header).slice(0, 40), 'SESSION_DAMAGED'],
  ])('refuses %s and writes nothing', async (_name, text, code) => {
    const { dir, path, out } = fileOf(text)
    await expect(salvageSessionFile(path, out)).rejects.toMatchObject({ code })
    expect(readdirSync(dir)).toEqual(['one.jsonl'])
  })

  it('never writes over what it reads, under whatever name', async () => {
    const text = `${linesOf(conversation()).join('')}x\ny\n`
    const { dir, path } = fileOf(text)
    symlinkSync('one.jsonl', join(dir, 'alias'))
    for (const out of [path, join(dir, 'alias')]) await expect(salvageSessionFile(path, out)).rejects.toThrow('is the file to salvage')
    expect(readFileSync(path, 'utf8')).toBe(text)
  })
})
