/**
 * The plugin: every provider that the environment or the configuration has a key for becomes an adapter of `ctx.llm`.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-llm'
import type { z } from 'zod'
import { configSchema, settingsOf } from './config.ts'
import { createAdapter } from './providers.ts'

export function aiSdk(ctx: Context, { idleMs, ...config }: z.output<typeof configSchema>): void {
  for (const settings of settingsOf(config, process.env)) {
    ctx.llm.registerAdapter(createAdapter({
      ...settings,
      ...(idleMs === undefined ? {} : { idleMs }),
      notice: text => ctx.logger('llm').warn('%s: %s', settings.provider, text),
    }))
  }
}
aiSdk.inject = ['llm']
aiSdk.Config = configSchema
