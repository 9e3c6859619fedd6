/**
 * The work that every contender is given: a tool loop with a message of the person every twenty steps; a step is an
 * assistant message with one call and a result of about 2 KB. Knows no library.
 */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON of an object. */
  readonly arguments: string
}

/** One entry of a conversation; `results` may come in any order, and be missing where the conversation was cut off. */
export type Entry =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly text: string }

export const TOOL = 'noop'
export const RESULT = 'The quick brown fox jumps over the lazy dog, and line 42 says so. '.repeat(31)
export const SUMMARY = '## Current Work\nEverything before this point was read and nothing is left to do there.'
const STEPS_A_TURN = 20

/** The two entries of a step. */
export function stepEntries(id: string): readonly [Entry, Entry] {
  return [
    { role: 'assistant', text: '', calls: [{ id, name: TOOL, arguments: '{}' }] },
    { role: 'tool', callId: id, name: TOOL, text: RESULT },
  ]
}

export function* toolLoop(entries: number): Generator<Entry> {
  for (let turn = 1, given = 0; given < entries; turn++) {
    yield { role: 'user', text: `Go on with part ${turn}.` }
    given += 1
    for (let step = 1; step <= STEPS_A_TURN && given < entries; step++, given += 2) yield* stepEntries(`call-${turn}-${step}`)
  }
}

const MAX_SURFACE_ENTRIES = 2_200
const SHADOWED_TURNS = 5

/**
 * A conversation of so many steps. Where it was `compacted` all along, the oldest five turns and the checkpoint before them,
 * `shadow` entries in all, give way to a checkpoint whenever what the model sees has grown to some 2,200 entries.
 */
export function* longConversation(steps: number, compacted: boolean): Generator<Entry | { readonly shadow: number }> {
  const entriesATurn = 1 + 2 * STEPS_A_TURN
  let visible = 0
  let checkpoints = 0
  for (const entry of toolLoop(Math.ceil((steps / STEPS_A_TURN) * entriesATurn))) {
    if (compacted && entry.role === 'user' && visible >= MAX_SURFACE_ENTRIES) {
      const shadow = SHADOWED_TURNS * entriesATurn + checkpoints
      yield { shadow }
      visible -= shadow - 1
      checkpoints = 1
    }
    yield entry
    visible += 1
  }
}
