/**
 * Encodings: the tokenizers there are, each loaded when the first text is counted, since its vocabulary takes half a second
 * and some 60 MiB.
 */
import { createRequire } from 'node:module'
import { countInSlices } from './slices.ts'

export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** What is used of a tokenizer. */
interface Tokenizer {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number
  setMergeCacheSize(entries: number): void
}

const require = createRequire(import.meta.url)
/** By require, not import: who counts a text wants the number now. */
const LOAD: Readonly<Record<Encoding, () => Tokenizer>> = {
  o200k_base: () => require('gpt-tokenizer/encoding/o200k_base') as Tokenizer,
  cl100k_base: () => require('gpt-tokenizer/encoding/cl100k_base') as Tokenizer,
}

/** Runs of words are remembered with their merges; a tenth of the tokenizer's own default, as runs may be long here. */
const MERGES_REMEMBERED = 10_000

/** Counts the tokens of texts; an integer, 0 for an empty text only. Names of control tokens count as the text they are. */
export function counter(encoding: Encoding): (text: string) => number {
  let tokenizer: Tokenizer | null = null
  const count = (slice: string): number => tokenizer!.countTokens(slice, { disallowedSpecial: new Set() })
  return text => {
    if (tokenizer === null) {
      tokenizer = LOAD[encoding]()
      tokenizer.setMergeCacheSize(MERGES_REMEMBERED)
    }
    return countInSlices(text, count)
  }
}
