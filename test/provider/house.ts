/** The house with a real adapter in it, that asks a real server. */
import { createAdapter } from '@deepseek-ai/dsh-llm-ai-sdk'
import type { LlmAdapter, ModelInfo } from '@deepseek-ai/dsh-llm'
import { afterEach } from 'vitest'
import { expectSound, house, type House, type HouseInit } from '../house.ts'
import type { ProviderRequest } from './prompt.ts'
import { startProvider, type Provider, type ProviderOptions } from './server.ts'

export interface LodgingInit extends ProviderOptions {
  readonly dialect: ProviderRequest['dialect']
  /** What the adapter believes of the model, whatever the server does; a large window by default. */
  readonly model?: ModelInfo
  /** Milliseconds of silence after which the adapter gives up. */
  readonly idleMs?: number
  /** In place of the adapter of the dialect; `endpoint` is where to ask. */
  readonly adapter?: (endpoint: string) => LlmAdapter
  readonly house?: HouseInit
}

export type Lodging = House & { readonly provider: Provider }

export const DIALECTS = ['openai', 'anthropic'] as const
export const LOCAL = { provider: 'local', model: 'm' } as const
export const KEY = 'secret'
const FAMILIES = { openai: 'openai-compatible', anthropic: 'anthropic' } as const

const providers: Provider[] = []
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close()
})

export async function lodging(init: LodgingInit): Promise<Lodging> {
  const { dialect, model = { contextWindow: 100_000 }, idleMs } = init
  const provider = await startProvider(init)
  providers.push(provider)
  const endpoint = `${provider.url}/v1`
  const adapter = init.adapter?.(endpoint) ?? createAdapter({
    provider: LOCAL.provider, family: FAMILIES[dialect], baseURL: endpoint, apiKey: KEY, models: { [LOCAL.model]: model },
    ...(idleMs === undefined ? {} : { idleMs }),
  })
  return { ...(await house({ adapter, options: { ...LOCAL, maxTokens: 1_000 }, ...init.house })), provider }
}

/** As a house is sound, and no key went anywhere but to its provider. */
export function expectSoundLodging(all: Lodging): void {
  expectSound(all)
  const log = JSON.stringify([...all.session.log.from(0)])
  if (log.includes(KEY) || all.warnings().join().includes(KEY)) throw new Error('a key is in a log')
}
