/** Timing and printing for benchmarks. */

/** Milliseconds that `work` took. */
export async function elapsedMs(work: () => unknown): Promise<number> {
  const start = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - start) / 1e6
}

/** Microseconds a call of `work`, the best of three runs of `calls` calls. */
export async function microsecondsEach(calls: number, work: () => unknown): Promise<number> {
  let bestMs = Infinity
  for (let run = 0; run < 3; run++) {
    bestMs = Math.min(bestMs, await elapsedMs(async () => {
      for (let call = 0; call < calls; call++) await work()
    }))
  }
  return (bestMs * 1000) / calls
}

export function line(...cells: readonly (string | number)[]): void {
  console.log(cells.map((cell, index) => (index === 0 ? String(cell).padEnd(44) : String(cell).padStart(14))).join(''))
}

export function fixed(value: number, digits = 1): string {
  return value.toFixed(digits)
}
