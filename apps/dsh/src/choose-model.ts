/**
 * Which model answers: what was asked for, else what the conversation used last, else what is there.
 *
 *     --model   ›   DSH_MODEL   ›   the session's last route   ›   the first model of the first provider
 *
 * Pure. Providers count in the order of their rows; one without a key is not among them.
 */
import type { LlmAdapter } from '@deepseek-ai/dsh-llm'

export interface Route {
  readonly provider: string
  readonly model: string
}

export interface ModelQuestion {
  readonly flag?: string | undefined
  readonly env?: string | undefined
  readonly last?: Route | undefined
  readonly providers: readonly Pick<LlmAdapter, 'provider' | 'models'>[]
}

/** A refusal is for the person who asked. */
export type ModelChoice = { readonly route: Route; readonly why: string } | { readonly refusal: string }

export function chooseModel({ flag = '', env = '', last, providers }: ModelQuestion): ModelChoice {
  if (flag !== '') return named('--model', flag, providers)
  if (env !== '') return named('DSH_MODEL', env, providers)
  if (last !== undefined && providers.some(({ provider }) => provider === last.provider)) {
    return { route: { provider: last.provider, model: last.model }, why: 'the session used it last' }
  }
  for (const { provider, models: [model] = [] } of providers) {
    if (model !== undefined) return { route: { provider, model }, why: `the first model of ${provider}, the first provider there is` }
  }
  const [first] = providers
  return { refusal: first === undefined ? 'no provider has a key' : `${first.provider} names no models: choose one with --model ${first.provider}/MODEL` }
}

/** `provider/model`, a provider for its first model, or a model that some provider offers; models may have slashes, too. */
function named(origin: string, text: string, providers: ModelQuestion['providers']): ModelChoice {
  const why = `${origin} says so`
  const [head = '', ...rest] = text.split('/')
  const provider = providers.find(other => other.provider === head)
  if (provider !== undefined) {
    const model = rest.length === 0 ? provider.models?.[0] : rest.join('/')
    return model === undefined || model === '' ? { refusal: `${origin} ${text}: say which model of ${head}, as ${head}/MODEL` } : { route: { provider: head, model }, why }
  }
  const offering = providers.find(({ models = [] }) => models.includes(text))
  if (offering !== undefined) return { route: { provider: offering.provider, model: text }, why }
  const known = providers.length === 0 ? 'no provider has a key' : `the providers with a key are ${providers.map(other => other.provider).join(', ')}`
  return { refusal: `${origin} ${text}: nothing offers that; ${known}` }
}
