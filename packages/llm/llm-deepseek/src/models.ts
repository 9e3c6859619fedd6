/**
 * Models of DeepSeek: capacities and prices as it gives them (autumn 2026).
 *
 * Pure. Prices are those of the busy hours, the others are half of them. DeepSeek itself retired the last two names; hosts of
 * one's own still use them.
 */
import { TABLE_SOURCE, type Models } from '@deepseek-ai/dsh-llm-ai-sdk'

const FLASH = { input: 0.3, cacheRead: 0.006, output: 1.2 }
const PRO = { input: 1.32, cacheRead: 0.044, output: 3.96 }

export const DEEPSEEK_MODELS: Models = {
  'deepseek-flash': { contextWindow: 1_000_000, maxOutputTokens: 384_000, images: true, prices: FLASH, source: TABLE_SOURCE },
  'deepseek-v4-flash': { contextWindow: 1_000_000, maxOutputTokens: 384_000, images: false, prices: FLASH, source: TABLE_SOURCE },
  'deepseek-v4-pro': { contextWindow: 1_000_000, maxOutputTokens: 384_000, images: false, prices: PRO, source: TABLE_SOURCE },
  'deepseek-chat': { contextWindow: 131_072, maxOutputTokens: 8_192, images: false, source: TABLE_SOURCE },
  'deepseek-reasoner': { contextWindow: 131_072, maxOutputTokens: 65_536, images: false, source: TABLE_SOURCE },
}
