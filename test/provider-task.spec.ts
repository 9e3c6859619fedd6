/** What `npm run test:live` asks of a real model, asked of a script behind the local provider. */
import { afterEach, it } from 'vitest'
import { expectFinished } from './live/expect.ts'
import { LOWERED_WINDOW, workOn } from './live/task.ts'
import { DIALECTS, LOCAL } from './provider/house.ts'
import { parts } from './provider/scripts.ts'
import { startProvider, type Provider } from './provider/server.ts'

const providers: Provider[] = []
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close()
})

const FAMILIES = { openai: 'openai-compatible', anthropic: 'anthropic' } as const

it.each(DIALECTS)('in the dialect of %s: the real shell, the real store, a window that holds half of what is read', async dialect => {
  const provider = await startProvider({ script: parts(), window: { tokens: LOWERED_WINDOW } })
  providers.push(provider)
  const models = { [LOCAL.model]: { contextWindow: LOWERED_WINDOW } }
  expectFinished(await workOn(LOCAL, new Map([
    ['llm-ai-sdk', { providers: { [LOCAL.provider]: { family: FAMILIES[dialect], baseURL: `${provider.url}/v1`, apiKey: 'k', models } } }],
  ])))
})
