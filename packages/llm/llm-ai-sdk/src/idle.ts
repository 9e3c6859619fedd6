/**
 * Idle: giving up on a connection that stays silent.
 *
 * Any byte counts as life, so the comments that some providers send while a request waits in their queue keep it alive. Time
 * in which nobody waits for the provider does not count.
 */

export class IdleWatch {
  private readonly idleMs: number
  private readonly onIdle: () => void
  private timer: NodeJS.Timeout | undefined

  constructor(idleMs: number, onIdle: () => void) {
    this.idleMs = idleMs
    this.onIdle = onIdle
  }

  /** The outcome of `work`, during which the watch is kept. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.timer = setTimeout(this.onIdle, this.idleMs)
    try {
      return await work
    } finally {
      clearTimeout(this.timer)
      this.timer = undefined
    }
  }

  /** The global fetch, watched: every piece of the answer starts the wait anew. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init)
    this.timer?.refresh()
    if (response.body === null) return response
    const watched = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, out) => {
        this.timer?.refresh()
        out.enqueue(bytes)
      },
    })
    return new Response(response.body.pipeThrough(watched), response)
  }
}
