/**
 * The plugin: with a key, in the environment or the configuration, DeepSeek is a provider of `ctx.llm`.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-llm'
import { configured, endpointSchema, idleMsSchema } from '@deepseek-ai/dsh-llm-ai-sdk'
import type { z } from 'zod'
import { createDeepseek, DEEPSEEK_ENDPOINT } from './adapter.ts'
import { deepseekOf } from './environment.ts'

const configSchema = endpointSchema.extend({ idleMs: idleMsSchema }).prefault({})

export function deepseek(ctx: Context, { idleMs, ...endpoint }: z.output<typeof configSchema>): void {
  const settings = { baseURL: DEEPSEEK_ENDPOINT, ...deepseekOf(process.env), ...configured(endpoint) }
  const { apiKey } = settings
  if (apiKey === undefined) return
  ctx.llm.registerAdapter(createDeepseek({
    ...settings,
    apiKey,
    ...(idleMs === undefined ? {} : { idleMs }),
    notice: text => ctx.logger('llm').warn('deepseek: %s', text),
  }))
}
deepseek.inject = ['llm']
deepseek.Config = configSchema
