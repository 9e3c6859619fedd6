/**
 * Retention: which tail of the conversation stays verbatim.
 *
 * Pure. The engine prices the surface and appends the events; this file only chooses a cut. Cuts lie between entries and
 * are numbered 0..n: cut `c` parts a head [0, c) to summarize from a tail [c, n) to keep.
 *
 *     user     call     result    user
 *    0        1        ✗         3        4     ✗ would part a call from its result
 */

/** A surface as retention sees it; asked from the newest entry backwards, and only as far as needed. */
export interface PricedSurface {
  readonly length: number
  /** Size of the entry at `position` in tokens; finite, not negative. */
  tokens(position: number): number
  /** Tool calls still unanswered at cut `cut`; 0 makes it safe. */
  openCalls(cut: number): number
}

/**
 * The latest safe cut, not behind `latestCut`, whose tail holds at least `retainTokens`.
 *
 * The newest entry is always kept, so 0 asks for the largest safe head. Null means nothing can be summarized yet: the
 * surface is too short, or everything old enough belongs to a step that is still open. That is an expected answer, not a
 * failure; this function never throws.
 */
export function retentionCut(surface: PricedSurface, retainTokens: number, latestCut = surface.length - 1): number | null {
  let tailTokens = 0
  for (let cut = surface.length - 1; cut > 0; cut--) {
    tailTokens += surface.tokens(cut)
    if (cut <= latestCut && tailTokens >= retainTokens && surface.openCalls(cut) === 0) return cut
  }
  return null
}

/**
 * The cut before the unread tail: what the model has not seen answered yet and pressure must not take away.
 *
 * That is the newest answer's step with its results and the messages after it. Of the messages only the newest counts where
 * together they exceed `retainTokens`, or where nothing was answered yet (`answerPosition` undefined).
 */
export function unreadCut(surface: PricedSurface, answerPosition: number | undefined, retainTokens: number): number {
  const newest = Math.max(surface.length - 1, 0)
  if (answerPosition === undefined) return newest
  let messageTokens = 0
  for (let position = newest; position > answerPosition && surface.openCalls(position) === 0; position--) {
    messageTokens += surface.tokens(position)
  }
  return messageTokens > retainTokens ? newest : answerPosition
}
