/**
 * Environment: which variables name a provider, and what they mean.
 *
 * Pure.
 */
import type { ModelInfo } from '@deepseek-ai/dsh-llm'
import type { Models } from './models.ts'

export type Environment = { readonly [name: string]: string | undefined }

export interface Variable {
  readonly name: string
  /** What it is for, in words for a person. */
  readonly purpose: string
}

/** What is known of a provider before it is opened. */
export interface ProviderSettings {
  readonly apiKey?: string
  readonly baseURL?: string
  /** The default first. */
  readonly models?: Models
  /** Where the key comes from, in words for a person. */
  readonly keyFrom?: string
}

interface KnownVariables {
  readonly keys: readonly string[]
  readonly baseURL?: string
}

const PROVIDERS: { readonly [provider: string]: KnownVariables } = {
  anthropic: { keys: ['ANTHROPIC_API_KEY'], baseURL: 'ANTHROPIC_BASE_URL' },
  openai: { keys: ['OPENAI_API_KEY'], baseURL: 'OPENAI_BASE_URL' },
  google: { keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'] },
  openrouter: { keys: ['OPENROUTER_API_KEY'] },
}

/** In the order in which a person should hear of them. */
export const VARIABLES: readonly Variable[] = [
  { name: 'ANTHROPIC_API_KEY', purpose: 'Claude models of Anthropic' },
  { name: 'ANTHROPIC_BASE_URL', purpose: 'another endpoint for them, with its version: https://…/v1' },
  { name: 'OPENAI_API_KEY', purpose: 'GPT models of OpenAI' },
  { name: 'OPENAI_BASE_URL', purpose: 'another endpoint for them that speaks the Responses API: https://…/v1' },
  { name: 'GOOGLE_GENERATIVE_AI_API_KEY', purpose: 'Gemini models of Google' },
  { name: 'GEMINI_API_KEY', purpose: 'the same' },
  { name: 'OPENROUTER_API_KEY', purpose: 'any model through OpenRouter' },
  { name: 'OPENAI_COMPATIBLE_BASE_URL', purpose: 'any endpoint that speaks OpenAI chat completions (vLLM, llama.cpp, Ollama, LM Studio, a gateway): http://…/v1' },
  { name: 'OPENAI_COMPATIBLE_API_KEY', purpose: 'its key, if it wants one' },
  { name: 'OPENAI_COMPATIBLE_MODEL', purpose: 'the model to ask there' },
  { name: 'OPENAI_COMPATIBLE_CONTEXT_WINDOW', purpose: 'the context window of that model, in tokens' },
  { name: 'OPENAI_COMPATIBLE_MAX_OUTPUT_TOKENS', purpose: 'the longest answer of that model, in tokens' },
]

/**
 * What is set for each provider; whether that is enough to ask it is decided elsewhere.
 *
 * @throws {Error} naming a variable that holds something else than it should, never its value.
 */
export function providersOf(env: Environment): { readonly [provider: string]: ProviderSettings } {
  const providers: { [provider: string]: ProviderSettings } = {}
  for (const [provider, variables] of Object.entries(PROVIDERS)) {
    const settings = endpointOf(env, variables)
    if (Object.keys(settings).length > 0) providers[provider] = settings
  }
  const baseURL = urlOf(env, 'OPENAI_COMPATIBLE_BASE_URL')
  if (baseURL !== undefined) providers['compatible'] = { ...compatibleOf(env), baseURL }
  return providers
}

/** The first key that is set, and the endpoint. */
export function endpointOf(env: Environment, { keys, baseURL }: KnownVariables): ProviderSettings {
  const keyFrom = keys.find(key => wordOf(env, key) !== undefined)
  const url = baseURL === undefined ? undefined : urlOf(env, baseURL)
  return { ...(keyFrom === undefined ? {} : { apiKey: wordOf(env, keyFrom)!, keyFrom }), ...(url === undefined ? {} : { baseURL: url }) }
}

function compatibleOf(env: Environment): ProviderSettings {
  const apiKey = wordOf(env, 'OPENAI_COMPATIBLE_API_KEY')
  const model = wordOf(env, 'OPENAI_COMPATIBLE_MODEL')
  const contextWindow = tokensOf(env, 'OPENAI_COMPATIBLE_CONTEXT_WINDOW')
  const maxOutputTokens = tokensOf(env, 'OPENAI_COMPATIBLE_MAX_OUTPUT_TOKENS')
  const info: ModelInfo = {
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    source: 'the environment',
  }
  return {
    ...(apiKey === undefined ? {} : { apiKey, keyFrom: 'OPENAI_COMPATIBLE_API_KEY' }),
    ...(model === undefined ? {} : { models: { [model]: info } }),
  }
}

/** White space around a value is nobody's intent; an empty value is none. */
function wordOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

function urlOf(env: Environment, name: string): string | undefined {
  const url = wordOf(env, name)
  if (url !== undefined && !/^https?:/.test(url)) throw new Error(`${name} is no http or https address`)
  return url
}

function tokensOf(env: Environment, name: string): number | undefined {
  const text = wordOf(env, name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${name} is no positive whole number`)
  return Number(text)
}
