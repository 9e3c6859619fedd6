import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-llm'
import { RecordedAdapter } from './adapter.ts'
import type { RecordedInit } from './adapter.ts'

/** Offers the recording as a provider of the context it is loaded in. */
export function recorded(ctx: Context, config: RecordedInit): void {
  ctx.llm.registerAdapter(new RecordedAdapter(config))
}
recorded.inject = ['llm']
