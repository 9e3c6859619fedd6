/** One conversation of a seed in a library's own loop, in a window that makes it compact again and again, and the verdict. */
import type { Converse } from './contender.ts'
import { drawing, stretch, type Kind } from './histories.ts'
import { charactersOf, holds, givesOnce, isPaired } from './judge.ts'
import { RESULT, SUMMARY } from './workload.ts'

/** Room for what pi keeps and reserves by default; everybody else scales with it or counts messages. */
const WINDOW_TOKENS = 64_000
const CHARACTERS_A_TOKEN = 4
const TURNS = 3
const CALLS_A_TURN = 12
const LARGE_RESULT = RESULT.repeat(3)
/** What a compaction may add beside what was said, in characters: a frame, words for calls that were cut off. */
const SLACK_CHARACTERS = 2_000

export type Trial = { readonly kind: Kind | 'long summaries'; readonly seed: number }

/** Each 1 where it was violated at least once, 0 where it held. */
export interface Verdict {
  readonly pairs: number
  readonly budget: number
  readonly first: number
  readonly last: number
  readonly larger: number
  /** Requests before which the history had become smaller. */
  readonly compactions: number
}

/** Throws what the library throws. */
export async function tried(converse: Converse, { kind, seed }: Trial): Promise<Verdict> {
  const draw = drawing(seed)
  const summarize = (characters: number): string => (kind === 'long summaries' ? 'And this, too, was said there. '.repeat(characters / 25) : SUMMARY)
  const conversation = await converse({ windowTokens: WINDOW_TOKENS, summarize, result: LARGE_RESULT })
  const verdict = { pairs: 0, budget: 0, first: 0, last: 0, larger: 0, compactions: 0 }
  /** How often each result was said. */
  const said = new Map<string, number>()
  let first: string | undefined
  /** Most that the next request may have. */
  let expected = 0
  for (let turn = 1; turn <= TURNS; turn++) {
    const share = turn === 1 ? 0.6 : 0.4
    const part = stretch(kind === 'long summaries' ? 'plain' : kind, `${seed}-${turn}`, WINDOW_TOKENS * CHARACTERS_A_TOKEN * share, draw)
    first ??= part[0]!.text
    await conversation.load(part)
    for (const { role, text } of part) if (role === 'tool') said.set(text, (said.get(text) ?? 0) + 1)
    const last = `Request ${seed}-${turn}, which is the newest: go on until it is done.`
    expected += charactersOf(part) + last.length
    const requests = await conversation.turn(last, CALLS_A_TURN)
    if (requests.length <= CALLS_A_TURN) throw new Error(`stopped after ${requests.length} requests`)
    for (const sent of requests) {
      const characters = charactersOf(sent)
      if (!isPaired(sent) || !givesOnce(sent, said)) verdict.pairs = 1
      if (kind !== 'long summaries' && characters > WINDOW_TOKENS * CHARACTERS_A_TOKEN) verdict.budget = 1
      if (kind !== 'long summaries' && turn === TURNS && !holds(sent, first)) verdict.first = 1
      if (!holds(sent, last)) verdict.last = 1
      if (characters > expected + SLACK_CHARACTERS) verdict.larger = 1
      if (characters < expected - SLACK_CHARACTERS) verdict.compactions += 1
      expected = characters + LARGE_RESULT.length + 20
    }
  }
  await conversation.close?.()
  return verdict
}
