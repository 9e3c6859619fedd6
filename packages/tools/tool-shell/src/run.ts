/**
 * Run: one command in a process group of its own, from its start until nobody has to wait for it any more.
 */
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/**
 * Both streams are one pipe, so that they read in the order in which they were written; the shell takes the place of the one
 * that looks for it. A session of its own has no terminal that a password could be asked on.
 */
const START = 'exec 2>&1; command -v bash >/dev/null && exec bash -c "$1" bash; exec sh -c "$1" sh'

/** Between asking the group to end and ending it. */
const KILL_GRACE_MS = 2_000
/** How long a shell that has ended waits for the processes that still hold its output. */
const LINGER_MS = 500

export interface RunOptions {
  readonly command: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onOutput: (bytes: Buffer) => void
}

export interface Ended {
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why the group was killed, if it was. */
  readonly killed: 'timeout' | 'cancel' | null
  /** What goes on in the background and still holds the output, which is dropped from here on. */
  readonly left: LeftBehind | null
}

export interface LeftBehind {
  readonly group: number
  readonly gone: Promise<void>
}

/** @throws Error when no shell can be started. */
export function runCommand({ command, cwd, env, timeoutMs, signal, onOutput }: RunOptions): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>()
  signal.throwIfAborted()
  const child = spawn('sh', ['-c', START, 'sh', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const output = child.stdout as Socket
  const gone = new Promise<void>(closed => child.once('close', () => closed()))
  let killed: Ended['killed'] = null
  let exit: Pick<Ended, 'exitCode' | 'signal'> | null = null
  let lingering: NodeJS.Timeout | undefined
  let killing: NodeJS.Timeout | undefined

  const kill = (reason: 'timeout' | 'cancel'): void => {
    if (killed !== null || child.pid === undefined) return
    killed = reason
    const group = child.pid
    signalGroup(group, 'SIGTERM')
    killing = setTimeout(() => signalGroup(group, 'SIGKILL'), KILL_GRACE_MS)
  }
  const onAbort = (): void => kill('cancel')
  const timeout = setTimeout(() => kill('timeout'), timeoutMs)

  const release = (): void => {
    clearTimeout(timeout)
    clearTimeout(lingering)
    signal.removeEventListener('abort', onAbort)
    output.off('data', onOutput)
  }
  let isSettled = false
  const settle = (holdsOutput: boolean): void => {
    if (isSettled) return
    isSettled = true
    release()
    // What has let go of the output may still be there.
    if (killed !== null && !signalGroup(child.pid!, 0)) clearTimeout(killing)
    if (holdsOutput) {
      output.resume() // a full pipe would stop what goes on, a closed one end it
      output.unref()
      child.unref()
    }
    resolve({ ...exit!, killed, left: holdsOutput ? { group: child.pid!, gone } : null })
  }

  output.on('data', onOutput)
  signal.addEventListener('abort', onAbort, { once: true })
  child.once('error', error => {
    release()
    reject(error)
  })
  child.once('exit', (exitCode, exitSignal) => {
    exit = { exitCode, signal: exitSignal }
    clearTimeout(timeout)
    // A loop that was held up looks at what has come in meanwhile, the end of the output perhaps, before it gives up.
    const giveUp = (): void => void setImmediate(() => settle(true))
    lingering = setTimeout(giveUp, killed === null ? LINGER_MS : KILL_GRACE_MS + LINGER_MS)
  })
  child.once('close', () => settle(false))
  return promise
}

/** False when there is no such group any more, or none of it may be signalled; signal 0 only asks. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}
