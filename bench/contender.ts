/**
 * What a library answers when it is measured. Each lives in a module of its own, is loaded in a child process and knows
 * nothing of the others; what it has no counterpart for is absent.
 */
import type { Entry } from './workload.ts'

/** Takes one sample, in the unit of its figure. */
export type Sampler = () => Promise<number> | number

/** Builds what is sampled, untimed. */
export type Prepare = (size: number) => Promise<Sampler> | Sampler

export interface Contender {
  readonly figures: { readonly [figure: string]: Prepare }
  readonly store?: Store
  readonly converse?: Converse
}

/** Conversations on disk. */
export interface Store {
  /** Writes a conversation of so many steps, compacted all along or never; `textBytes` is what people, model and tools said in it. */
  write(dir: string, steps: number, compacted: boolean): Promise<{ readonly path: string; readonly events: number; readonly textBytes: number }>
  /** Reads it back until its next request could be made; what it answers is kept alive while memory is looked at. */
  read(dir: string): Promise<unknown>
}

export interface ConverseOptions {
  /** The model's window; each library is given its own thresholds as its documentation recommends. */
  readonly windowTokens: number
  /** What the summarizer answers, given the characters that it was sent. */
  readonly summarize: (characters: number) => string
  /** What the tool answers. */
  readonly result: string
}

/** Starts a conversation that a library keeps within a window by its own means. */
export type Converse = (options: ConverseOptions) => Promise<Conversation>

export interface Conversation {
  /** The library's history grows by what happened, as its own loop would have stored it. */
  load(entries: readonly Entry[]): Promise<void>
  /**
   * The person says something, and the library's loop asks the model, which calls the tool so many times before it answers
   * with a word: what the model was sent each time.
   */
  turn(text: string, calls: number): Promise<readonly (readonly Entry[])[]>
  close?(): Promise<void>
}
