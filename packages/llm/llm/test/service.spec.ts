import { Context } from '@deepseek-ai/cordis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GenerateOptions, LlmAdapter, ModelInfo } from '../src/adapter.ts'
import { collect } from '../src/collect.ts'
import type { FinishReason, StreamChunk } from '../src/content.ts'
import { failureOf, LlmError } from '../src/errors.ts'
import { ScriptedAdapter } from '../src/scripted.ts'
import { LlmService } from '../src/service.ts'
import { drawn, stream } from './notation.ts'

let ctx: Context

beforeEach(async () => {
  ctx = new Context()
  await ctx.plugin(LlmService)
})
afterEach(() => ctx.fiber.dispose())

const asking = (options: Partial<GenerateOptions> = {}): GenerateOptions =>
  ({ provider: 'scripted', model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], ...options })

/** A provider whose wire carries exactly these chunks, then closes or breaks. */
function wire(provider: string, chunks: Iterable<StreamChunk>, broken?: unknown): LlmAdapter {
  return {
    provider,
    async *stream() {
      yield* chunks
      if (broken !== undefined) throw broken
    },
  }
}

const ask = (options: Partial<GenerateOptions> = {}) => collect(ctx.llm.stream(asking(options)))
const failing = (options?: Partial<GenerateOptions>) => ask(options).then(() => null, (error: unknown) => error)

describe('adapters', () => {
  it('the one of the named provider answers', async () => {
    ctx.llm.registerAdapter(new ScriptedAdapter({ provider: 'a', replies: ['from a'] }))
    ctx.llm.registerAdapter(new ScriptedAdapter({ provider: 'b', replies: ['from b'] }))
    expect(await ask({ provider: 'b', model: 'm2' })).toEqual({
      content: [{ type: 'text', text: 'from b' }], finish: 'stop', provider: 'b', model: 'm2',
    })
  })

  it('none of the named provider is a failure that names those there are', async () => {
    ctx.llm.registerAdapter(wire('a', []))
    const error = await failing({ provider: 'b' })
    expect(error).toBeInstanceOf(LlmError)
    expect(failureOf(error)).toEqual({ code: 'NO_ADAPTER', message: 'no adapter of provider "b" for model "m"; registered: a' })
  })

  it('a second one of a provider is refused and leaves the first alone', async () => {
    ctx.llm.registerAdapter(new ScriptedAdapter({ replies: ['first'] }))
    expect(() => ctx.llm.registerAdapter(wire('scripted', []))).toThrow('an adapter of provider "scripted" is registered already')
    expect(drawn((await ask()).content)).toBe('text(first)')
  })

  it('go with the fiber that registered them, and leave its tree as it was', async () => {
    const before = JSON.stringify(ctx.fiber.getEffects())
    const plugin = Object.assign((own: Context) => { own.llm.registerAdapter(new ScriptedAdapter({ replies: ['hi'] })) }, { inject: ['llm'] })
    const fiber = await ctx.plugin(plugin)
    expect(fiber.getEffects().map((effect) => effect.label)).toContain('ctx.llm.registerAdapter("scripted")')
    expect(drawn((await ask()).content)).toBe('text(hi)')
    await fiber.dispose()
    expect(failureOf(await failing()).code).toBe('NO_ADAPTER')
    expect(JSON.stringify(ctx.fiber.getEffects())).toBe(before)
  })

  it('go with their disposer, and the provider is free again', async () => {
    const dispose = ctx.llm.registerAdapter(wire('scripted', []))
    dispose()
    ctx.llm.registerAdapter(new ScriptedAdapter({ replies: ['next'] }))
    expect(drawn((await ask()).content)).toBe('text(next)')
  })

  it('tell what they know of a model; nobody guesses the rest', () => {
    ctx.llm.registerAdapter(new ScriptedAdapter({ replies: [], models: { m: { contextWindow: 1_000 } } }))
    ctx.llm.registerAdapter(wire('bare', []))
    expect(ctx.llm.list().map(({ provider }) => provider)).toEqual(['scripted', 'bare'])
    expect(ctx.llm.resolveModelInfo('scripted', 'm')).toEqual({ contextWindow: 1_000 })
    expect(ctx.llm.resolveModelInfo('scripted', 'constructor')).toBeUndefined()
    expect(ctx.llm.resolveModelInfo('bare', 'm')).toBeUndefined()
    expect(ctx.llm.resolveModelInfo('nobody', 'm')).toBeUndefined()
  })
})

