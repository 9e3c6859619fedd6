/**
 * Abort: giving up on a wait before it ends by itself.
 */
import { setTimeout } from 'node:timers/promises'

export interface AbortWatch {
  /** Rejects with the signal's reason once it aborts; otherwise stays pending. */
  readonly aborted: Promise<never>
  /** Lets go of the signal; to be called when nobody waits any more. */
  release(): void
}

/** One listener on `signal`, however many waits are raced against it. */
export function watchAbort(signal: AbortSignal): AbortWatch {
  let onAbort!: () => void
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
  })
  aborted.catch(() => {}) // an abort while nobody waits is no unhandled rejection
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return { aborted, release: () => signal.removeEventListener('abort', onAbort) }
}

/** The outcome of `work`, or a rejection with the signal's reason if that comes first; what `work` does later is ignored. */
export async function untilAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work
  const watch = watchAbort(signal)
  try {
    return await Promise.race([watch.aborted, work])
  } finally {
    watch.release()
  }
}

/** Resolves after so many milliseconds, or rejects with the signal's reason if that comes first. */
export async function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  try {
    await setTimeout(waitMs, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
