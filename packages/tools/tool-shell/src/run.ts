/**
 * Run: one command in a process group of its own, from its start until nobody has to wait for it any more.
 */
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { isThere, KILL_GRACE_MS, signalGroup } from './groups.ts'

/**
 * Both streams are one pipe, so that they read in the order in which they were written; the shell takes the place of the one
 * that looks for it. A session of its own has no terminal that a password could be asked on.
 */
const START = 'exec 2>&1; command -v bash >/dev/null && exec bash -c "$1" bash; exec sh -c "$1" sh'

/** How long a shell that has ended waits for its group, and for those who still hold its output. */
const LINGER_MS = 500
const POLL_MS = 20

export interface RunOptions {
  readonly command: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onOutput: (bytes: Buffer) => void
  /** Hears the number of the group, which is that of the shell. */
  readonly onStart: (group: number) => void
}

export interface Ended {
  /** Also that of the shell. */
  readonly group: number
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why the group was killed, if it was. */
  readonly killed: 'timeout' | 'cancel' | null
  /** What goes on in the background: `heard` while it holds the output, which is dropped from here on. */
  readonly left: 'heard' | 'quiet' | null
}

/** @throws Error when no shell can be started. */
export function runCommand({ command, cwd, env, timeoutMs, signal, onOutput, onStart }: RunOptions): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>()
  signal.throwIfAborted()
  const child = spawn('sh', ['-c', START, 'sh', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const output = child.stdout as Socket
  const group = child.pid
  if (group !== undefined) onStart(group)
  let killed: Ended['killed'] = null
  let exit: Pick<Ended, 'exitCode' | 'signal'> | null = null
  let isSettled = false
  let isClosed = false
  let giving: NodeJS.Timeout | undefined
  let looking: NodeJS.Timeout | undefined
  let killing: NodeJS.Timeout | undefined

  const kill = (reason: 'timeout' | 'cancel'): void => {
    if (killed !== null || group === undefined) return
    killed = reason
    signalGroup(group, 'SIGTERM')
    killing = setTimeout(() => signalGroup(group, 'SIGKILL'), KILL_GRACE_MS)
  }
  const onAbort = (): void => kill('cancel')
  const timeout = setTimeout(() => kill('timeout'), timeoutMs)

  const release = (): void => {
    for (const timer of [timeout, giving, looking]) clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    output.off('data', onOutput)
  }
  const settle = (left: Ended['left']): void => {
    if (isSettled) return
    isSettled = true
    release()
    if (left === null) clearTimeout(killing)
    if (left === 'heard') {
      output.resume() // a full pipe would stop what goes on, a closed one end it
      output.unref()
      child.unref()
    }
    resolve({ group: group!, ...exit!, killed, left })
  }
  /** Once nobody holds the output: what is on its way out of the group is no background process. */
  const look = (): void => {
    if (!isThere(group!)) settle(null)
    else looking = setTimeout(look, POLL_MS)
  }
  const giveUp = (): void => settle(!isClosed ? 'heard' : isThere(group!) ? 'quiet' : null)

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
    giving = setTimeout(() => setImmediate(giveUp), killed === null ? LINGER_MS : KILL_GRACE_MS + LINGER_MS)
  })
  child.once('close', () => {
    isClosed = true
    if (group !== undefined) look()
  })
  return promise
}
