/**
 * `ctx.tokenMeter`, counting texts with a tokenizer: loaded in the place of `dsh-token-meter`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { TokenMeterService } from '@deepseek-ai/dsh-token-meter'
import { z } from 'zod'
import { counter, ENCODINGS } from './encodings.ts'

const Config = z
  .strictObject({
    /** The vocabulary to count by; `cl100k_base` is the older one. */
    encoding: z.enum(ENCODINGS).default('o200k_base'),
  })
  .prefault({})

export class ExactTokenMeterService extends TokenMeterService {
  static override readonly Config: z.ZodType = Config

  constructor(ctx: Context, config: z.input<typeof Config> = {}) {
    super(ctx, { textTokens: counter(Config.parse(config).encoding) })
  }
}
