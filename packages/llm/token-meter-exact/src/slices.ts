/**
 * Slices: a text counted in parts small enough for a tokenizer whose time grows with the square of an unbroken run.
 *
 * Pure. Byte-pair tokenizers merge within what their pattern does not split: words, punctuation, blanks. Chinese, base64 and
 * ruled lines have nothing to split at, so a run is cut after {@link RUN_UNITS}, and only there:
 *
 *     Some words, then  AAAA…AAAA│AAAA…AAAA│AAAA…  and more words
 *     └──── one count ───────────┘└── one ──┘└───── one ─────────┘
 */

/** Code units. A cut changes the count by a token or so; at 512, 50,000 random characters of base64 or Chinese are 0.03 % dearer. */
export const RUN_UNITS = 512

/** The sum of `count` over the slices of `text`, in order; nothing is cut inside a character. */
export function countInSlices(text: string, count: (slice: string) => number): number {
  let tokens = 0
  let sliceStart = 0
  let runStart = 0
  let wasBlank = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const isBlank = unit <= 0x20
    if (isBlank !== wasBlank) {
      wasBlank = isBlank
      runStart = at
    } else if (at - runStart >= RUN_UNITS && !isLowSurrogate(unit)) {
      tokens += count(text.slice(sliceStart, at))
      sliceStart = runStart = at
    }
  }
  return tokens + count(sliceStart === 0 ? text : text.slice(sliceStart))
}

function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}
