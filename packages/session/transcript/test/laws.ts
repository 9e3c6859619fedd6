import type { Transcript } from '../src/index.ts'
import { parseJson } from '../src/json.ts'

/** What holds of every transcript. */
export function lawsBroken(transcript: Transcript): string[] {
  const broken: string[] = []
  const ids = new Set<string>()
  if (transcript.items.length > 0 && transcript.items[0]!.kind !== 'input') broken.push('begins without an input')
  for (const [index, item] of transcript.items.entries()) {
    if (item.content.length === 0) broken.push(`item ${index} is empty`)
    if (item.kind === 'compaction' && !(item.keptFrom > 0 && item.keptFrom <= index)) broken.push(`item ${index} keeps from ${item.keptFrom}`)
    if (item.kind !== 'answer') continue
    const calls = item.content.filter(block => block.type === 'tool-call')
    if (calls.length !== item.results.length) broken.push(`item ${index} has ${calls.length} calls and ${item.results.length} results`)
    if (item.interrupted === true && calls.length > 0) broken.push(`item ${index} is interrupted and calls`)
    for (const call of calls) {
      if (ids.has(call.id)) broken.push(`id ${call.id} occurs twice`)
      ids.add(call.id)
      if (parseJson(call.arguments) === undefined) broken.push(`the arguments of ${call.id} are no JSON`)
    }
  }
  return broken
}
