import type { BlockStart, ContentBlock, FinishReason, StreamChunk } from '../src/content.ts'

/**
 * Read a stream drawn as text: `0:text 0+Hel 0+lo 0. 1:call#a 1+{} 1. =stop` starts block 0 as text, adds two deltas, ends
 * it, starts block 1 as a call with id `a` of the tool `t`, gives its arguments, ends it, and finishes with `stop`. Deltas
 * of reasoning are written `0~thought`, those of a call before its start `0-{}`.
 */
export function stream(picture: string): StreamChunk[] {
  const kinds = new Map<number, string>()
  return picture.split(' ').filter((word) => word !== '').map((word): StreamChunk => {
    if (word.startsWith('=')) return { type: 'finish', reason: word.slice(1) as FinishReason }
    const [, digits, sign, rest = ''] = /^(\d+)([:+~\-.])(.*)$/.exec(word) ?? []
    if (digits === undefined) throw new SyntaxError(`not a chunk: ${word}`)
    const index = Number(digits)
    if (sign === ':') {
      kinds.set(index, rest.split('#')[0]!)
      return { type: 'block-start', index, block: blockStart(rest) }
    }
    if (sign === '.') return { type: 'block-end', index }
    if (sign === '-' || kinds.get(index) === 'call') return { type: 'tool-call-delta', index, arguments: rest }
    if (sign === '~') return { type: 'reasoning-delta', index, text: rest }
    return { type: 'text-delta', index, text: rest }
  })
}

function blockStart(kind: string): BlockStart {
  if (kind === 'text' || kind === 'reasoning') return { type: kind }
  if (kind === 'image') return { type: 'image', mediaType: 'image/png', data: 'AA==' }
  return { type: 'tool-call', id: kind.split('#')[1] ?? '', name: 't' }
}

/** Draw whole blocks: `text(Hello) call#a({})`. */
export function drawn(content: readonly ContentBlock[]): string {
  return content.map((block) => {
    switch (block.type) {
      case 'text':
      case 'reasoning':
        return `${block.type}(${block.text})`
      case 'tool-call':
        return `call#${block.id}(${block.arguments})`
      default:
        return block.type
    }
  }).join(' ')
}
