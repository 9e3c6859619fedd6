/**
 * Config: which results are oversized, and what is kept of them.
 *
 * Pure. Unknown keys, contradictions and impossible values are refused by name.
 */
import { z } from 'zod'

export const configSchema = z
  .strictObject({
    /** A result with more text than this is oversized. Code points, as are all three. */
    thresholdChars: z.number().int().positive().default(8_192),
    /** Kept of its beginning. */
    headChars: z.number().int().positive().default(4_096),
    /** Kept of its end. */
    tailChars: z.number().int().min(0).default(1_024),
  })
  .prefault({})
  .superRefine(({ thresholdChars, headChars, tailChars }, context) => {
    if (headChars + tailChars < thresholdChars) return
    const message = `thresholdChars (${thresholdChars}) must be more than what is kept, headChars (${headChars}) and tailChars (${tailChars}) together`
    context.addIssue({ code: 'custom', path: ['thresholdChars'], message })
  })

export type PrunerConfig = z.input<typeof configSchema>