describe('llm/stream', () => {
  it('runs the listeners from the outside in and their streams from the inside out', async () => {
    const told: string[] = []
    for (const name of ['outer', 'inner']) {
      ctx.on('llm/stream', async function* (_request, next) {
        told.push(`${name} in`)
        yield* next()
        told.push(`${name} out`)
      })
    }
    ctx.llm.registerAdapter(new ScriptedAdapter({ replies: ['hi'] }))
    await ask()
    expect(told).toEqual(['outer in', 'inner in', 'inner out', 'outer out'])
  })

  it('nothing happens before the first chunk is asked for', () => {
    let asked = 0
    ctx.on('llm/stream', (_request, next) => {
      asked += 1
      return next()
    })
    ctx.llm.stream(asking())
    expect(asked).toBe(0)
  })

  it('a rerouted request is served by the new route, and its finish says so inside and outside', async () => {
    const finishes: StreamChunk[] = []
    const elsewhere = new ScriptedAdapter({ provider: 'elsewhere', replies: ['rerouted'] })
    ctx.llm.registerAdapter(elsewhere)
    ctx.on('llm/stream', async function* (_request, next) {
      for await (const chunk of next()) {
        if (chunk.type === 'finish') finishes.push(chunk)
        yield chunk
      }
    })
    ctx.on('llm/stream', (request, next) => {
      request.options = { ...request.options, provider: 'elsewhere', model: 'm9' }
      return next()
    })
    const options = asking()
    const { provider, model } = await collect(ctx.llm.stream(options))
    expect({ provider, model }).toEqual({ provider: 'elsewhere', model: 'm9' })
    expect(finishes).toEqual([{ type: 'finish', reason: 'stop', provider: 'elsewhere', model: 'm9' }])
    expect(elsewhere.requests).toEqual([{ ...options, provider: 'elsewhere', model: 'm9' }])
    expect(options.provider).toBe('scripted')
  })

  it('a listener may answer by itself, on the route that was asked', async () => {
    ctx.on('llm/stream', () => wire('', stream('0+cached =stop')).stream(asking()))
    expect(await ask({ provider: 'nobody' })).toMatchObject({ content: [{ text: 'cached' }], provider: 'nobody', model: 'm' })
  })

  it('a listener sees failures as what they are, and may answer instead', async () => {
    const seen: unknown[] = []
    ctx.llm.registerAdapter(wire('scripted', [], new TypeError('fetch failed')))
    ctx.on('llm/stream', async function* (_request, next) {
      try {
        yield* next()
      } catch (error) {
        seen.push(error)
        yield* stream('0+fallback =stop')
      }
    })
    expect(drawn((await ask()).content)).toBe('text(fallback)')
    expect(seen).toEqual([new LlmError({ code: 'UNKNOWN', message: 'fetch failed' })])
  })

  it('what a listener throws is a failure like any other', async () => {
    ctx.on('llm/stream', () => { throw new LlmError({ code: 'QUOTA', message: 'budget spent' }) })
    expect(failureOf(await failing())).toEqual({ code: 'QUOTA', message: 'budget spent' })
  })
})

