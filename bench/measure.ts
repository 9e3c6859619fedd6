/** Timing. */

/** Milliseconds that `work` took. */
export async function elapsedMs(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Microseconds a call of `work`, over as many calls as fill `minMs`. */
export async function microsecondsEach(work: () => unknown, minMs = 30): Promise<number> {
  const start = performance.now()
  let calls = 0
  let ms = 0
  for (let batch = 1; ms < minMs; batch *= 2) {
    for (let call = 0; call < batch; call++) await work()
    calls += batch
    ms = performance.now() - start
  }
  return (ms * 1000) / calls
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!
}

/** The model's side of a loop that is timed: asked at each request whether to call a tool once more. */
export class LoopClock {
  private readonly minMs: number
  private readonly minSteps: number
  private firstMs = 0
  private lastMs = 0
  private requests = 0

  constructor(minMs = 500, minSteps = 5) {
    this.minMs = minMs
    this.minSteps = minSteps
  }

  again(): boolean {
    this.lastMs = performance.now()
    if (this.requests === 0) this.firstMs = this.lastMs
    this.requests += 1
    return this.lastMs - this.firstMs < this.minMs || this.requests <= this.minSteps
  }

  /** A step is what lies between two requests. */
  stepsPerSecond(): number {
    if (this.requests <= this.minSteps) throw new Error(`the loop ended after ${this.requests} requests`)
    return ((this.requests - 1) * 1000) / (this.lastMs - this.firstMs)
  }
}
