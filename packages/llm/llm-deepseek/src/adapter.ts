/**
 * The adapter of DeepSeek: an OpenAI-compatible endpoint with its own rules of the wire.
 */
import { AiSdkAdapter, commonInit, OPENAI_COMPATIBLE, withConfigured, type AdapterSettings } from '@deepseek-ai/dsh-llm-ai-sdk'
import { DEEPSEEK_MODELS } from './models.ts'
import { deepseekBody, deepseekHeaders, deepseekUsage } from './wire.ts'

export const DEEPSEEK_ENDPOINT = 'https://api.deepseek.com'

export type DeepseekSettings = Omit<AdapterSettings, 'provider' | 'family' | 'apiKey'> & { readonly apiKey: string }

export function createDeepseek(settings: DeepseekSettings): AiSdkAdapter {
  const { apiKey, baseURL } = settings
  return new AiSdkAdapter({
    ...commonInit({ ...settings, provider: 'deepseek' }),
    dialect: OPENAI_COMPATIBLE,
    models: withConfigured(DEEPSEEK_MODELS, settings.models),
    headers: deepseekHeaders,
    open: async (model, fetch) => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible') // only now: not everybody who may ask does
      return createOpenAICompatible({
        name: 'deepseek', baseURL, apiKey, fetch, includeUsage: true,
        transformRequestBody: deepseekBody,
        convertUsage: deepseekUsage,
      })(model)
    },
  })
}
