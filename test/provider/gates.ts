/** Gates: places where an answer waits until somebody lets it go on. One release lets one pass, also when it comes first. */
export class Gates {
  private readonly waiters = new Map<string, (() => void)[]>()
  private readonly releases = new Map<string, number>()

  /** Rejects with the signal's reason when that comes first. */
  async pass(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const released = this.releases.get(name) ?? 0
    if (released > 0) {
      this.releases.set(name, released - 1)
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const queue = this.waiters.get(name) ?? []
    this.waiters.set(name, [...queue, resolve])
    const give = (): void => {
      this.waiters.set(name, this.waiters.get(name)!.filter(waiter => waiter !== resolve))
      reject(signal.reason)
    }
    signal.addEventListener('abort', give, { once: true })
    await promise.finally(() => signal.removeEventListener('abort', give))
  }

  release(name: string): void {
    const [next, ...others] = this.waiters.get(name) ?? []
    if (next === undefined) {
      this.releases.set(name, (this.releases.get(name) ?? 0) + 1)
      return
    }
    this.waiters.set(name, others)
    next()
  }

  /** The names of the gates before which somebody waits, once for each. */
  waiting(): string[] {
    return [...this.waiters].flatMap(([name, queue]) => queue.map(() => name))
  }
}
