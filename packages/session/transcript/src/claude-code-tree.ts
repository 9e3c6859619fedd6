/**
 * Which lines of a Claude Code log are the conversation: the branch that ends in its last message, and what belongs to it.
 *
 * Pure. A rewind or a fork gives one parent several children. The blocks of one answer and the results of parallel calls are
 * siblings too, so the walk from the last message to the root misses some of them; they are found by message id and call id.
 *
 *     user ─ thinking ─ call A ─┬─ result A
 *                               └─ call B ─ result B ─ answer      the walk back passes by result A
 */
import { arrayAt, isObject, objectAt, stringAt, type JsonObject } from './json.ts'
import type { Line } from './lines.ts'

/** In the order of the file; a compaction boundary is among them where its kept side is. */
export function liveLines(lines: readonly Line[]): ReadonlySet<Line> {
  const seen = new Set<unknown>()
  const isNew = ({ value }: Line) => !seen.has(value.uuid) && seen.add(value.uuid) // a resumed session may repeat lines
  const main = lines.filter(line => typeof line.value.uuid === 'string' && line.value.isSidechain !== true && isNew(line))
  const branch = walkBack(main)
  const messageIds = new Set<string>()
  for (const { value } of branch) addIfText(messageIds, messageId(value))
  const ofBranch = (line: Line) => branch.has(line) || messageIds.has(messageId(line.value) ?? '')
  const callIds = new Set<string>()
  for (const line of main) if (ofBranch(line)) for (const block of blocksOf(line.value, 'tool_use')) addIfText(callIds, stringAt(block, 'id'))
  const answersCall = ({ value }: Line) => blocksOf(value, 'tool_result').some(block => callIds.has(stringAt(block, 'tool_use_id') ?? ''))
  const uuids = new Set([...branch].map(({ value }) => value.uuid))
  const boundaryUuids = new Set<unknown>()
  for (const { value } of main) if (isBoundary(value) && uuids.has(keptTail(value))) boundaryUuids.add(value.uuid)
  const ofBoundary = ({ value }: Line) => boundaryUuids.has(value.uuid) || (value.isCompactSummary === true && boundaryUuids.has(value.parentUuid))
  return new Set(main.filter(line => ofBranch(line) || answersCall(line) || ofBoundary(line)))
}

/** From the last message to the root; across a boundary, or where a parent is missing, on to what it logically follows. */
function walkBack(main: readonly Line[]): Set<Line> {
  const indexOf = new Map<unknown, number>()
  for (const [index, { value }] of main.entries()) indexOf.set(value.uuid, index)
  const branch = new Set<Line>()
  let index: number | undefined = main.findLastIndex(({ value }) => value.type === 'user' || value.type === 'assistant' || value.type === 'attachment')
  while (index !== undefined && index >= 0) {
    const line: Line = main[index]!
    if (branch.has(line)) break
    branch.add(line)
    const parent: unknown = line.value.parentUuid ?? line.value.logicalParentUuid
    if (typeof parent !== 'string') break
    index = indexOf.get(parent) ?? index - 1
  }
  return branch
}

function keptTail(boundary: JsonObject): unknown {
  const segment = objectAt(objectAt(boundary, 'compactMetadata') ?? {}, 'preservedSegment')
  return (segment && stringAt(segment, 'tailUuid')) ?? boundary.logicalParentUuid
}

function isBoundary(value: JsonObject): boolean {
  return value.subtype === 'compact_boundary'
}

function messageId(value: JsonObject): string | undefined {
  return value.type === 'assistant' ? stringAt(objectAt(value, 'message') ?? {}, 'id') : undefined
}

function blocksOf(value: JsonObject, type: string): JsonObject[] {
  return arrayAt(objectAt(value, 'message') ?? {}, 'content').filter((block): block is JsonObject => isObject(block) && block.type === type)
}

function addIfText(set: Set<string>, value: string | undefined): void {
  if (value !== undefined) set.add(value)
}
