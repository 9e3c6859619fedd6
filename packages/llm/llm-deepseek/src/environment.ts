/**
 * Environment: the variables that name DeepSeek.
 *
 * Pure.
 */
import { endpointOf, type Environment, type ProviderSettings, type Variable } from '@deepseek-ai/dsh-llm-ai-sdk'

export const DEEPSEEK_VARIABLES: readonly Variable[] = [
  { name: 'DEEPSEEK_API_KEY', purpose: 'DeepSeek models of DeepSeek' },
  { name: 'DEEPSEEK_BASE_URL', purpose: 'another endpoint for them: https://…' },
]

export function deepseekOf(env: Environment): ProviderSettings {
  return endpointOf(env, { keys: ['DEEPSEEK_API_KEY'], baseURL: 'DEEPSEEK_BASE_URL' })
}
