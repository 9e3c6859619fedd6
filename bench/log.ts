/**
 * The log. In memory: appends with every fold live, cold folds, and what a naive log costs in the same run. Stored: appends,
 * flushes, resuming and size, beside a plain file.
 */
import { openCallsAt } from '@deepseek-ai/dsh-compaction'
import { latestHeader, openTurn, Session } from '@deepseek-ai/dsh-session'
import { tokenMeter } from '@deepseek-ai/dsh-token-meter'
import { elapsedMs, fixed, line } from './measure.ts'
import { emptySession, fill } from './stage.ts'
import { printStored } from './stored.ts'

const SIZES = [1_000, 10_000, 100_000]

export async function run(): Promise<void> {
  await printInMemory()
  await printStored([1_000, 100_000], [250_000])
}

/** Up to a million events: some forty seconds, and a gigabyte in the folder for temporary files. */
export async function runFull(): Promise<void> {
  await printInMemory()
  await printStored([1_000, 100_000, 1_000_000], [250_000, 1_000_000])
}

async function printInMemory(): Promise<void> {
  line('surface entries', ...SIZES)
  const live: string[] = []
  const cold: string[] = []
  const copied: string[] = []
  for (const size of SIZES) {
    const meter = tokenMeter()
    const readAll = (session: Session): void => {
      session.deriveMessages()
      openCallsAt(session, session.surface.entries.length)
      openTurn(session)
      latestHeader(session)
      meter.measure(session)
    }
    const session = emptySession()
    const ms = await elapsedMs(() => fill(session, size, () => readAll(session)))
    live.push(fixed((ms * 1000) / session.log.length))
    copied.push(fixed(await copyingUs(session)))
    const events = [...session.log.from(0)]
    cold.push(fixed(await elapsedMs(() => readAll(new Session({ header: session.header, seed: events })))))
  }
  line('append + all folds live, µs an event', ...live)
  line('peer: structuredClone + copied array, µs', ...copied)
  line('seed and fold from cold, ms', ...cold)
}

/** What each append would cost if the log cloned its events and copied its array of messages, as a naive one does. */
async function copyingUs(session: Session): Promise<number> {
  const messages = session.deriveMessages()
  const event = session.log.at(session.log.length - 3)
  let kept: readonly unknown[] = messages
  const calls = 200
  const ms = await elapsedMs(() => {
    for (let call = 0; call < calls; call++) kept = [...messages, structuredClone(event)]
  })
  if (kept.length !== messages.length + 1) throw new Error('the copy went wrong')
  return (ms * 1000) / calls
}
