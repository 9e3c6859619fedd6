/**
 * Models of DeepSeek: capacities and prices as its documentation gives them.
 *
 * Pure. DeepSeek itself retired the last two names; hosts of one's own still use them.
 */
import type { ModelInfo } from '@deepseek-ai/dsh-llm'

const SOURCE = 'the built-in table'

export const DEEPSEEK_MODELS: { readonly [model: string]: ModelInfo } = {
  'deepseek-v4-flash': { contextWindow: 1_000_000, maxOutputTokens: 384_000, images: false, prices: { input: 0.14, cacheRead: 0.0028, output: 0.28 }, source: SOURCE },
  'deepseek-v4-pro': { contextWindow: 1_000_000, maxOutputTokens: 384_000, images: false, prices: { input: 0.435, cacheRead: 0.003625, output: 0.87 }, source: SOURCE },
  'deepseek-chat': { contextWindow: 131_072, maxOutputTokens: 8_192, images: false, source: SOURCE },
  'deepseek-reasoner': { contextWindow: 131_072, maxOutputTokens: 65_536, images: false, source: SOURCE },
}
