/**
 * Bytes: the file of a finished run, cut off at any byte or with any bit flipped, and what resuming it must give.
 *
 * Everything throws an AssertionError for a loss.
 */
import { Context } from '@deepseek-ai/cordis'
import SessionService, { type Session } from '@deepseek-ai/dsh-session'
import { SessionPersistenceError } from '@deepseek-ai/dsh-session-persistence'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { goOn } from './chain.ts'
import { judgeResumed, remainsOf } from './judge.ts'
import { sessionPath, stage, type StageInit } from './stage.ts'

/** What the cuts and flips are made in: the end of the file. */
export const TAIL_BYTES = 4096

const ID = 'finished'
const RUN = { id: ID, engine: 'basic', trigger: 'manual' } as const

/** What a finished run ends with: its second compaction, or a turn behind it. */
export const ENDINGS = ['compaction', 'turn'] as const
export type Ending = (typeof ENDINGS)[number]

/** The bytes of its file. */
export async function finishedRun(root: string, ending: Ending): Promise<Buffer> {
  const init: StageInit = { ...RUN, dir: mkdtempSync(join(root, 'run-')) }
  const { playTurn, leave } = await stage(init)
  for (let turn = 0; turn < 4; turn++) await playTurn()
  if (ending === 'turn') await playTurn()
  await leave()
  return readFileSync(sessionPath(init))
}

/** A folder in which one broken file after the other is resumed. */
export interface Lane {
  readonly dir: string
  readonly ctx: Context
}

/** Judges every item, in several lanes at a time; tells what was lost, in words. */
export async function judgeEach<T>(root: string, items: readonly T[], lanes: number, judge: (lane: Lane, item: T) => Promise<void>): Promise<string[]> {
  const losses: string[] = []
  const left = items.values()
  await Promise.all(Array.from({ length: lanes }, async () => {
    const lane: Lane = { dir: mkdtempSync(join(root, 'lane-')), ctx: new Context() }
    await lane.ctx.plugin(JsonlSessionPersistence, { dir: lane.dir })
    await lane.ctx.plugin(SessionService)
    for (const item of left) {
      try {
        await judge(lane, item)
      } catch (error) {
        losses.push(`${JSON.stringify(item)}: ${(error as Error).stack}`)
        await release(lane)
      }
      for (const name of readdirSync(lane.dir)) rmSync(join(lane.dir, name))
    }
    await lane.ctx.fiber.dispose()
  }))
  return losses
}

/** What a judge that found a loss left open. */
async function release({ ctx }: Lane): Promise<void> {
  const session = ctx.sessions.get(ID)
  if (session !== undefined) await ctx.sessions.close(session)
}

/** Every whole line comes back, the rest is set aside, and nothing that stands is rewritten. */
export async function judgeCut({ dir, ctx }: Lane, bytes: Buffer, at: number): Promise<void> {
  const path = sessionPath({ dir, id: ID })
  const cut = bytes.subarray(0, at)
  const { lines, torn } = remainsOf(cut)
  writeFileSync(path, cut)
  const session = await ctx.sessions.resume(ID)
  judgeResumed(session, lines)
  await ctx.sessions.close(session)
  const whole = cut.subarray(0, at - torn.length)
  const aside = readAside(path)
  assert.deepEqual(aside, torn.length === 0 ? [] : [torn], 'the torn line is set aside')
  const after = readFileSync(path)
  assert.ok(after.subarray(0, whole.length).equals(whole), 'the file goes on behind its last whole line')
  assert.deepEqual(remainsOf(after).lines, jsonOf(session), 'the file holds the log')
}

/** A session cut off there goes on. */
export async function judgeGoingOn({ dir }: Lane, bytes: Buffer, at: number): Promise<void> {
  const init: StageInit = { ...RUN, dir }
  writeFileSync(sessionPath(init), bytes.subarray(0, at))
  await goOn(init)
}

/**
 * `refused` by its line, and the file as it was; `set aside`, which only the last line may be (it is two, where the flip was in
 * the end of the one before); or `changed`: all of it was read, and the flipped bit is a change of what one line says that no
 * reader can tell from what was meant.
 */
export type Verdict = 'refused' | 'set aside' | 'changed'

export interface Flip {
  readonly at: number
  readonly bit: number
}

export async function judgeFlip({ dir, ctx }: Lane, bytes: Buffer, { at, bit }: Flip): Promise<Verdict> {
  const path = sessionPath({ dir, id: ID })
  const flipped = Buffer.from(bytes)
  flipped[at]! ^= 1 << bit
  writeFileSync(path, flipped)
  /** Where the flip is, by lines from 1: the header's is 1, that of event 0 is 2. */
  const line = newlines(bytes.subarray(0, at)) + 1
  const { header, lines } = remainsOf(bytes)

  const outcome = await ctx.sessions.resume(ID).catch((error: unknown) => error)
  if (outcome instanceof Error) {
    assert.ok(outcome instanceof SessionPersistenceError, `it failed, but not as a refusal: ${outcome.stack}`)
    const named = Number(/: line (\d+): /.exec(outcome.message)?.[1])
    assert.ok(named === line || named === line + 1, `line ${line} was broken, and the refusal names ${named}: ${outcome.message}`)
    assert.ok(readFileSync(path).equals(flipped), 'a refused file is not touched')
    assert.deepEqual(readdirSync(dir), [basename(path)])
    return 'refused'
  }
  const session = outcome as Session
  const read = jsonOf(session)
  await ctx.sessions.close(session)
  const aside = readAside(path)
  const end = aside.length === 0 ? flipped.length : lastLineStart(flipped)
  assert.deepEqual(aside, end === flipped.length ? [] : [flipped.subarray(end)], 'nothing is set aside but the last line')
  assert.ok(end === flipped.length || at >= end, `the flip in line ${line} is not in what was set aside`)
  assert.ok(readFileSync(path).subarray(0, end).equals(flipped.subarray(0, end)), 'what stands is not rewritten')
  const kept = newlines(flipped.subarray(0, end)) - 1
  for (const [seq, expected] of lines.slice(0, kept).entries()) {
    if (seq + 2 !== line) assert.equal(read[seq], expected, `event ${seq}, where line ${line} was broken`)
  }
  assert.match(read[kept] ?? '', /"type":"session\/end-seed"/, `${kept} events were to be read`)
  if (aside.length > 0) return 'set aside'
  const [before, now] = line === 1 ? [header, JSON.stringify(session.header)] : [lines[line - 2], read[line - 2]]
  assert.notEqual(now, before, 'a flipped bit changed nothing')
  return 'changed'
}

function readAside(path: string): Buffer[] {
  const dir = join(path, '..')
  return readdirSync(dir).filter(name => name.startsWith(`${basename(path)}.torn-`)).map(name => readFileSync(join(dir, name)))
}

function jsonOf(session: Session): string[] {
  return Array.from(session.log.from(0), event => JSON.stringify(event))
}

/** Where the last line begins, whole or not. */
function lastLineStart(bytes: Buffer): number {
  return bytes.lastIndexOf('\n', bytes.length - 2) + 1
}

function newlines(bytes: Uint8Array): number {
  let found = 0
  for (const byte of bytes) if (byte === 0x0a) found += 1
  return found
}
