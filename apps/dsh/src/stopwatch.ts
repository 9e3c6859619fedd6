/** Stopwatch: wall time, and how much of it was spent on what is not ours. */
export class Stopwatch {
  private readonly startedAtMs = performance.now()
  private elsewhereMs = 0

  get wallMs(): number {
    return performance.now() - this.startedAtMs
  }

  get ownMs(): number {
    return Math.max(0, this.wallMs - this.elsewhereMs)
  }

  /** Runs `task` off the clock; stretches must not overlap. */
  elsewhere<T>(task: () => T): T {
    const beganAtMs = performance.now()
    try {
      return task()
    } finally {
      this.elsewhereMs += performance.now() - beganAtMs
    }
  }

  async elsewhereUntil<T>(work: Promise<T>): Promise<T> {
    const beganAtMs = performance.now()
    try {
      return await work
    } finally {
      this.elsewhereMs += performance.now() - beganAtMs
    }
  }
}
