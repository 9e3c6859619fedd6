/** `ctx.tokenMeter`: one meter for everybody who asks. */
import { Context, Service } from '@deepseek-ai/cordis'
import type { Message, ToolSchema } from '@deepseek-ai/dsh-llm'
import type { FoldReader, Position } from '@deepseek-ai/dsh-session'
import { z } from 'zod'
import type { EstimatorOptions } from './estimate.ts'
import { tokenMeter, type MeasureOptions, type Measurement, type TokenMeter } from './measure.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    tokenMeter: TokenMeterService
  }
}

const Config = z
  .strictObject({
    /** One density for every script, in place of the estimate by script; may be fractional. */
    charsPerToken: z.number().positive().exactOptional(),
  })
  .prefault({})

export class TokenMeterService extends Service implements TokenMeter {
  static readonly Config: z.ZodType = Config
  /** The meter itself, for whoever asks often: a call through the context costs microseconds more. */
  readonly meter: TokenMeter

  /** @param options what the configuration may say, and what only code can: a subclass may count texts in a way of its own. */
  constructor(ctx: Context, options: EstimatorOptions = {}) {
    super(ctx, 'tokenMeter')
    const meter = tokenMeter(options)
    this.meter = meter
    ctx.on('session/loading', log => void meter.measure(log))
  }

  measure(session: FoldReader, options?: MeasureOptions): Measurement {
    return this.meter.measure(session, options)
  }

  tokensAt(session: FoldReader, position: Position): number {
    return this.meter.tokensAt(session, position)
  }

  entryTokens(session: FoldReader): readonly number[] {
    return this.meter.entryTokens(session)
  }

  estimateMessage(message: Message): number {
    return this.meter.estimateMessage(message)
  }

  estimateEnvelope(system?: string, tools?: readonly ToolSchema[]): number {
    return this.meter.estimateEnvelope(system, tools)
  }
}
