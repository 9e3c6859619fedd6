/** Limits: how much one call reads, shows and takes. */
import { z } from 'zod'

export const Limits = z
  .strictObject({
    /** Text files beyond this are not opened, and not searched. */
    maxFileBytes: z.int().positive().default(20_000_000),
    maxImageBytes: z.int().positive().default(4_500_000),
    /** Of a file, one call of `read` shows at most so much. */
    maxReadLines: z.int().positive().default(2_000),
    maxReadChars: z.int().positive().default(50_000),
    maxListEntries: z.int().positive().default(500),
    maxMatches: z.int().positive().default(200),
    /** Of a diff, a person who is asked sees so much. */
    maxDiffChars: z.int().positive().default(20_000),
  })
  .prefault({})

export type Limits = z.output<typeof Limits>
