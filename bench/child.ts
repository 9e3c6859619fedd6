/** A contender's process, asked one question at a time. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Readable } from 'node:stream'
import { createInterface, type Interface } from 'node:readline'
import type { Answer, Request } from './worker.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))

export class Child {
  private readonly module: string
  private process: ChildProcess | undefined
  private lines: AsyncIterator<string> | undefined
  private reader: Interface | undefined
  /** For its temporary files. */
  private dir = ''

  /** @param module path of the contender's module; what it imports is looked for from there. */
  constructor(module: string) {
    this.module = module
  }

  /** A process that crashes or is not done in time is an answer too; the next question starts another. */
  async ask(request: Request, timeoutMs: number): Promise<Answer> {
    const started = this.process === undefined ? await this.start(timeoutMs) : undefined
    if (started !== undefined && 'error' in started) return started
    this.process!.stdin!.write(`${JSON.stringify(request)}\n`)
    return this.answer(timeoutMs)
  }

  /** With whatever it started and left behind. */
  close(): void {
    if (this.process?.pid === undefined) return
    if (this.process.exitCode === null) process.kill(-this.process.pid, 'SIGKILL')
    this.reader?.close()
    this.process = undefined
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 })
  }

  private start(timeoutMs: number): Promise<Answer> {
    this.dir = mkdtempSync(join(tmpdir(), 'dsh-bench-'))
    const child = spawn(process.execPath, ['--expose-gc', '--max-old-space-size=8192', WORKER, this.module], {
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: this.dir },
      detached: true, // a group of its own
    })
    child.stdin!.on('error', () => {})
    this.process = child
    this.reader = createInterface({ input: child.stdio[3] as Readable })
    this.lines = this.reader[Symbol.asyncIterator]()
    return this.answer(timeoutMs)
  }

  private async answer(timeoutMs: number): Promise<Answer> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>(resolve => {
      timer = setTimeout(resolve, timeoutMs, 'late')
    })
    const line = await Promise.race([this.lines!.next(), late])
    clearTimeout(timer)
    if (line === 'late' || line.done === true) {
      this.close()
      return { error: line === 'late' ? `not done in ${timeoutMs / 1000} s` : 'crashed' }
    }
    return JSON.parse(line.value) as Answer
  }
}
