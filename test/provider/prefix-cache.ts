/**
 * Prefix caches: how much of a prompt a server has read before.
 *
 * Pure. Both forget nothing, so that every miss is the client's doing.
 */
import { createHash } from 'node:crypto'
import type { Part } from './prompt.ts'

/** Tokens. What is neither is read afresh and not kept. */
export interface CacheUse {
  readonly read: number
  readonly written: number
}

export interface PrefixCache {
  /** Reads a prompt, which is known afterwards. */
  use(parts: readonly Part[]): CacheUse
}

const BLOCK_TOKENS = 16

/** Every prompt is kept, in whole blocks of tokens, whether the client asks for it or not; keeping costs nothing. */
export class AutomaticCache implements PrefixCache {
  private readonly root: Block = new Map()

  use(parts: readonly Part[]): CacheUse {
    const tokens = parts.flatMap(part => part.tokens)
    let block = this.root
    let read = 0
    for (let end = BLOCK_TOKENS; end <= tokens.length; end += BLOCK_TOKENS) {
      const text = tokens.slice(end - BLOCK_TOKENS, end).join('')
      let next = block.get(text)
      if (next === undefined) block.set(text, (next = new Map()))
      else read = end
      block = next
    }
    return { read, written: 0 }
  }
}

/** What may follow a block. */
type Block = Map<string, Block>

/** From a mark it is looked back so far for something that was kept. */
const LOOK_BACK_PARTS = 20

/** Only what ends at a mark is kept, and found again only from a mark at most twenty parts behind it. */
export class MarkedCache implements PrefixCache {
  private readonly kept = new Set<string>()

  use(parts: readonly Part[]): CacheUse {
    const heads: { readonly digest: string; readonly length: number }[] = []
    let digest = ''
    let length = 0
    for (const { tokens, setting = '' } of parts) {
      digest = createHash('sha256').update(digest).update(setting).update(tokens.join('')).digest('base64')
      length += tokens.length
      heads.push({ digest, length })
    }
    const marks = parts.flatMap(({ isMarked }, index) => (isMarked ? [index] : []))
    let read = 0
    for (const mark of marks) {
      for (const head of heads.slice(Math.max(0, mark - LOOK_BACK_PARTS), mark + 1)) {
        if (this.kept.has(head.digest)) read = Math.max(read, head.length)
      }
    }
    for (const mark of marks) this.kept.add(heads[mark]!.digest)
    const last = marks.at(-1)
    return { read, written: last === undefined ? 0 : Math.max(0, heads[last]!.length - read) }
  }
}
