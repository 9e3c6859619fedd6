/** One thread of the deep test: plays the shards it is given and tells what each has seen. */
import { parentPort } from 'node:worker_threads'
import { playHistories } from './histories-play.ts'

parentPort!.on('message', ({ count, seed }: { readonly count: number; readonly seed: number }) => {
  playHistories(count, seed).then(
    tally => parentPort!.postMessage({ tally }),
    (error: unknown) => parentPort!.postMessage({ error: error instanceof Error ? `${error.message}\n${String((error.cause as Error | undefined)?.stack ?? '')}` : String(error) }),
  )
})
