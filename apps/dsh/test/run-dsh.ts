import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../bin/dsh.ts', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  /** Beside PATH and HOME alone: no key of whoever runs the tests. */
  readonly env?: { readonly [name: string]: string }
  readonly cwd?: string
  /** What is piped in; nothing by default. */
  readonly stdin?: string
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
}

/** The command as a person runs it: a process of its own. */
export function dsh(...args: string[]): Promise<Ended> {
  return startDsh(args).ended
}

export function startDsh(args: readonly string[], { env = {}, cwd, stdin }: Surroundings = {}): Started {
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, [BIN, ...args], {
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { PATH, HOME, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  child.stdin?.end(stdin)
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Ended>((resolve, reject) => child.on('error', reject).on('close', code => resolve({ code, stdout, stderr })))
  return { child, ended }
}
