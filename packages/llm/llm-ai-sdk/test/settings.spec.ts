import { Context } from '@deepseek-ai/cordis'
import Llm from '@deepseek-ai/dsh-llm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import AiSdk, { ANTHROPIC_MODELS, configSchema, createAdapter, GOOGLE_MODELS, OPENAI_MODELS, OPENROUTER_MODELS, providersOf, settingsOf, VARIABLES, type AdapterSettings } from '../src/index.ts'

const settings = (config: object, env: { [name: string]: string } = {}): AdapterSettings[] => settingsOf(configSchema.parse(config), env)

describe('the environment', () => {
  it('names the providers that it has keys for', () => {
    expect(settings({}, { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: ' o\n', GEMINI_API_KEY: 'g', OPENROUTER_API_KEY: '' }).map(({ provider, family, baseURL, apiKey }) => [provider, family, baseURL, apiKey])).toEqual([
      ['anthropic', 'anthropic', 'https://api.anthropic.com/v1', 'a'],
      ['openai', 'openai', 'https://api.openai.com/v1', 'o'],
      ['google', 'google', 'https://generativelanguage.googleapis.com/v1beta', 'g'],
    ])
  })

  it('names an endpoint of one\'s own, which may do without a key', () => {
    expect(settings({}, { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:8080/v1', OPENAI_COMPATIBLE_MODEL: 'qwen', OPENAI_COMPATIBLE_CONTEXT_WINDOW: '32768' })).toEqual([{
      provider: 'compatible', family: 'openai-compatible', baseURL: 'http://127.0.0.1:8080/v1',
      models: { qwen: { contextWindow: 32_768, source: 'the environment' } },
    }])
  })

  it('moves a provider to another endpoint, which needs the key all the same', () => {
    expect(settings({}, { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })).toEqual([])
    expect(settings({ providers: { openai: { apiKey: 'k' } } }, { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })).toMatchObject([{ provider: 'openai', baseURL: 'http://127.0.0.1:1/v1', apiKey: 'k' }])
  })

  it.each([
    ['OPENAI_COMPATIBLE_CONTEXT_WINDOW', { OPENAI_COMPATIBLE_CONTEXT_WINDOW: '128k', OPENAI_COMPATIBLE_BASE_URL: 'http://h/v1' }],
    ['OPENAI_BASE_URL', { OPENAI_BASE_URL: 'localhost:8080' }],
  ])('is refused by the name of %s, without its value', (name, env) => {
    expect(() => providersOf(env)).toThrow(name)
    expect(() => providersOf(env)).not.toThrow(/128k|8080/)
  })

  it('has every variable explained that it reads', () => {
    const read = new Set<string>()
    providersOf(new Proxy({}, { get: (_, name) => (read.add(String(name)), name === 'OPENAI_COMPATIBLE_BASE_URL' ? 'http://h/v1' : undefined) }))
    expect([...read].sort()).toEqual(VARIABLES.map(({ name }) => name).sort())
  })
})

describe('the configuration', () => {
  it('overrides the environment and adds providers', () => {
    const [anthropic, groq] = settings({
      providers: {
        anthropic: { apiKey: 'mine', models: { 'claude-next': { contextWindow: 500_000, prices: { input: 1, output: 2 } } } },
        groq: { baseURL: 'https://api.groq.com/openai/v1', apiKey: 'g' },
      },
    }, { ANTHROPIC_API_KEY: 'theirs' })
    expect(anthropic).toMatchObject({ apiKey: 'mine', keyFrom: 'the configuration' })
    expect(groq).toMatchObject({ provider: 'groq', family: 'openai-compatible', apiKey: 'g' })
    const adapter = createAdapter(anthropic!)
    expect(adapter.models[0]).toBe('claude-next')
    expect(adapter.modelInfo('claude-next')).toEqual({ contextWindow: 500_000, prices: { input: 1, output: 2 }, source: 'the configuration' })
    expect(adapter.modelInfo('claude-sonnet-4-5')).toMatchObject({ contextWindow: 200_000, source: 'the built-in table' })
    expect(adapter.modelInfo('toString')).toBeUndefined()
  })

  it('may name what an expression found nothing for', () => {
    expect(settings({ providers: { anthropic: { apiKey: undefined }, openai: { apiKey: '' } } })).toEqual([])
  })

  it('says which key of an unknown provider is missing', () => {
    expect(() => settings({ providers: { mine: { apiKey: 'k' } } })).toThrow('providers.mine.baseURL is missing')
  })
})

it('every model of the tables can hold its own output', () => {
  for (const info of Object.values({ ...ANTHROPIC_MODELS, ...OPENAI_MODELS, ...GOOGLE_MODELS, ...OPENROUTER_MODELS })) expect(info.maxOutputTokens!).toBeLessThan(info.contextWindow!)
})

describe('the plugin', () => {
  const before = { ...process.env }
  beforeEach(() => {
    for (const { name } of VARIABLES) delete process.env[name]
  })
  afterEach(() => {
    process.env = before
  })

  it('registers nothing without a key, and what it registers goes with it', async () => {
    const ctx = new Context()
    await ctx.plugin(Llm)
    await ctx.plugin(AiSdk, {})
    expect(ctx.llm.list()).toEqual([])
    const fiber = await ctx.plugin(AiSdk, { providers: { anthropic: { apiKey: 'sk-ant-secret' } } })
    expect(ctx.llm.list().map(({ provider, origin }) => [provider, origin])).toEqual([['anthropic', 'api.anthropic.com, key from the configuration']])
    await fiber.dispose()
    expect(ctx.llm.list()).toEqual([])
  })

  it.each([
    ['idleMs', { idleMs: -1 }],
    ['baseURL', { providers: { anthropic: { baseURL: 'no address' } } }],
    ['contextWindow', { providers: { anthropic: { models: { m: { contextWindow: '200k' } } } } }],
    ['apiKy', { providers: { anthropic: { apiKy: 'sk-ant-secret' } } }],
  ])('refuses a configuration by the name of %s, and keeps its values to itself', async (name, config) => {
    const ctx = new Context()
    await ctx.plugin(Llm)
    const error = await ctx.plugin(AiSdk, config as object).then(() => undefined, (thrown: Error) => thrown)
    expect(String(error)).toContain(name)
    expect(String(error)).not.toContain('sk-ant-secret')
  })
})