describe('failures', () => {
  it.each([
    ['a stream of nothing', '', 'EMPTY_RESPONSE'],
    ['a finish of nothing', '=stop', 'EMPTY_RESPONSE'],
    ['packaging without content', '0:text 0+ 0. =stop', 'EMPTY_RESPONSE'],
    ['a stream that breaks off', '0+Hal', 'TRANSPORT'],
    ['an answer withheld as a whole', '=content-filter', 'CONTENT_FILTER'],
  ])('%s', async (_name, picture, code) => {
    ctx.llm.registerAdapter(wire('scripted', stream(picture)))
    expect(failureOf(await failing()).code).toBe(code)
  })

  it('an answer that the output limit left nothing of is an answer', async () => {
    ctx.llm.registerAdapter(wire('scripted', stream('0:call#a 0+{"x =max-tokens')))
    expect(await ask()).toMatchObject({ content: [], finish: 'max-tokens' })
  })

  describe('that are silent: nothing was said, and the usage shows a full window', () => {
    const usage = (inputTokens: number, outputTokens = 0): StreamChunk => ({ type: 'usage', usage: { inputTokens, outputTokens } })
    const windowed = (info: ModelInfo | undefined, ...chunks: StreamChunk[]): LlmAdapter => ({ ...wire('scripted', chunks), modelInfo: () => info })
    const finish = (reason: FinishReason): StreamChunk => ({ type: 'finish', reason })

    it.each<[string, ModelInfo, number, FinishReason]>([
      ['an output limit where the window ended', { contextWindow: 1_000 }, 995, 'max-tokens'],
      ['more prompt than window', { contextWindow: 1_000 }, 1_400, 'stop'],
      ['more prompt than window, whatever is outside of it', { contextWindow: 1_000, outputInWindow: false }, 1_400, 'max-tokens'],
    ])('%s', async (_name, info, tokens, reason) => {
      ctx.llm.registerAdapter(windowed(info, usage(tokens), finish(reason)))
      expect(failureOf(await failing())).toEqual({
        code: 'CONTEXT_WINDOW_EXCEEDED', message: `the model answered nothing: ${tokens} tokens fill its window of 1000`, requestedTokens: tokens,
      })
    })

    it.each<[string, ModelInfo | undefined, number]>([
      ['there is room', { contextWindow: 1_000 }, 900],
      ['the window is not known', undefined, 995],
      ['the output has its own room', { contextWindow: 1_000, outputInWindow: false }, 995],
    ])('not where %s: then the output limit explains it', async (_name, info, tokens) => {
      ctx.llm.registerAdapter(windowed(info, usage(tokens), finish('max-tokens')))
      expect(await ask()).toMatchObject({ content: [], finish: 'max-tokens' })
    })

    it('not where there is an answer: that is the meter’s to doubt', async () => {
      ctx.llm.registerAdapter(windowed({ contextWindow: 1_000 }, ...stream('0+cut'), usage(1_400, 1), finish('max-tokens')))
      expect(await ask()).toMatchObject({ content: [{ text: 'cut' }], usage: { inputTokens: 1_400 } })
    })

    it('also behind a listener that reroutes: the window is that of the route', async () => {
      ctx.llm.registerAdapter({ ...windowed({ contextWindow: 1_000 }, usage(1_400), finish('stop')), provider: 'elsewhere' })
      ctx.on('llm/stream', (request, next) => {
        request.options = { ...request.options, provider: 'elsewhere' }
        return next()
      })
      expect(failureOf(await failing()).code).toBe('CONTEXT_WINDOW_EXCEEDED')
    })
  })

  it('a failure keeps its words, and what was thrown is its cause', async () => {
    const failure = { code: 'RATE_LIMIT' as const, message: 'slow down', status: 429, retryAfterMs: 2_000 }
    const thrown = new LlmError(failure)
    ctx.llm.registerAdapter(wire('known', stream('0+Hal'), thrown))
    ctx.llm.registerAdapter(wire('unknown', stream('0+Hal'), 'plain words'))
    expect(await failing({ provider: 'known' })).toBe(thrown)
    expect(await failing({ provider: 'unknown' })).toMatchObject({ failure: { code: 'UNKNOWN', message: 'plain words' }, cause: 'plain words' })
  })

  it('names of platform errors become codes', () => {
    expect(failureOf(new DOMException('stop', 'AbortError')).code).toBe('ABORTED')
    expect(failureOf(new DOMException('late', 'TimeoutError')).code).toBe('TIMEOUT')
    expect(failureOf(undefined)).toEqual({ code: 'UNKNOWN', message: 'undefined' })
  })
})
