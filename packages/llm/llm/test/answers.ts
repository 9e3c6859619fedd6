import fc from 'fast-check'
import type { ContentBlock, StreamChunk } from '../src/content.ts'

const metadata = fc.option(fc.record({ 'p.signature': fc.string() }), { nil: undefined, freq: 3 })
const said = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' })

/** What a model can answer: blocks that say something, calls with ids of their own. */
export const answers: fc.Arbitrary<ContentBlock[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom('text' as const, 'reasoning' as const), text: said, providerMetadata: metadata }),
    fc.record({ type: fc.constant('tool-call' as const), name: said, arguments: fc.string(), providerMetadata: metadata }),
    fc.constant({ type: 'image' as const, mediaType: 'image/png', data: 'AA==', width: 2, height: 2 }),
  ),
  { maxLength: 6 },
).map((blocks) => blocks.map((block, index): ContentBlock => {
  const plain = JSON.parse(JSON.stringify(block)) as ContentBlock // drops undefined metadata
  return plain.type === 'tool-call' ? { ...plain, id: `id${index}` } : plain
}))

/** One of the many streams of an answer: texts cut anywhere, blocks interleaved, deltas before their start, starts in any order. */
export function anyStreamOf(content: readonly ContentBlock[]): fc.Arbitrary<StreamChunk[]> {
  const lanes = fc.tuple(...content.map((block, index) => laneOf(block, index)))
  return lanes.chain((drawnLanes) => {
    const total = drawnLanes.reduce((sum, lane) => sum + lane.length, 0)
    return fc.array(fc.nat(), { minLength: total, maxLength: total }).map((choices) => {
      const left = drawnLanes.map((lane) => [...lane])
      return choices.map((choice) => {
        const open = left.filter((lane) => lane.length > 0)
        return open[choice % open.length]!.shift()!
      })
    })
  })
}

function laneOf(block: ContentBlock, index: number): fc.Arbitrary<StreamChunk[]> {
  const end: StreamChunk = { type: 'block-end', index, ...('providerMetadata' in block && { providerMetadata: block.providerMetadata }) }
  if (block.type === 'image') return fc.constant([{ type: 'block-start', index, block }, end])
  if (block.type !== 'text' && block.type !== 'reasoning' && block.type !== 'tool-call') throw new TypeError(block.type)
  const start: StreamChunk = {
    type: 'block-start', index,
    block: block.type === 'tool-call' ? { type: 'tool-call', id: block.id, name: block.name } : { type: block.type },
  }
  const text = block.type === 'tool-call' ? block.arguments : block.text
  return fc.record({ cuts: fc.array(fc.nat(text.length), { maxLength: 4 }), overtaking: fc.nat(2) }).map(({ cuts, overtaking }) => {
    const bounds = [0, ...cuts.sort((a, b) => a - b), text.length]
    const deltas = bounds.slice(1).map((to, i): StreamChunk => {
      const piece = text.slice(bounds[i], to)
      if (block.type === 'tool-call') return { type: 'tool-call-delta', index, arguments: piece }
      return { type: block.type === 'text' ? 'text-delta' : 'reasoning-delta', index, text: piece }
    })
    return [...deltas.slice(0, overtaking), start, ...deltas.slice(overtaking), end]
  })
}
